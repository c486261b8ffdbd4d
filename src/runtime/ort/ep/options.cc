#include "runtime/ort/ep/options.h"

#include <fmt/format.h>
#include <onnxruntime_session_options_config_keys.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <string_view>
#include <vector>

#include "fatctx/base/nearest.h"
#include "runtime/ort/graph/api.h"

namespace fatctx::ort {
namespace {

// ONNX Runtime passes provider options as session entries, prefixed with the provider's name in lower case.
constexpr std::string_view kOptionPrefix = "ep.fatctxexecutionprovider.";
constexpr const char* kCompileOnly = "session.compile_only";  // the headers of 1.23 have no name for it

using Entries = std::map<std::string, std::string, std::less<>>;

Entries entries_of(const OrtSessionOptions& options) {
  OrtKeyValuePairs* raw = nullptr;
  Ort::ThrowOnError(Ort::GetApi().GetSessionOptionsConfigEntries(&options, &raw));
  const Ort::KeyValuePairs pairs(raw);
  Entries entries;
  for (auto& [key, value] : pairs.GetKeyValuePairs()) entries.emplace(key, value);
  return entries;
}

Error wrong_value(std::string_view key, std::string_view value, std::string_view allowed) {
  return {ErrorCode::kInvalidArgument, fmt::format("{}: the value is \"{}\"; allowed: {}", key, value, allowed)};
}

template <typename Value>
struct Word {
  std::string_view word;
  Value value;
};

template <typename Value, std::size_t kCount>
Status read_word(std::string_view key, std::string_view text, const std::array<Word<Value>, kCount>& words,
                 Value& value) {
  std::string allowed;
  for (const auto& word : words) {
    if (word.word == text) {
      value = word.value;
      return Done{};
    }
    allowed += fmt::format("{}{}", allowed.empty() ? "" : ", ", word.word);
  }
  return wrong_value(key, text, allowed);
}

template <typename Number>
Status read_number(std::string_view key, std::string_view text, Number& value) {
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  if (parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() && value >= 0) return Done{};
  return wrong_value(key, text, "a number, 0 or more");
}

constexpr std::array<Word<bool>, 2> kSwitch = {{{"0", false}, {"1", true}}};
constexpr std::array<Word<MemoryMode>, 2> kMemory = {
    {{"least", MemoryMode::kLeast}, {"full_speed", MemoryMode::kFullSpeed}}};
constexpr std::array<Word<Optimisation>, 3> kOptimisation = {
    {{"none", Optimisation::kNone}, {"basic", Optimisation::kBasic}, {"extended", Optimisation::kExtended}}};

// Parses "owner|key|value owner|key|value": options that the container will show in its description.
Status read_described(std::string_view key, std::string_view text, std::vector<DescribedOption>& options) {
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = std::min(rest.find(' '), rest.size());
    const std::string_view word = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::size_t first = word.find('|');
    const std::size_t second = first == std::string_view::npos ? first : word.find('|', first + 1);
    if (second == std::string_view::npos || second == first + 1) {
      return wrong_value(key, word, "owner|key|value, with blanks between several");
    }
    options.push_back({.key = std::string(word.substr(first + 1, second - first - 1)),
                       .value = std::string(word.substr(second + 1)),
                       .owner = std::string(word.substr(0, first))});
  }
  return Done{};
}

struct Option {
  std::string_view key;
  Status (*read)(std::string_view key, std::string_view text, ProviderOptions& options);
};

// The table of docs/onnxruntime.md, "Provider options".
constexpr Option kOptions[] = {
    {"container",
     [](std::string_view, std::string_view text, ProviderOptions& options) -> Status {
       options.container = text;
       return Done{};
     }},
    {"group",
     [](std::string_view, std::string_view text, ProviderOptions& options) -> Status {
       options.group = text;
       return Done{};
     }},
    {"memory", [](std::string_view key, std::string_view text,
                  ProviderOptions& options) { return read_word(key, text, kMemory, options.memory); }},
    {"intra_op_num_threads",
     [](std::string_view key, std::string_view text, ProviderOptions& options) {
       return read_number(key, text, options.intra_op_num_threads);
     }},
    {"file_mapping",
     [](std::string_view key, std::string_view text, ProviderOptions& options) -> Status {
       const auto mapping = file_mapping_from_name(text);
       if (!mapping) return wrong_value(key, text, "auto, require, disabled");
       options.open.file_mapping = *mapping;
       return Done{};
     }},
    // The QNN execution provider uses the same name.
    {"disable_file_mapped_weights",
     [](std::string_view key, std::string_view text, ProviderOptions& options) -> Status {
       bool disable = false;
       FATCTX_TRY(read_word(key, text, kSwitch, disable));
       if (disable) options.open.file_mapping = FileMapping::kDisabled;
       return Done{};
     }},
    {"max_copied_bytes",
     [](std::string_view key, std::string_view text, ProviderOptions& options) {
       return read_number(key, text, options.open.max_copied_bytes);
     }},
    {"require_local",
     [](std::string_view key, std::string_view text, ProviderOptions& options) {
       return read_word(key, text, kSwitch, options.open.require_local);
     }},
    {"verify",
     [](std::string_view key, std::string_view text, ProviderOptions& options) -> Status {
       const auto policy = verify_policy_from_name(text);
       if (!policy) return wrong_value(key, text, "record_on_acquire, none, private_copy, beside_load");
       options.open.verify = *policy;
       return Done{};
     }},
    {"minimum_generation",
     [](std::string_view key, std::string_view text, ProviderOptions& options) {
       return read_number(key, text, options.open.minimum_generation);
     }},
    {"optimization",
     [](std::string_view key, std::string_view text, ProviderOptions& options) {
       return read_word(key, text, kOptimisation, options.optimisation);
     }},
    {"grow_constants", [](std::string_view key, std::string_view text,
                          ProviderOptions& options) { return read_word(key, text, kSwitch, options.grow_constants); }},
    {"inject_restart_at_run",
     [](std::string_view key, std::string_view text, ProviderOptions& options) {
       return read_number(key, text, options.inject_restart_at_run);
     }},
    {"record_options", [](std::string_view key, std::string_view text,
                          ProviderOptions& options) { return read_described(key, text, options.record_options); }},
};

Status unknown_option(std::string_view key) {
  std::vector<std::string> known;
  for (const Option& option : kOptions) known.emplace_back(option.key);
  std::string message = fmt::format("provider option \"{}\" is not known", key);
  if (const auto near = nearest(key, known)) message += fmt::format("; did you mean \"{}\"?", *near);
  return Error{ErrorCode::kInvalidArgument, message + fmt::format(" Known: {}", fmt::join(known, ", "))};
}

Status read_provider_options(const Entries& entries, ProviderOptions& options) {
  for (const auto& [key, value] : entries) {
    if (!key.starts_with(kOptionPrefix)) continue;
    const std::string_view name = std::string_view(key).substr(kOptionPrefix.size());
    const Option* found = nullptr;
    for (const Option& option : kOptions) {
      if (option.key == name) found = &option;
    }
    if (found == nullptr) return unknown_option(name);
    FATCTX_TRY(found->read(name, value, options));
  }
  const auto given = [&](std::string_view name) {
    const auto entry = entries.find(std::string(kOptionPrefix).append(name));
    return entry == entries.end() ? std::string_view() : std::string_view(entry->second);
  };
  if (given("disable_file_mapped_weights") == "1" && !given("file_mapping").empty() &&
      given("file_mapping") != "disabled") {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("disable_file_mapped_weights=1 and file_mapping={} contradict each other; leave one of them out",
                    given("file_mapping"))};
  }
  return Done{};
}

std::string text_of(const Entries& entries, const char* key) {
  const auto found = entries.find(key);
  return found == entries.end() ? std::string() : found->second;
}

Status read_switch(const Entries& entries, const char* key, bool& value) {
  const std::string text = text_of(entries, key);
  return text.empty() ? Status(Done{}) : read_word(key, text, kSwitch, value);
}

// Returns true if the runtime sets session.compile_only.
bool compile_api_shows() {
  constexpr std::uint16_t kMajor = 1;
  constexpr std::uint16_t kFirstMinor = 27;
  const RuntimeVersion version = runtime_version();
  return version.major > kMajor || (version.major == kMajor && version.minor >= kFirstMinor);
}

}  // namespace

Result<Options> read_options(const OrtSessionOptions& options) {
  const Entries entries = entries_of(options);
  Options read;
  FATCTX_TRY(read_provider_options(entries, read.provider));
  SessionEntries& session = read.session;
  FATCTX_TRY(read_switch(entries, kOrtSessionOptionEpContextEnable, session.context_enable));
  FATCTX_TRY(read_switch(entries, kOrtSessionOptionEpContextEmbedMode, session.embed));
  FATCTX_TRY(read_switch(entries, kOrtSessionOptionShareEpContexts, session.share));
  FATCTX_TRY(read_switch(entries, kOrtSessionOptionStopShareEpContexts, session.stop_share));
  FATCTX_TRY(read_switch(entries, kCompileOnly, session.compile_only));
  session.may_be_compile_api = session.compile_only || !compile_api_shows();
  FATCTX_TRY(read_switch(entries, kOrtSessionOptionsFailOnSuboptimalCompiledModel, session.fail_on_suboptimal));
  session.context_file_path = text_of(entries, kOrtSessionOptionEpContextFilePath);
  session.node_name_prefix = text_of(entries, kOrtSessionOptionEpContextNodeNamePrefix);
  if (session.context_enable && session.embed && session.share) {
    return Error{ErrorCode::kInvalidArgument,
                 "ep.context_embed_mode=1 and ep.share_ep_contexts=1 exclude each other: a container embedded "
                 "in one model cannot be shared with another; leave one of them out"};
  }
  return read;
}

}  // namespace fatctx::ort
