#include "tools/ctx_gen/ctx_gen_options.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fatctx/base/nearest.h"
#include "fatctx/select.h"
#include "tools/device/asked_device.h"
#include "tools/facts/provider_options.h"

namespace fatctx::tools {

namespace {

constexpr std::array<CtxGenProvider, 5> kProviders = {{{"qnn", "QNNExecutionProvider", "QNN"},
                                                       {"tensorrt", "TensorrtExecutionProvider", "TensorRT"},
                                                       {"openvino", "OpenVINOExecutionProvider", "OpenVINO"},
                                                       {"vitisai", "VitisAIExecutionProvider", "Vitis AI"},
                                                       {"reference", "FatctxExecutionProvider", "fatctx"}}};

// Limits of ONNX Runtime's session entries.
constexpr std::size_t kMaxKey = 1024;
constexpr std::size_t kMaxValue = 8192;

enum class Rule : std::uint8_t {
  kAny,     // known; its value is not checked
  kSwitch,  // 0 or 1
  kPrefix,  // a prefix of graph names
  kFile,    // the name of one file, which several models would overwrite
  kForced,  // ctx-gen sets it
  kRefused,
};

struct Entry {
  std::string_view key;
  Rule rule = Rule::kAny;
  std::string_view value = {};  // kForced: the value that it is set to
};

constexpr Entry kEntries[] = {
    {"ep.context_enable", Rule::kForced, "1"},
    {"ep.context_embed_mode", Rule::kForced, "0"},
    {"ep.share_ep_contexts", Rule::kForced, "1"},
    {"ep.stop_share_ep_contexts", Rule::kForced, "1 for the last model"},
    {"ep.context_file_path", Rule::kRefused},
    {"ep.context_node_name_prefix", Rule::kPrefix},
    {"ep.context_model_external_initializers_file_name", Rule::kFile},
    {"ep.context_source_model_path"},
    {"ep.enable_weightless", Rule::kSwitch},
    {"ep.enable_weightless_ep_context_nodes", Rule::kSwitch},
    {"ep.cuda.use_arena", Rule::kSwitch},
    {"ep.dynamic.workload_type"},
    {"ep.dynamic.qnn_htp_performance_mode"},
    {"ep.nnapi.partitioning_stop_ops"},
    {"mlas.enable_gemm_fastmath_arm64_bfloat16", Rule::kSwitch},
    {"optimization.disable_specified_optimizers"},
    {"optimization.enable_cast_chain_elimination", Rule::kSwitch},
    {"optimization.enable_gelu_approximation", Rule::kSwitch},
    {"optimization.enable_memory_probe_recompute_config"},
    {"optimization.memory_optimizer_config"},
    {"optimization.minimal_build_optimizations"},
    {"session.allow_released_opsets_only", Rule::kSwitch},
    {"session.collect_node_memory_stats_to_file"},
    {"session.compile_only", Rule::kSwitch},
    {"session.debug_layout_transformation", Rule::kSwitch},
    {"session.disable_aot_function_inlining", Rule::kSwitch},
    {"session.disable_cpu_ep_fallback", Rule::kSwitch},
    {"session.disable_double_qdq_remover", Rule::kSwitch},
    {"session.disable_model_compile", Rule::kSwitch},
    {"session.disable_prepacking", Rule::kSwitch},
    {"session.disable_quant_qdq", Rule::kSwitch},
    {"session.dynamic_block_base"},
    {"session.enable_quant_qdq_cleanup", Rule::kSwitch},
    {"session.fail_on_suboptimal_compiled_model", Rule::kSwitch},
    {"session.force_spinning_stop", Rule::kSwitch},
    {"session.graph_optimizations_loop_level"},
    {"session.inter_op.allow_spinning", Rule::kSwitch},
    {"session.intra_op.allow_spinning", Rule::kSwitch},
    {"session.intra_op_thread_affinities"},
    {"session.load_model_format"},
    {"session.model_external_initializers_file_folder_path"},
    {"session.node_partition_config_file"},
    {"session.optimized_model_external_initializers_file_name"},
    {"session.optimized_model_external_initializers_min_size_in_bytes"},
    {"session.qdq_matmulnbits_accuracy_level"},
    {"session.qdqisint8allowed", Rule::kSwitch},
    {"session.record_ep_graph_assignment_info", Rule::kSwitch},
    {"session.resource_cuda_partitioning_settings"},
    {"session.save_external_prepacked_constant_initializers", Rule::kSwitch},
    {"session.save_model_format"},
    {"session.set_denormal_as_zero", Rule::kSwitch},
    {"session.strict_shape_type_inference", Rule::kSwitch},
    {"session.use_device_allocator_for_initializers", Rule::kSwitch},
    {"session.use_env_allocators", Rule::kSwitch},
    {"session.use_external_initializer_file_buffers_directly", Rule::kSwitch},
    {"session.use_memory_mapped_ort_model", Rule::kSwitch},
    {"session.use_ort_model_bytes_directly", Rule::kSwitch},
    {"session.use_ort_model_bytes_for_initializers", Rule::kSwitch},
    {"session.x64quantprecision", Rule::kSwitch},
};

// Documented in docs/cli/compile.md, "fatctx ctx-gen"; tests/ort/ctx_gen_test.py compares them with the
// provider's own list.
constexpr std::string_view kReferenceOptions[] = {"group",
                                                  "memory",
                                                  "intra_op_num_threads",
                                                  "file_mapping",
                                                  "disable_file_mapped_weights",
                                                  "max_copied_bytes",
                                                  "require_local",
                                                  "verify",
                                                  "grow_constants",
                                                  "minimum_generation",
                                                  "optimization"};
constexpr std::string_view kOpenVinoOptions[] = {"device_type",
                                                 "precision",
                                                 "num_of_threads",
                                                 "num_streams",
                                                 "cache_dir",
                                                 "load_config",
                                                 "context",
                                                 "model_priority",
                                                 "enable_qdq_optimizer",
                                                 "reshape_input",
                                                 "layout",
                                                 "device_id",
                                                 "enable_causallm",
                                                 "enable_opencl_throttling",
                                                 "disable_dynamic_shapes"};
constexpr std::string_view kTensorRtOptions[] = {"device_id", "user_compute_stream", "has_user_compute_stream",
                                                 "onnx_model_folder_path"};

template <typename List>
bool is_among(std::string_view word, const List& list) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

std::vector<std::string> entry_keys() {
  std::vector<std::string> keys;
  keys.reserve(std::size(kEntries));
  for (const Entry& entry : kEntries) keys.emplace_back(entry.key);
  return keys;
}

const Entry* find_entry(std::string_view key) {
  const auto* const found =
      std::find_if(std::begin(kEntries), std::end(kEntries), [&](const Entry& entry) { return entry.key == key; });
  return found == std::end(kEntries) ? nullptr : found;
}

std::string near_text(std::string_view key, const std::vector<std::string>& keys) {
  const auto near = nearest(key, keys);
  return near ? fmt::format("; did you mean \"{}\"?", *near) : std::string();
}

Status check_entry(const Entry& entry, const std::string& value, std::size_t model_count, CtxGenEntries& entries) {
  switch (entry.rule) {
    case Rule::kRefused:
      return invalid_argument(
          fmt::format("-C: {} is not to be changed here; --output-dir says where the outputs go", entry.key));
    case Rule::kForced:
      if (value != entry.value.substr(0, 1)) {
        entries.notes.push_back(
            fmt::format("-C: {} is always {} here; \"{}\" is ignored", entry.key, entry.value, value));
      }
      return Done{};
    case Rule::kSwitch:
      if (value != "0" && value != "1") {
        return invalid_argument(fmt::format("-C: {}: the value is \"{}\"; allowed: 0, 1", entry.key, value));
      }
      break;
    case Rule::kPrefix:
      entries.prefix = value;
      entries.stored.push_back({std::string(entry.key), value, "session"});
      return Done{};
    case Rule::kFile:
      if (value.find_first_of("/\\") != std::string::npos || value == "..") {
        return invalid_argument(
            fmt::format("-C: {}: \"{}\" is not the name of a file beside the outputs", entry.key, value));
      }
      if (model_count > 1) {
        return invalid_argument(fmt::format("-C: {}: {} models would write to the one file \"{}\"; leave it out",
                                            entry.key, model_count, value));
      }
      break;
    case Rule::kAny:
      break;
  }
  entries.for_session.emplace_back(entry.key, value);
  entries.stored.push_back({std::string(entry.key), value, "session"});
  return Done{};
}

std::vector<std::string> as_strings(std::span<const std::string_view> words) { return {words.begin(), words.end()}; }

Error unknown_option(const CtxGenProvider& provider, std::string_view key, const std::vector<std::string>& keys) {
  const std::string near = near_text(key, keys);
  return invalid_argument(fmt::format("-i: \"{}\" is not an option of {}{} Known: {}", key, provider.name,
                                      near.empty() ? "." : near, fmt::join(keys, ", ")));
}

// Handles options that only QNN has, for another vendor's provider.
Status take_foreign(const CtxGenProvider& provider, const std::string& key, const std::string& value,
                    CtxGenProviderOptions& options) {
  if (!provider.is_reference()) {
    return invalid_argument(
        fmt::format("-i: \"{}\" is an option of QNNExecutionProvider only, and -e is {}; leave it out, or "
                    "compile with -e qnn",
                    key, provider.word));
  }
  options.stored.push_back({key, value, "QNNExecutionProvider"});
  if (asks_for_cpu_backend({options.stored.back()})) {
    options.notes.push_back(fmt::format("-i: {}: the reference provider takes the place of QNN's CPU backend", key));
    return Done{};
  }
  options.notes.push_back(
      fmt::format("-i: {} is an option of QNNExecutionProvider; the reference provider compiles "
                  "for the CPU: it is checked and written down, and changes nothing",
                  key));
  return Done{};
}

constexpr std::size_t kMostDigits = 9;  // of a SoC's number

// Replaces names of SoCs by numbers, also in a list: the provider takes numbers, but people know names.
Result<std::string> soc_numbers(const std::string& value, std::vector<std::string>& notes) {
  FATCTX_ASSIGN(const SocTable table, asked_soc_table());
  std::string numbers;
  for (std::size_t from = 0; from <= value.size();) {
    const std::size_t to = std::min(value.find(',', from), value.size());
    std::string word = value.substr(from, to - from);
    from = to + 1;
    if (word.find_first_not_of("0123456789") != std::string::npos || word.empty()) {
      auto device = device_in_words(word, table);
      if (!device.ok()) return in_context(std::move(device).error(), "-i: soc_model");
      if (!device.value().qnn_soc) {
        return invalid_argument(
            fmt::format("-i: soc_model: no number is known of \"{}\"; give the number of the SoC, or a part "
                        "that `fatctx socs` lists with one",
                        word));
      }
      word = std::to_string(*device.value().qnn_soc);
    } else if (word.size() > kMostDigits) {
      return invalid_argument(fmt::format("-i: soc_model: \"{}\" is the number of no SoC", word));
    } else if (word != "0" && !device_from_text(word, table).ok()) {
      const auto of_kernel = device_from_text("kernel:" + word, table);
      notes.push_back(fmt::format("-i: soc_model: no SoC of table {} has the QNN number {}{}; it is handed on as it is",
                                  table.version(), word,
                                  of_kernel.ok() && of_kernel.value().part
                                      ? fmt::format(", which is the kernel's number of {}", *of_kernel.value().part)
                                      : std::string()));
    }
    numbers += (numbers.empty() ? "" : ",") + word;
  }
  return numbers;
}

Status take_option(const CtxGenProvider& provider, const std::string& key, const std::string& value,
                   CtxGenProviderOptions& options) {
  const std::vector<std::string> qnn = provider_option_keys();
  const bool of_qnn = is_among(key, qnn);
  if (provider.is_qnn() && !of_qnn) return unknown_option(provider, key, qnn);
  if (provider.is_reference()) {
    if (key == "container")
      return invalid_argument("-i: container is not to be changed here; --container-name names it");
    if (!is_among(key, kReferenceOptions)) {
      if (of_qnn) return take_foreign(provider, key, value, options);
      return unknown_option(provider, key, as_strings(kReferenceOptions));
    }
  }
  if (provider.word == "openvino" && !is_among(key, kOpenVinoOptions)) {
    if (of_qnn) return take_foreign(provider, key, value, options);
    return unknown_option(provider, key, as_strings(kOpenVinoOptions));
  }
  if (provider.word == "tensorrt" && !key.starts_with("trt_") && !is_among(key, kTensorRtOptions)) {
    if (of_qnn) return take_foreign(provider, key, value, options);
    std::vector<std::string> keys = as_strings(kTensorRtOptions);
    keys.emplace_back("trt_...");
    return unknown_option(provider, key, keys);
  }
  if (provider.word == "vitisai") {
    if (of_qnn) return take_foreign(provider, key, value, options);
    options.notes.push_back(
        fmt::format("-i: the options of {} are not known here; \"{}\" is handed on unchecked", provider.name, key));
  }
  options.for_provider.emplace_back(key, value);
  options.stored.push_back({key, value, std::string(provider.name)});
  return Done{};
}

}  // namespace

Result<CtxGenProvider> ctx_gen_provider(std::string_view word) {
  for (const CtxGenProvider& provider : kProviders) {
    if (provider.word == word) return provider;
  }
  std::vector<std::string> words;
  words.reserve(kProviders.size());
  for (const CtxGenProvider& provider : kProviders) words.emplace_back(provider.word);
  const auto near = nearest(word, words);
  return invalid_argument(fmt::format("-e {}: no such execution provider; {}known: {}", word,
                                      near ? fmt::format("did you mean {}? ", *near) : std::string(),
                                      fmt::join(words, ", ")));
}

Result<KeyValues> parse_key_values(std::string_view flag, std::string_view text) {
  constexpr std::string_view kBlanks = " \t\n";
  KeyValues pairs;
  std::set<std::string> keys;
  for (std::size_t at = text.find_first_not_of(kBlanks); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlanks, at), text.size());
    const std::string_view word = text.substr(at, end - at);
    at = text.find_first_not_of(kBlanks, end);
    const std::size_t bar = word.find('|');
    if (bar == std::string_view::npos || bar == 0 || bar + 1 == word.size()) {
      return invalid_argument(fmt::format("{}: found \"{}\"; write \"KEY|VALUE KEY|VALUE\"", flag, word));
    }
    std::string key(word.substr(0, bar));
    std::string value(word.substr(bar + 1));
    if (key.size() > kMaxKey || value.size() > kMaxValue) {
      return invalid_argument(fmt::format("{}: \"{}...\": a key has at most {} characters, a value {}", flag,
                                          key.substr(0, 40), kMaxKey, kMaxValue));
    }
    if (!keys.insert(key).second) return invalid_argument(fmt::format("{}: \"{}\" is given twice", flag, key));
    pairs.emplace_back(std::move(key), std::move(value));
  }
  if (pairs.empty() && !text.empty()) return invalid_argument(fmt::format("{}: is empty; write \"KEY|VALUE\"", flag));
  return pairs;
}

Result<CtxGenEntries> check_session_entries(std::string_view text, std::size_t model_count) {
  FATCTX_ASSIGN(const KeyValues pairs, parse_key_values("-C", text));
  CtxGenEntries entries;
  for (const auto& [key, value] : pairs) {
    const Entry* const entry = find_entry(key);
    if (entry == nullptr) {
      entries.notes.push_back(
          fmt::format("-C: \"{}\" is not a known session entry; it is passed on{}", key, near_text(key, entry_keys())));
      entries.for_session.emplace_back(key, value);
      entries.stored.push_back({key, value, "session"});
      continue;
    }
    FATCTX_TRY(check_entry(*entry, value, model_count, entries));
  }
  return entries;
}

Result<CtxGenProviderOptions> check_provider_options(const CtxGenProvider& provider, std::string_view text) {
  FATCTX_ASSIGN(const KeyValues pairs, parse_key_values("-i", text));
  CtxGenProviderOptions options;
  for (const auto& [key, given] : pairs) {
    std::string value = given;
    if (key == "soc_model") {
      FATCTX_ASSIGN(value, soc_numbers(given, options.notes));
    }
    FATCTX_TRY(take_option(provider, key, value, options));
  }
  for (const DescribedOption& option : options.stored) {
    if (const auto wrong = wrong_provider_option(option)) {
      return invalid_argument(fmt::format("-i: {}: {}", option.key, *wrong));
    }
  }
  if (const auto status = check_provider_options(options.stored); !status.ok()) {
    return in_context(status.error(), "-i");
  }
  return options;
}

std::vector<std::string> reference_option_keys() { return as_strings(kReferenceOptions); }

}  // namespace fatctx::tools
