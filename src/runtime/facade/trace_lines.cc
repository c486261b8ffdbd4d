#include "runtime/facade/trace_lines.h"

#include <fmt/format.h>

#include <algorithm>

#include "container/format/hash.h"
#include "runtime/device/device_json.h"
#include "runtime/observe/observe.h"
#include "runtime/open/container_impl.h"
#include "runtime/select/select_rules.h"

namespace fatctx::trace {
namespace {

Json names_of(const std::vector<std::uint32_t>& ids, const Container& container) {
  Json names = Json::array();
  for (const std::uint32_t id : ids) {
    const auto record = mapped_of(container)->find(id);
    const bool there = record.ok() && record.value() != nullptr;
    names.push_back(there ? record.value()->name : std::string_view());
  }
  return names;
}

Json about(const Container& container, std::string_view call) {
  return {{"call", call}, {"path", container.path()}, {"toc_hash", toc_hash(container)}};
}

Error unexpected(std::string_view key, const Json& found, std::string_view allowed) {
  return {ErrorCode::kInvalidArgument, fmt::format("{}: found {}; allowed is {}", key, json_line(found), allowed)};
}

// A reader of the members of an object into variables; it refuses unknown members.
class Members {
 public:
  Members(const Json& json, std::string_view what) : json_(json), what_(what) {}

  template <typename T>
  Members& take(const char* key, T& into) {
    ++known_;
    const Json* member = json_.find(key);
    if (failed_ || member == nullptr) {
      --known_;
    } else if (!read(*member, into)) {
      failed_ = unexpected(fmt::format("{}/{}", what_, key), *member, wanted<T>());
    }
    return *this;
  }

  Status end() const {
    if (json_.members() == nullptr) return unexpected(what_, json_, "an object");
    if (failed_) return *failed_;
    if (known_ != json_.members()->size())
      return unexpected(what_, json_, "an object with the keys of this version only");
    return Done{};
  }

 private:
  static bool read(const Json& json, bool& into) {
    if (json.boolean() != nullptr) into = *json.boolean();
    return json.boolean() != nullptr;
  }
  static bool read(const Json& json, std::string& into) {
    if (json.text() != nullptr) into = *json.text();
    return json.text() != nullptr;
  }
  static bool read(const Json& json, std::uint64_t& into) {
    if (json.number() != nullptr) into = *json.number();
    return json.number() != nullptr;
  }
  static bool read(const Json& json, std::vector<std::uint32_t>& into) {
    if (json.items() == nullptr) return false;
    for (const Json& item : *json.items()) {
      if (item.number() == nullptr || *item.number() > UINT32_MAX) return false;
      into.push_back(static_cast<std::uint32_t>(*item.number()));
    }
    return true;
  }
  template <typename T>
  static std::string_view wanted() {
    if constexpr (std::is_same_v<T, bool>) return "true or false";
    if constexpr (std::is_same_v<T, std::string>) return "a text";
    if constexpr (std::is_same_v<T, std::uint64_t>) return "a number of bytes";
    return "an array of integers";
  }

  const Json& json_;
  std::string_view what_;
  std::size_t known_ = 0;
  std::optional<Error> failed_;
};

}  // namespace

Json gave(const Error& error) { return {{"error", error_code_name(error.code)}}; }

Json gave(const Container& opened) {
  const ContainerIdentity identity = opened.identity();
  return {{"uuid", container::uuid_text(identity.uuid)},
          {"generation", identity.generation},
          {"toc_hash", to_hex(identity.toc_hash.bytes)},
          {"records", mapped_of(opened)->toc().records.size()},
          {"mapped", !opened.impl().copies()}};
}

Json gave(const Selection& selection, const Container& of) {
  return {{"chosen", names_of(selection.chosen, of)},
          {"level", level_name(selection.level)},
          {"tier", selection.tier},
          {"group", selection.group},
          {"vendor_code", selection.vendor_code},
          {"warnings", selection.warnings}};
}

Json gave(const RecordView& view, const Container& of) {
  const RecordInfo& record = mapped_of(of)->known(view.record_id());
  Json json = {{"size", view.size_bytes()}, {"access_path", access_path_name(view.access_path())}};
  // The number of bytes that could not be mapped reveals a system with another page size.
  if (view.access_path() == AccessPath::kComposed) json.add("copied_bytes", view.copied_bytes());
  if (view.cached_bytes() != 0) json.add("cached_bytes", view.cached_bytes());
  json.add("name", record.name);
  json.add("xxh3_128", to_hex(record.hash.bytes));
  return json;
}

void record_open(const Source& source, const OpenOptions& options, const Result<Container>& opened) {
  Json line = {{"call", "open"}, {"path", source.name()}};
  // Lines call a container by its name. A replay opens the file, which named() may have given another name.
  if (source.path() != source.name() && source.kind() == Source::Kind::kPath) line.add("file", source.path());
  if (source.kind() == Source::Kind::kDescriptor) line.add("way", "descriptor");
  if (source.kind() == Source::Kind::kMemory) line.add("way", "memory");
  line.add("options", to_json(options));
  line.add("gave", opened.ok() ? gave(opened.value()) : gave(opened.error()));
  observe::trace_line(json_line(line));
}

void record_select(const Container& container, std::span<const Candidate> candidates, const Device& device,
                   const SelectPolicy& policy, const Result<Selection>& selected) {
  Json line = about(container, "select");
  line.add("device", runtime::device_document(device));
  line.add("policy", to_json(policy));
  if (Json states = states_of(candidates); !states.members()->empty()) line.add("states", std::move(states));
  line.add("gave", selected.ok() ? gave(selected.value(), container) : gave(selected.error()));
  observe::trace_line(json_line(line));
}

void record_view(const Container& container, std::uint32_t record_id, const Result<RecordView>& acquired) {
  Json line = about(container, "view");
  line.add("record", record_id);
  line.add("gave", acquired.ok() ? gave(acquired.value(), container) : gave(acquired.error()));
  observe::trace_line(json_line(line));
}

std::string toc_hash(const Container& container) { return to_hex(mapped_of(container)->header().toc_hash.bytes); }

Json to_json(const OpenOptions& options) {
  Json json = {{"verify", verify_policy_name(options.verify)},
               {"follow_symlinks", options.follow_symlinks},
               {"require_local", options.require_local},
               {"file_mapping", file_mapping_name(options.file_mapping)}};
  if (options.strict) json.add("strict", true);
  if (options.max_copied_bytes != 0) json.add("max_copied_bytes", options.max_copied_bytes);
  if (!options.cache_folder.empty()) json.add("cache_folder", options.cache_folder);
  if (options.cache_limit_bytes != 0) json.add("cache_limit_bytes", options.cache_limit_bytes);
  if (options.generation != 0) json.add("generation", options.generation);
  if (options.max_made_bytes != 0) json.add("max_made_bytes", options.max_made_bytes);
  // Objects of the caller cannot be written down. Their presence may explain a different result in a replay.
  if (options.mapping_provider) json.add("mapping_provider", options.mapping_provider->name());
  if (options.allocator) json.add("allocator", options.allocator->name());
  return json;
}

Json to_json(const SelectPolicy& policy) {
  Json json = {{"group", policy.group},
               {"strict", policy.strict},
               {"allow_lower_arch", policy.allow_lower_arch},
               {"allow_generic", policy.allow_generic},
               {"mix_targets", policy.mix_targets},
               {"prepare_hook", policy.prepare_hook},
               {"boundaries", runtime::boundaries_of(policy)},
               {"force", policy.force}};
  if (policy.max_sdk) json.add("max_sdk", to_text(*policy.max_sdk));
  if (policy.record_override) json.add("record_override", *policy.record_override);
  return json;
}

Json states_of(std::span<const Candidate> candidates) {
  Json bad = Json::array();
  Json bad_weights = Json::array();
  for (const Candidate& candidate : candidates) {
    if (candidate.state == RecordState::kBad) bad.push_back(candidate.record_id);
    if (!candidate.weights_ok) bad_weights.push_back(candidate.record_id);
  }
  Json states = Json::object();
  if (!bad.items()->empty()) states.add("bad", std::move(bad));
  if (!bad_weights.items()->empty()) states.add("bad_weights", std::move(bad_weights));
  return states;
}

Result<OpenOptions> open_options_from(const Json& json) {
  OpenOptions options;
  std::string verify(verify_policy_name(options.verify));
  std::string file_mapping(file_mapping_name(options.file_mapping));
  FATCTX_TRY(Members(json, "options")
                 .take("verify", verify)
                 .take("follow_symlinks", options.follow_symlinks)
                 .take("require_local", options.require_local)
                 .take("strict", options.strict)
                 .take("file_mapping", file_mapping)
                 .take("max_copied_bytes", options.max_copied_bytes)
                 .take("cache_folder", options.cache_folder)
                 .take("cache_limit_bytes", options.cache_limit_bytes)
                 .take("generation", options.generation)
                 .take("max_made_bytes", options.max_made_bytes)
                 .end());
  const auto policy = verify_policy_from_name(verify);
  if (!policy) {
    return unexpected("options/verify", verify, "\"record_on_acquire\", \"none\", \"private_copy\" or \"beside_load\"");
  }
  const auto mapping = file_mapping_from_name(file_mapping);
  if (!mapping) {
    return unexpected("options/file_mapping", file_mapping, "\"auto\", \"require\" or \"disabled\"");
  }
  options.verify = *policy;
  options.file_mapping = *mapping;
  return options;
}

Result<SelectPolicy> select_policy_from(const Json& json) {
  SelectPolicy policy;
  std::string record_override;
  std::vector<std::uint32_t> boundaries;
  std::string max_sdk;
  const bool has_override = json.find("record_override") != nullptr;
  FATCTX_TRY(Members(json, "policy")
                 .take("group", policy.group)
                 .take("strict", policy.strict)
                 .take("allow_lower_arch", policy.allow_lower_arch)
                 .take("allow_generic", policy.allow_generic)
                 .take("mix_targets", policy.mix_targets)
                 .take("prepare_hook", policy.prepare_hook)
                 .take("boundaries", boundaries)
                 .take("max_sdk", max_sdk)
                 .take("force", policy.force)
                 .take("record_override", record_override)
                 .end());
  if (has_override) policy.record_override = record_override;
  if (!max_sdk.empty()) {
    FATCTX_ASSIGN(policy.max_sdk, parse_version(max_sdk));
  }
  if (json.find("boundaries") != nullptr) policy.boundaries = std::move(boundaries);
  return policy;
}

Status take_states(const Json& json, std::vector<Candidate>& candidates) {
  std::vector<std::uint32_t> bad;
  std::vector<std::uint32_t> bad_weights;
  FATCTX_TRY(Members(json, "states").take("bad", bad).take("bad_weights", bad_weights).end());
  const auto has = [](const std::vector<std::uint32_t>& ids, std::uint32_t id) {
    return std::find(ids.begin(), ids.end(), id) != ids.end();
  };
  for (Candidate& candidate : candidates) {
    if (has(bad, candidate.record_id)) candidate.state = RecordState::kBad;
    if (has(bad_weights, candidate.record_id)) candidate.weights_ok = false;
  }
  return Done{};
}

}  // namespace fatctx::trace
