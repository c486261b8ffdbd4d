// Reads the targets of the vendor's generator: its configuration files, unchanged, or a list of SoCs.
//
// The main file names one file for each SoC, in order; the others refer to the weights of the first. The
// vendor's tool silently ignores an unknown key, a SoC that does not exist, and an arch that is not the
// SoC's. Here they are refused before a compiler runs.
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

// A target that one context binary is compiled for.
struct HtpTarget {
  std::string file;            // its own configuration; empty: from a list
  std::string part;            // "SM8750"; empty if several parts share the number
  std::uint32_t qnn_soc = 0;   // 69
  std::string arch;            // "v79"
  std::uint32_t vtcm_mb = 0;   // as requested; 0: the compiler's choice
  bool share_weights = false;  // context.reference_weight_sharing_enabled
  bool dlbc = false;           // bandwidth compression; a context with it shares no weights
  std::uint32_t cores = 1;
  bool wide_udma = false;                // 64-bit DMA: far and near weights
  bool lora_sharing = false;             // never together with share_weights
  std::vector<std::string> graph_names;  // graphs that its settings apply to; empty: all
  // Every other setting, by its path without indices: "graphs.O", "context.io_memory_estimation"; in order of
  // the keys.
  std::vector<DescribedOption> settings;
};

struct HtpConfig {
  std::string extension_library;   // backend_extensions.shared_library_path: passed on, never loaded
  std::vector<HtpTarget> targets;  // in the order of the files
};

// Returns 79 for "v79"; 0 for text that is not a Hexagon arch.
[[nodiscard]] std::uint32_t arch_number(const std::string& arch);
// Returns a target as people write it: "SM8750 (soc 69, v79)".
[[nodiscard]] std::string target_name(const HtpTarget& target);
// Returns the end of a record's name: "SM8750", "soc30.8mb".
[[nodiscard]] std::string target_word(const HtpTarget& target);
// Returns the key without a group. The arch and the VTCM are the requested ones.
[[nodiscard]] PackKey key_of(const HtpTarget& target);

// Reads the main file, and the files that it names from the same folder.
// Errors: invalid_argument with file, JSON pointer, the found and the allowed values: unknown keys, a SoC that the
//         table does not have, an arch that is not the SoC's, the same SoC and VTCM twice, weights shared in LoRA and
//         by reference at once. not_found, io, not_regular_file.
[[nodiscard]] Result<HtpConfig> read_htp_config(const std::string& path, const SocTable& table);

// Parses "SM8650,69,kernel:618": SoCs in any of their spellings, separated by commas. `vtcm_mb` has one
// number for all of them, one for each, or none. Errors: invalid_argument.
[[nodiscard]] Result<HtpConfig> htp_config_of_list(const std::string& list, const std::vector<std::uint32_t>& vtcm_mb,
                                                   const SocTable& table);

// Applies `--reference_weight_sharing_enabled_override` to all targets, regardless of their files.
// Errors: invalid_argument (LoRA weights are shared, which excludes it).
[[nodiscard]] Status override_sharing(HtpConfig& config, bool share);

// Checks that the model has every graph that the files name. Errors: invalid_argument, naming the model's
// graphs.
[[nodiscard]] Status check_graph_names(const HtpConfig& config, const std::vector<std::string>& graphs_of_model);

// The form of the output. kOnePass: one DLC, in one pass of the compiler with the weights of the first target
// as the reference. kContainer: binaries of a container, which shares equal bytes regardless of the order.
enum class SharingForm { kOnePass, kContainer };
// Returns warnings: those of the vendor's documents, and cases in which runs of its compiler silently cost
// bytes.
[[nodiscard]] std::vector<std::string> sharing_warnings(const HtpConfig& config, const SocTable& table,
                                                        SharingForm form);

}  // namespace fatctx::tools
