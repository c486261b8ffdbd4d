#include "tools/facts/htp_config.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fatctx/select.h"
#include "tools/facts/json_file.h"
#include "tools/onnx/model_folder.h"

namespace fatctx::tools {

namespace {

constexpr std::uint64_t kMostVtcmMb = 1024;
constexpr std::uint32_t kMostArch = 999;  // three digits, as in the schema of manifests
constexpr std::uint64_t kMostCores = 64;
constexpr std::uint64_t kMostSocId = 0xFFFFFFFF;

// Reads a flag as the vendor's files write it: true, or 1.
Result<bool> flag_at(const JsonPlace& cursor) {
  if (cursor.value().boolean() != nullptr) return cursor.boolean();
  FATCTX_ASSIGN(const std::uint64_t number, cursor.number(1));
  return number == 1;
}

// Keeps a value that has no meaning here: a number, a text or a flag.
Status keep_setting(const std::string& path, const JsonPlace& cursor, HtpTarget& target) {
  auto value = scalar_text(cursor.value());
  if (!value) return cursor.wrong("a number, a text, or true and false");
  target.settings.push_back({path, *std::move(value), "htp"});
  return Done{};
}

class SocFile {
 public:
  SocFile(std::string path, const SocTable& table) : table_(table) { target_.file = std::move(path); }

  Result<HtpTarget> read() {
    FATCTX_ASSIGN(const std::string text, read_text_file(target_.file));
    FATCTX_ASSIGN(const Json document, parse_json(text, target_.file));
    const JsonPlace root(target_.file, document);
    FATCTX_TRY(root.only_keys({"graphs", "devices", "context", "memory", "groupContext"}));
    if (root.has("graphs")) FATCTX_TRY(take_graphs(root.at("graphs")));
    FATCTX_ASSIGN(const JsonPlace devices, root.required("devices"));
    FATCTX_TRY(take_devices(devices));
    if (root.has("context")) FATCTX_TRY(take_context(root.at("context")));
    for (const char* const name : {"memory", "groupContext"}) {
      if (root.has(name)) FATCTX_TRY(take_settings(name, root.at(name)));
    }
    if (target_.share_weights && target_.lora_sharing) {
      return root.at("context").error(
          "lora_weight_sharing_enabled and reference_weight_sharing_enabled exclude each other; leave one of them out");
    }
    return std::move(target_);
  }

 private:
  Status take_graphs(const JsonPlace& graphs) {
    FATCTX_ASSIGN(const std::vector<JsonPlace> blocks, graphs.elements());
    for (const JsonPlace& block : blocks) {
      FATCTX_TRY(block.only_keys({"graph_names", "vtcm_mb", "vtcm_size_in_mb", "O", "dlbc", "dlbc_weights", "num_cores",
                                  "hvx_threads", "fp16_relaxed_precision", "fp16_relaxed_precision_flag",
                                  "finalize_config", "advanced_activation_fusion", "short_depth_conv_on_hmx_off",
                                  "fold_relu_activation_into_conv_off", "weights_packing"}));
      FATCTX_ASSIGN(const JsonPlace names, block.required("graph_names"));
      FATCTX_ASSIGN(const std::vector<std::string> listed, names.texts());
      target_.graph_names.insert(target_.graph_names.end(), listed.begin(), listed.end());
      FATCTX_ASSIGN(const auto members, block.members());
      for (const auto& [key, value] : members) FATCTX_TRY(take_graph_key(key, value));
    }
    return Done{};
  }

  Status take_graph_key(const std::string& key, const JsonPlace& value) {
    if (key == "graph_names") return Done{};
    if (key == "vtcm_mb" || key == "vtcm_size_in_mb") {
      FATCTX_ASSIGN(const std::uint64_t megabytes, value.number(kMostVtcmMb));
      // A binary has one key, so selection goes by the graph that needs most.
      target_.vtcm_mb = std::max(target_.vtcm_mb, static_cast<std::uint32_t>(megabytes));
      return Done{};
    }
    if (key == "dlbc") {
      FATCTX_ASSIGN(const bool on, flag_at(value));
      target_.dlbc = target_.dlbc || on;
    }
    if (key == "num_cores") {
      FATCTX_ASSIGN(const std::uint64_t cores, value.number(kMostCores));
      target_.cores = std::max(target_.cores, static_cast<std::uint32_t>(cores));
    }
    return keep_setting("graphs." + key, value, target_);
  }

  Status take_devices(const JsonPlace& devices) {
    FATCTX_ASSIGN(const std::vector<JsonPlace> listed, devices.elements());
    if (listed.size() != 1) {
      return devices.error(
          fmt::format("found {} devices; a file is for one SoC: write one file for each", listed.size()));
    }
    const JsonPlace& device = listed.front();
    FATCTX_TRY(device.only_keys({"soc_id", "soc_model", "dsp_arch", "device_id", "pd_session", "use_client_context",
                                 "profiling_level", "cores"}));
    const char* const key = device.has("soc_model") && !device.has("soc_id") ? "soc_model" : "soc_id";
    FATCTX_ASSIGN(const JsonPlace soc, device.required(key));
    FATCTX_TRY(take_soc(soc));
    if (device.has("dsp_arch")) FATCTX_TRY(take_arch(device.at("dsp_arch")));
    FATCTX_ASSIGN(const auto members, device.members());
    for (const auto& [name, value] : members) {
      if (name == "soc_id" || name == "soc_model" || name == "dsp_arch" || name == "cores")
        continue;  // settings of a
                   // run
      FATCTX_TRY(keep_setting("devices." + name, value, target_));
    }
    return Done{};
  }

  Status take_soc(const JsonPlace& soc) {
    FATCTX_ASSIGN(const std::uint64_t number, soc.number(kMostSocId));
    const std::string text = std::to_string(number);
    const auto device = device_from_text(text, table_);
    if (!device.ok()) return soc.error(device.error().message);
    target_.qnn_soc = static_cast<std::uint32_t>(number);
    target_.part = device.value().part.value_or("");
    target_.arch = device.value().arch.value_or("");
    return Done{};
  }

  Status take_arch(const JsonPlace& cursor) {
    FATCTX_ASSIGN(const std::string arch, cursor.text());
    const auto known = device_from_text(arch, table_);
    if (!known.ok() || known.value().arch != arch) return cursor.wrong("a Hexagon arch such as \"v79\"");
    if (!target_.arch.empty() && target_.arch != arch) {
      return cursor.error(fmt::format("found {}, and SoC {}{} has {}, as table {} says; correct one of the two", arch,
                                      target_.qnn_soc, target_.part.empty() ? "" : " (" + target_.part + ")",
                                      target_.arch, table_.version()));
    }
    target_.arch = arch;
    return Done{};
  }

  Status take_context(const JsonPlace& context) {
    FATCTX_TRY(context.only_keys({"reference_weight_sharing_enabled", "weight_sharing_enabled",
                                  "lora_weight_sharing_enabled", "extended_udma", "file_read_memory_budget_in_mb",
                                  "io_memory_estimation", "init_acceleration", "max_spill_fill_buffer_for_group",
                                  "group_id", "concurrent_resource_sharing", "cache_compatibility_mode"}));
    FATCTX_ASSIGN(const auto members, context.members());
    for (const auto& [key, value] : members) {
      if (key == "reference_weight_sharing_enabled") {
        FATCTX_ASSIGN(target_.share_weights, flag_at(value));
        continue;
      }
      if (key == "lora_weight_sharing_enabled") {
        FATCTX_ASSIGN(target_.lora_sharing, flag_at(value));
      }
      if (key == "extended_udma") {
        FATCTX_ASSIGN(target_.wide_udma, flag_at(value));
      }
      FATCTX_TRY(keep_setting("context." + key, value, target_));
    }
    return Done{};
  }

  // Keeps a section with many keys that have no meaning here.
  Status take_settings(const std::string& section, const JsonPlace& cursor) {
    FATCTX_ASSIGN(const auto members, cursor.members());
    for (const auto& [key, value] : members) {
      FATCTX_TRY(keep_setting(fmt::format("{}.{}", section, key), value, target_));
    }
    return Done{};
  }

  const SocTable& table_;
  HtpTarget target_;
};

// Checks that each pair of SoC and VTCM has one binary: two could not be told apart.
Status check_distinct(const HtpConfig& config, const std::string& where) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> seen;
  for (const HtpTarget& target : config.targets) {
    if (!seen.emplace(target.qnn_soc, target.vtcm_mb).second) {
      return invalid_argument(
          fmt::format("{}: {} appears twice, with the same VTCM; a container has one binary for each SoC, VTCM "
                      "and SDK: leave one out",
                      where, target_name(target)));
    }
  }
  return Done{};
}

Status set_vtcm(HtpConfig& config, const std::vector<std::uint32_t>& megabytes) {
  if (megabytes.empty()) return Done{};
  const std::size_t targets = config.targets.size();
  if (megabytes.size() != 1 && megabytes.size() != targets) {
    return invalid_argument(fmt::format("--vtcm_mb: found {} numbers for {} targets; give one for all, or one for each",
                                        megabytes.size(), targets));
  }
  for (std::size_t i = 0; i < targets; ++i) {
    const std::uint32_t asked = megabytes[megabytes.size() == 1 ? 0 : i];
    if (asked > kMostVtcmMb)
      return invalid_argument(fmt::format("--vtcm_mb: found {}; allowed: 0 to {}", asked, kMostVtcmMb));
    config.targets[i].vtcm_mb = asked;
  }
  return Done{};
}

}  // namespace

std::uint32_t arch_number(const std::string& arch) {
  std::uint32_t number = 0;
  const auto [end, error] =
      std::from_chars(arch.data() + std::min<std::size_t>(1, arch.size()), arch.data() + arch.size(), number);
  const bool whole = error == std::errc() && end == arch.data() + arch.size();
  return arch.starts_with('v') && whole && number <= kMostArch ? number : 0;
}

std::string target_name(const HtpTarget& target) {
  const std::string arch = target.arch.empty() ? "" : ", " + target.arch;
  const std::string vtcm = target.vtcm_mb == 0 ? "" : fmt::format(", {} MB", target.vtcm_mb);
  if (target.part.empty()) return fmt::format("soc {}{}{}", target.qnn_soc, arch, vtcm);
  return fmt::format("{} (soc {}{}{})", target.part, target.qnn_soc, arch, vtcm);
}

std::string target_word(const HtpTarget& target) {
  const std::string soc = target.part.empty() ? fmt::format("soc{}", target.qnn_soc) : target.part;
  return target.vtcm_mb == 0 ? soc : fmt::format("{}.{}mb", soc, target.vtcm_mb);
}

PackKey key_of(const HtpTarget& target) {
  PackKey key;
  key.backend = "htp";
  key.qnn_soc = target.qnn_soc;
  key.part = target.part;
  key.arch = target.arch;
  key.vtcm_mb = target.vtcm_mb;
  return key;
}

Result<HtpConfig> read_htp_config(const std::string& path, const SocTable& table) {
  FATCTX_ASSIGN(const std::string text, read_text_file(path));
  FATCTX_ASSIGN(const Json document, parse_json(text, path));
  const JsonPlace root(path, document);
  FATCTX_TRY(root.only_keys({"backend_extensions", "context_configs", "graph_configs"}));
  FATCTX_ASSIGN(const JsonPlace extensions, root.required("backend_extensions"));
  FATCTX_TRY(extensions.only_keys({"shared_library_path", "per_soc_config_file_path", "config_file_path"}));
  HtpConfig config;
  if (extensions.has("shared_library_path")) {
    FATCTX_TRY(store(extensions.at("shared_library_path").text(), config.extension_library));
  }
  const bool one = extensions.has("config_file_path");
  if (one == extensions.has("per_soc_config_file_path")) {
    return extensions.error(
        one ? "config_file_path is one file and per_soc_config_file_path a list; leave one of them out"
            : "names no file of a SoC; give per_soc_config_file_path, a list of file names");
  }
  std::vector<std::string> files;
  if (one) {
    FATCTX_ASSIGN(std::string file, extensions.at("config_file_path").text());
    files.push_back(std::move(file));
  } else {
    FATCTX_TRY(store(extensions.at("per_soc_config_file_path").texts(), files));
  }
  if (files.empty())
    return extensions.at("per_soc_config_file_path").error("the list is empty; name a file for each SoC");
  for (const std::string& file : files) {
    FATCTX_ASSIGN(HtpTarget target, SocFile(path_beside(path, file), table).read());
    config.targets.push_back(std::move(target));
  }
  FATCTX_TRY(check_distinct(config, path));
  return config;
}

Result<HtpConfig> htp_config_of_list(const std::string& list, const std::vector<std::uint32_t>& vtcm_mb,
                                     const SocTable& table) {
  HtpConfig config;
  for (std::size_t at = 0; at <= list.size();) {
    const auto comma = std::min(list.find(',', at), list.size());
    const std::string word = list.substr(at, comma - at);
    at = comma + 1;
    if (word.find_first_not_of(' ') == std::string::npos) continue;
    auto device = device_from_text(word, table);
    if (!device.ok()) return in_context(std::move(device).error(), "--htp_socs");
    if (device.value().backend != "htp" || !device.value().qnn_soc) {
      return invalid_argument(
          fmt::format("--htp_socs: \"{}\" has no QNN number of an HTP; give a SoC such as SM8650 or 57", word));
    }
    HtpTarget target;
    target.qnn_soc = *device.value().qnn_soc;
    target.part = device.value().part.value_or("");
    target.arch = device.value().arch.value_or("");
    config.targets.push_back(std::move(target));
  }
  if (config.targets.empty()) return invalid_argument("--htp_socs: the list is empty; write for example SM8650,SM8750");
  FATCTX_TRY(set_vtcm(config, vtcm_mb));
  FATCTX_TRY(check_distinct(config, "--htp_socs"));
  return config;
}

Status override_sharing(HtpConfig& config, bool share) {
  for (HtpTarget& target : config.targets) {
    if (share && target.lora_sharing) {
      return invalid_argument(
          fmt::format("{}: has lora_weight_sharing_enabled, which excludes the sharing that "
                      "--reference_weight_sharing_enabled_override asks for",
                      target.file));
    }
    target.share_weights = share;
  }
  return Done{};
}

Status check_graph_names(const HtpConfig& config, const std::vector<std::string>& graphs_of_model) {
  for (const HtpTarget& target : config.targets) {
    for (const std::string& name : target.graph_names) {
      if (std::find(graphs_of_model.begin(), graphs_of_model.end(), name) != graphs_of_model.end()) continue;
      return invalid_argument(fmt::format("{}: /graphs: no graph of the model is named \"{}\"; it has \"{}\"",
                                          target.file, name, fmt::join(graphs_of_model, "\", \"")));
    }
  }
  return Done{};
}

std::vector<std::string> sharing_warnings(const HtpConfig& config, const SocTable& table, SharingForm form) {
  std::vector<const HtpTarget*> sharing;
  for (const HtpTarget& target : config.targets) {
    if (target.share_weights) sharing.push_back(&target);
  }
  std::vector<std::string> warnings;
  if (config.targets.size() > 1 && sharing.size() == 1) {
    warnings.push_back(fmt::format("only {} shares its weights, and nobody with it", target_name(*sharing.front())));
  }
  for (const HtpTarget* const target : sharing) {
    if (target->dlbc) {
      warnings.push_back(
          fmt::format("{} has bandwidth compression (dlbc): it keeps weights of its own", target_name(*target)));
    }
  }
  if (sharing.size() < 2) return warnings;
  const HtpTarget& reference = *sharing.front();
  const auto generation = [&](const HtpTarget& target) {
    const auto& boundaries = table.boundaries();
    return std::upper_bound(boundaries.begin(), boundaries.end(), arch_number(target.arch)) - boundaries.begin();
  };
  std::map<std::ptrdiff_t, std::vector<std::string>> generations;
  for (const HtpTarget* const target : sharing) {
    if (!target->arch.empty()) generations[generation(*target)].push_back(target_name(*target));
  }
  if (generations.size() > 1 && !reference.arch.empty()) {
    std::vector<std::string> lists;
    lists.reserve(generations.size());
    for (const auto& [number, names] : generations) lists.push_back(fmt::format("{}", fmt::join(names, ", ")));
    const auto largest = std::max_element(generations.begin(), generations.end(), [](const auto& a, const auto& b) {
      return a.second.size() < b.second.size();
    });
    std::string line = fmt::format("generations share no weights with each other: {}", fmt::join(lists, " | "));
    if (form == SharingForm::kOnePass) {
      const auto& own = generations[generation(reference)];
      line += fmt::format("; the others refer to the weights of {}, which comes first", target_name(reference));
      line += own.size() < largest->second.size()
                  ? fmt::format(", so that {} share nothing: put {} first", fmt::join(largest->second, ", "),
                                largest->second.front())
                  : ": that is the best order";
    }
    warnings.push_back(std::move(line));
  }
  for (const HtpTarget* const target : sharing) {
    if (target->wide_udma != reference.wide_udma) {
      warnings.push_back(fmt::format("{} and {} differ in extended_udma: they share less", target_name(*target),
                                     target_name(reference)));
    }
    if (target->cores > 1 || (reference.cores > 1 && target != &reference)) {
      warnings.push_back(fmt::format("{}: binaries for several cores share no weights", target_name(*target)));
    }
    if (target->graph_names != reference.graph_names) {
      warnings.push_back(fmt::format("{} has graphs \"{}\", {} has \"{}\": they share less than with the same graphs",
                                     target_name(*target), fmt::join(target->graph_names, "\", \""),
                                     target_name(reference), fmt::join(reference.graph_names, "\", \"")));
    }
  }
  return warnings;
}

}  // namespace fatctx::tools
