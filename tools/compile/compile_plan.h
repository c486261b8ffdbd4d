// What `fatctx compile` is asked for: its flags, and what they come to once the vendor's words, files and lists are
// understood. Whatever can be refused is refused here, before a compiler runs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/compile/command_compile.h"
#include "tools/compile/targets_file.h"
#include "tools/compile/vendor_line.h"
#include "tools/facts/htp_config.h"
#include "tools/pack/manifest.h"

namespace fatctx::tools {

struct CompileFlags {
  std::string model;
  std::string output;
  std::string name;
  // Targets.
  std::string targets_file;
  std::vector<std::string> target_words;
  std::string config_file;
  std::string htp_socs;
  std::vector<std::uint32_t> vtcm_mb;
  std::string soc_table;
  std::string sharing_override;  // "true", "false"
  std::string sharing;
  std::string common_arch;
  // Compilers.
  VendorLine vendor;
  std::string command;
  std::string format;
  std::string iree_bin;
  std::string qnn_python;
  std::string cache;
  unsigned jobs = 0;
  bool no_cache = false;
  // What is written.
  bool keep_source = false;
  bool seal = false;
  bool force = false;
  bool json = false;
  [[nodiscard]] bool lists_htp() const noexcept { return !config_file.empty() || !htp_socs.empty(); }
};

enum class Compiler { kIree, kQnn, kCommand };
enum class OutputForm { kContainer, kFolder, kDlc };

// What was asked for, after the vendor's flags were understood.
struct CompilePlan {
  Compiler compiler = Compiler::kIree;
  OutputForm form = OutputForm::kContainer;
  VendorMeaning meaning;
  TargetsFile iree;
  HtpConfig htp;
  std::optional<CommandTemplate> command;
  std::vector<CommandTarget> commands;  // its targets
  SharingWish sharing;

  // `htp` with those of `commands` that were given in words.
  [[nodiscard]] HtpConfig htp_of_commands() const;
};

// Prints what is worth knowing before a compiler runs.
// Errors: invalid_argument (flags that contradict each other or would have no effect, no target, and those of the files
//         and lists), exists (OUT is there already, and --force is not given), those of meaning_of().
[[nodiscard]] Result<CompilePlan> plan_of(const CompileFlags& flags);

}  // namespace fatctx::tools
