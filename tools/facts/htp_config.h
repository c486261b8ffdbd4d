// What the vendor's generator is told to compile for: its configuration files, read unchanged, or a list of SoCs.
//
// The main file names one file for each SoC, in order; the first is the one whose weights the others refer to. What the
// vendor's tool passes over in silence (an unknown key, a SoC that there is none of, an arch that is not the SoC's) is
// refused here, before a compiler runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "fatctx/packer.h"
#include "fatctx/soc_table.h"

namespace fatctx::tools {

// What one context binary is compiled for.
struct HtpTarget {
  std::string file;            // its own configuration; empty: from a list
  std::string part;            // "SM8750"; empty if several parts share the number
  std::uint32_t qnn_soc = 0;   // 69
  std::string arch;            // "v79"
  std::uint32_t vtcm_mb = 0;   // that was asked for; 0: what the compiler takes
  bool share_weights = false;  // context.reference_weight_sharing_enabled
  bool dlbc = false;           // bandwidth compression, with which a context shares no weights
  std::uint32_t cores = 1;
  bool wide_udma = false;                // 64-bit DMA: far and near weights
  bool lora_sharing = false;             // never together with share_weights
  std::vector<std::string> graph_names;  // that its settings are for; empty: all
  // Every other setting, by its path without places: "graphs.O", "context.io_memory_estimation"; in order of the keys.
  std::vector<DescribedOption> settings;
};

struct HtpConfig {
  std::string extension_library;   // backend_extensions.shared_library_path: handed on, never loaded
  std::vector<HtpTarget> targets;  // in the order of the files
};

// 79 of "v79"; 0 of what is no Hexagon arch.
[[nodiscard]] std::uint32_t arch_number(const std::string& arch);
// "SM8750 (soc 69, v79)": a target for people.
[[nodiscard]] std::string target_name(const HtpTarget& target);
// "SM8750", "soc30.8mb": the end of a record's name.
[[nodiscard]] std::string target_word(const HtpTarget& target);
// Without a group. The arch and the VTCM are those that were asked for.
[[nodiscard]] PackKey key_of(const HtpTarget& target);

// The main file; those that it names are looked for beside it.
// Errors: invalid_argument with file, JSON pointer, what was found and what is allowed: unknown keys, a SoC that the
//         table does not have, an arch that is not the SoC's, the same SoC and VTCM twice, weights shared in LoRA and
//         by reference at once. not_found, io, not_regular_file.
[[nodiscard]] Result<HtpConfig> read_htp_config(const std::string& path, const SocTable& table);

// "SM8650,69,kernel:618": SoCs in any of their spellings, with commas between them. `vtcm_mb` has one number for all of
// them, one for each, or none. Errors: invalid_argument.
[[nodiscard]] Result<HtpConfig> htp_config_of_list(const std::string& list, const std::vector<std::uint32_t>& vtcm_mb,
                                                   const SocTable& table);

// `--reference_weight_sharing_enabled_override`: for all of them, whatever their files say.
// Errors: invalid_argument (LoRA weights are shared, which excludes it).
[[nodiscard]] Status override_sharing(HtpConfig& config, bool share);

// Graph names that no graph of the model has. Errors: invalid_argument, naming those of the model.
[[nodiscard]] Status check_graph_names(const HtpConfig& config, const std::vector<std::string>& graphs_of_model);

// Whether the targets become one DLC, in one pass of the compiler with the weights of the first as the reference, or
// binaries of a container, which shares what is equal whatever the order.
enum class SharingForm { kOnePass, kContainer };
// What the documents of the vendor warn of, and what runs of its compiler have shown to cost bytes without a word.
[[nodiscard]] std::vector<std::string> sharing_warnings(const HtpConfig& config, const SocTable& table,
                                                        SharingForm form);

}  // namespace fatctx::tools
