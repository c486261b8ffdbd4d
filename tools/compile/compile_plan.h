// The flags of `fatctx compile`, and their meaning once the vendor's words, files and lists are understood.
// All checks that are possible before a compiler runs are done here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/soc_table.h"
#include "tools/compile/command_compile.h"
#include "tools/compile/iree_check.h"
#include "tools/compile/shape_sets.h"
#include "tools/compile/targets_file.h"
#include "tools/facts/htp_config.h"
#include "tools/facts/vendor_line.h"
#include "tools/pack/manifest.h"

namespace fatctx::tools {

struct CompileFlags {
  std::string model;
  std::string output;
  std::string name;
  std::string plan_file;  // --plan
  std::string job;        // --job
  // Flags for targets.
  std::string targets_file;
  std::vector<std::string> target_words;
  std::vector<std::string> shapes;
  std::string config_file;
  std::string htp_socs;
  std::vector<std::uint32_t> vtcm_mb;
  std::string soc_table;
  std::string sharing_override;  // "true", "false"
  std::string sharing;
  std::string common_arch;
  // Flags for compilers.
  VendorLine vendor;
  std::string command;
  std::string format;
  std::string iree_bin;
  std::string qnn_python;
  std::string cache;
  unsigned jobs = 0;
  bool no_cache = false;
  bool allow_cpu = false;
  bool check = false;
  bool no_check = false;
  // Flags for the output.
  bool keep_source = false;
  bool seal = false;
  bool force = false;
  bool json = false;
  [[nodiscard]] bool lists_cpus() const noexcept { return !targets_file.empty() || !target_words.empty(); }
  [[nodiscard]] bool lists_htp() const noexcept { return !config_file.empty() || !htp_socs.empty(); }
};

enum class OutputForm { kContainer, kFolder, kDlc };

// A request, after the vendor's flags were understood.
struct CompilePlan {
  SocTable table = SocTable::built_in();
  // The compilers that run. The user's own command excludes the others.
  bool by_iree = false;
  bool by_qnn = false;
  bool by_command = false;
  OutputForm form = OutputForm::kContainer;
  VendorMeaning meaning;
  std::vector<InputShapes> shapes;
  CheckWish check = CheckWish::kIfPossible;
  TargetsFile iree;
  HtpConfig htp;
  std::optional<CommandTemplate> command;
  std::vector<CommandTarget> commands;  // its targets
  SharingWish sharing;
  std::vector<std::string> warnings;  // about operators that the HTP may not take; filled in after the model is read

  // Returns `htp` with those targets of `commands` that were given in words.
  [[nodiscard]] HtpConfig htp_of_commands() const;
};

// Turns flags into a plan. Prints warnings before a compiler runs.
// Errors: invalid_argument (flags that contradict each other or would have no effect, no target, and those of the files
//         and lists), exists (OUT already exists, and --force is not set), those of meaning_of().
[[nodiscard]] Result<CompilePlan> plan_of(const CompileFlags& flags);

}  // namespace fatctx::tools
