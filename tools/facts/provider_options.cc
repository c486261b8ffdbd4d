#include "tools/facts/provider_options.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <span>

#include <fmt/format.h>

#include "fatctx/base/nearest.h"

namespace fatctx::tools {

namespace {

enum class Kind : std::uint8_t { kText, kNumber, kNumbers, kWord, kWords };

struct ProviderOption {
  std::string_view key;
  Kind kind;
  std::span<const std::string_view> words = {};  // kWord: one of these; kWords: a list of these
};

constexpr std::string_view kSwitch[] = {"0", "1"};
constexpr std::string_view kBackends[] = {"cpu", "htp"};
constexpr std::string_view kProfiling[] = {"off", "basic", "detailed"};
constexpr std::string_view kPerformance[] = {
    "burst",        "balanced",        "default",     "high_performance",          "high_power_saver",
    "low_balanced", "low_power_saver", "power_saver", "sustained_high_performance"};
constexpr std::string_view kPriorities[] = {"low", "normal", "normal_high", "high"};
constexpr std::string_view kFinalization[] = {"0", "1", "2", "3"};
constexpr std::string_view kArchs[] = {"0", "68", "69", "73", "75", "79", "81", "85"};

constexpr std::string_view kFinalizationKey = "htp_graph_finalization_optimization_mode";
constexpr std::array<std::string_view, 4> kFinalizationText = {"the default", "the fastest preparation",
                                                               "a longer preparation", "the longest preparation"};

constexpr ProviderOption kOptions[] = {
    {"backend_path", Kind::kText},
    {"backend_type", Kind::kWord, kBackends},
    {"profiling_level", Kind::kWord, kProfiling},
    {"profiling_file_path", Kind::kText},
    {"rpc_control_latency", Kind::kNumber},
    {"vtcm_mb", Kind::kNumbers},  // one for each SoC, if there are several
    {"htp_performance_mode", Kind::kWord, kPerformance},
    {"qnn_saver_path", Kind::kText},
    {"qnn_context_priority", Kind::kWord, kPriorities},
    {kFinalizationKey, Kind::kWord, kFinalization},
    {"soc_model", Kind::kText},  // a number, a name, or a list of them
    {"htp_arch", Kind::kWords, kArchs},
    {"device_id", Kind::kNumber},
    {"enable_htp_fp16_precision", Kind::kWord, kSwitch},
    {"offload_graph_io_quantization", Kind::kWord, kSwitch},
    {"enable_htp_shared_memory_allocator", Kind::kWord, kSwitch},
    {"enable_htp_spill_fill_buffer", Kind::kWord, kSwitch},
    {"extended_udma", Kind::kWord, kSwitch},
    {"disable_file_mapped_weights", Kind::kWord, kSwitch},
    {"htp_share_resource_optimization", Kind::kText},
    {"enable_vtcm_backup_buffer_sharing", Kind::kWord, kSwitch},
    {"enable_htp_prepare_only", Kind::kWord, kSwitch},
    {"enable_htp_prepare_and_load", Kind::kWord, kSwitch},
    {"htp_reused_io_limit_mb", Kind::kNumber},
};

const ProviderOption* known(std::string_view key) {
  const auto* const found =
      std::find_if(std::begin(kOptions), std::end(kOptions), [key](const auto& row) { return row.key == key; });
  return found == std::end(kOptions) ? nullptr : found;
}

bool is_number(std::string_view text) {
  std::uint32_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, problem] = std::from_chars(text.data(), end, number);
  return !text.empty() && problem == std::errc() && stop == end;
}

// Returns true if `fits` is true for every part between commas.
template <typename Fits>
bool each_part(std::string_view text, Fits fits) {
  for (;;) {
    const std::size_t comma = std::min(text.find(','), text.size());
    if (!fits(text.substr(0, comma))) return false;
    if (comma == text.size()) return true;
    text.remove_prefix(comma + 1);
  }
}

std::string allowed_text(const ProviderOption& option) {
  const std::uint32_t most = std::numeric_limits<std::uint32_t>::max();
  switch (option.kind) {
    case Kind::kText:
      return "a text that is not empty";
    case Kind::kNumber:
      return fmt::format("a whole number from 0 to {}", most);
    case Kind::kNumbers:
      return fmt::format("a whole number from 0 to {}, or several with commas between them", most);
    case Kind::kWord:
      return fmt::format("\"{}\"", fmt::join(option.words, "\", \""));
    case Kind::kWords:
      return fmt::format("\"{}\", or several of them with commas between", fmt::join(option.words, "\", \""));
  }
  return {};
}

bool fits(const ProviderOption& option, std::string_view value) {
  const auto one_of_words = [&option](std::string_view word) {
    return std::find(option.words.begin(), option.words.end(), word) != option.words.end();
  };
  switch (option.kind) {
    case Kind::kText:
      return !value.empty();
    case Kind::kNumber:
      return is_number(value);
    case Kind::kNumbers:
      return each_part(value, is_number);
    case Kind::kWord:
      return one_of_words(value);
    case Kind::kWords:
      return each_part(value, one_of_words);
  }
  return true;
}

const DescribedOption* of_provider(const std::vector<DescribedOption>& options, std::string_view key) {
  const auto found = std::find_if(options.begin(), options.end(), [key](const DescribedOption& option) {
    return owned_by_qnn(option.owner) && option.key == key;
  });
  return found == options.end() ? nullptr : &*found;
}

}  // namespace

bool owned_by_qnn(std::string_view owner) noexcept { return owner == "QNNExecutionProvider" || owner == "QNN"; }

std::vector<std::string> provider_option_keys() {
  std::vector<std::string> keys;
  for (const ProviderOption& row : kOptions) keys.emplace_back(row.key);
  return keys;
}

std::optional<std::string> wrong_provider_option(const DescribedOption& option) {
  const ProviderOption* const row = owned_by_qnn(option.owner) ? known(option.key) : nullptr;
  if (row == nullptr || fits(*row, option.value)) return std::nullopt;
  return fmt::format("found \"{}\"; allowed: {}", option.value, allowed_text(*row));
}

Status check_provider_options(const std::vector<DescribedOption>& options) {
  if (of_provider(options, "backend_type") != nullptr && of_provider(options, "backend_path") != nullptr) {
    return Error{ErrorCode::kInvalidArgument,
                 "backend_type and backend_path are mutually exclusive; leave one of them out"};
  }
  return Done{};
}

std::vector<std::string> unknown_provider_options(const std::vector<DescribedOption>& options) {
  const std::vector<std::string> keys = provider_option_keys();
  std::vector<std::string> notes;
  for (const DescribedOption& option : options) {
    if (!owned_by_qnn(option.owner) || known(option.key) != nullptr) continue;
    const auto near = nearest(option.key, keys);
    notes.push_back(fmt::format("\"{}\" is not a known option of {}; it is kept unchecked{}", option.key, option.owner,
                                near ? fmt::format("; did you mean \"{}\"?", *near) : std::string()));
  }
  return notes;
}

bool asks_for_cpu_backend(const std::vector<DescribedOption>& options) {
  if (const DescribedOption* const type = of_provider(options, "backend_type")) return type->value == "cpu";
  const DescribedOption* const path = of_provider(options, "backend_path");
  if (path == nullptr) return false;
  // Handles also a path of the other system, whose separator has no meaning here.
  const std::string_view file = std::string_view(path->value).substr(path->value.find_last_of("/\\") + 1);
  return file == "libQnnCpu.so" || file == "QnnCpu.dll";
}

std::string optimization_level_text(const std::vector<DescribedOption>& options) {
  const DescribedOption* const mode = of_provider(options, kFinalizationKey);
  if (mode == nullptr) return {};
  const std::size_t level =
      mode->value.size() == 1 ? static_cast<std::size_t>(mode->value[0] - '0') : kFinalizationText.size();
  if (level >= kFinalizationText.size()) return mode->value;
  return fmt::format("{}, {}", level, kFinalizationText[level]);
}

}  // namespace fatctx::tools
