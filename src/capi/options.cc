// Options as they come from C.
#include <cstring>

#include <fmt/format.h>

#include "capi/objects.h"

namespace fatctx::capi {

Error busy_error(std::string_view what) {
  return Error{ErrorCode::kOperationNotPermitted,
               fmt::format("the {} is at work in another call; one call at a time, on any thread", what)};
}

Result<std::size_t> index_in(std::uint64_t index, std::size_t count, std::string_view what) {
  if (index < count) return static_cast<std::size_t>(index);
  return Error{ErrorCode::kNotFound,
               fmt::format("there is no {} {}: there are {}, counted from 0", what, index, count)};
}

std::vector<std::string> words_in(const char* list) {
  std::vector<std::string> words;
  std::string_view rest = list == nullptr ? std::string_view() : list;
  if (rest.empty()) return words;
  for (auto comma = rest.find(','); comma != std::string_view::npos; comma = rest.find(',')) {
    words.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(comma + 1);
  }
  words.emplace_back(rest);
  return words;
}

Result<OpenOptions> open_options_in(const fatctx_open_options* options) {
  fatctx_open_options given = {};
  if (options != nullptr) FATCTX_TRY(read_sized(options, given));
  if (given.verify > FATCTX_VERIFY_BESIDE_LOAD) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("verify is {}; allowed are FATCTX_VERIFY_RECORD_ON_ACQUIRE (0), _NONE (1), "
                             "_PRIVATE_COPY (2) and _BESIDE_LOAD (3)",
                             given.verify)};
  }
  if (given.file_mapping > FATCTX_FILE_MAPPING_DISABLED) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("file_mapping is {}; allowed are FATCTX_FILE_MAPPING_AUTO (0), _REQUIRE (1) and "
                             "_DISABLED (2)",
                             given.file_mapping)};
  }
  FATCTX_TRY(check_in_build(given));
  OpenOptions result;
  result.verify = static_cast<VerifyPolicy>(given.verify);
  result.follow_symlinks = given.refuse_symlinks == 0;
  result.require_local = given.require_local != 0;
  result.strict = given.strict != 0;
  result.file_mapping = static_cast<FileMapping>(given.file_mapping);
  result.max_copied_bytes = given.max_copied_bytes;
  result.cache_folder = text_in(given.cache_folder);
  result.cache_limit_bytes = given.cache_limit_bytes;
  result.minimum_generation = given.minimum_generation;
  if (given.trusted_keys != nullptr || given.trusted_key_count != 0) {
    constexpr std::size_t kKeyBytes = sizeof(PublicKey::bytes);
    if (given.trusted_key_count == 0 || given.trusted_key_count > SIZE_MAX / kKeyBytes) {
      // No key at all would open whatever is there, and that was not asked for.
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("trusted_keys with {} keys; leave it null to ask for no signature", given.trusted_key_count)};
    }
    FATCTX_ASSIGN(const auto keys, array_in(given.trusted_keys, given.trusted_key_count * kKeyBytes, "trusted_keys"));
    result.trusted_keys.resize(static_cast<std::size_t>(given.trusted_key_count));
    for (std::size_t i = 0; i < result.trusted_keys.size(); ++i) {
      std::memcpy(result.trusted_keys[i].bytes.data(), keys.data() + i * kKeyBytes, kKeyBytes);
    }
  }
  result.generation = given.generation;
  result.max_made_bytes = given.max_made_bytes;
  if (given.mapping_provider.id != 0) {
    FATCTX_ASSIGN(result.mapping_provider, find(given.mapping_provider));
  }
  if (given.allocator.id != 0) {
    FATCTX_ASSIGN(result.allocator, find(given.allocator));
  }
  return result;
}

Result<ModelOptions> model_options_in(const fatctx_model_options* options) {
  fatctx_model_options given = {};
  if (options != nullptr) FATCTX_TRY(read_sized(options, given));
  ModelOptions result;
  FATCTX_ASSIGN(result.open, open_options_in(given.open));
  result.policy.group = text_in(given.group);
  result.policy.strict = given.strict != 0;
  result.policy.allow_lower_arch = given.allow_lower_arch != 0;
  result.policy.allow_generic = given.refuse_generic == 0;
  result.policy.mix_targets = given.mix_targets != 0;
  if (given.boundaries != nullptr || given.boundary_count != 0) {
    FATCTX_ASSIGN(const auto boundaries, array_in(given.boundaries, given.boundary_count, "boundaries"));
    result.policy.boundaries.emplace(boundaries.begin(), boundaries.end());
  }
  if (given.record_override != nullptr) result.policy.record_override = given.record_override;
  result.policy.force = given.force != 0;
  if (given.max_sdk != nullptr) {
    auto version = parse_version(given.max_sdk);
    if (!version.ok()) return in_context(std::move(version).error(), "max_sdk");
    result.policy.max_sdk = version.value();
  }
  if (given.device.id != 0) {
    FATCTX_ASSIGN(const auto detection, find(given.device));
    result.device = detection->device;
  }
  if (given.on_damage > FATCTX_ON_DAMAGE_NEXT) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("on_damage is {}; allowed are FATCTX_ON_DAMAGE_FAIL (0) and _NEXT (1)", given.on_damage)};
  }
  result.on_damage = static_cast<OnDamage>(given.on_damage);
  if (given.raw_binaries > FATCTX_RAW_BINARIES_REFUSE) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("raw_binaries is {}; allowed are FATCTX_RAW_BINARIES_KNOWN (0), _ANY (1) and _REFUSE (2)",
                             given.raw_binaries)};
  }
  result.raw_binaries = static_cast<RawBinaries>(given.raw_binaries);
  if (given.signal.id != 0) {
    FATCTX_ASSIGN(const auto signal, find(given.signal));
    result.signal = *signal;
  }
  result.policy.prepare_hook = given.prepare_hook != 0 || given.prepare != nullptr;
  if (given.soc_table.id != 0) {
    FATCTX_ASSIGN(const auto table, find(given.soc_table));
    result.policy.soc_table = *table;
  }
  if (given.prepare != nullptr) {
    FATCTX_ASSIGN(result.prepare, prepare_hook_of(given.prepare, given.prepare_user));
  }
  if (given.consumer != nullptr) {
    result.consumer = [ask = given.consumer, user = given.consumer_user]() -> MappingSupport {
      char reason[256] = {};
      if (ask(user, reason, sizeof reason) != 0) return {};
      const std::string_view why = until_nul(reason);
      return {.takes_mapped_memory = false, .reason = std::string(why.empty() ? "the consumer does not say why" : why)};
    };
  }
  return result;
}

}  // namespace fatctx::capi

extern "C" {

void fatctx_open_options_init(fatctx_open_options* options, size_t struct_size) {
  fatctx::capi::init_sized(fatctx_open_options{}, options, struct_size);
}

void fatctx_model_options_init(fatctx_model_options* options, size_t struct_size) {
  fatctx::capi::init_sized(fatctx_model_options{}, options, struct_size);
}

}  // extern "C"
