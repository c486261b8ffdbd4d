#include "tools/compile/compile_plan.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <system_error>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "fatctx/select.h"
#include "tools/cli/output_place.h"
#include "tools/cli/print.h"
#include "tools/compile/compile_output.h"
#include "tools/compile/qnn_compile.h"
#include "tools/device/asked_device.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

bool means_folder(const std::string& output) {
  std::error_code error;
  return output.ends_with('/') || fs::is_directory(output, error);
}

// Adds the flag that takes this word, if IREE does not know it as a target and it is a SoC.
Error with_right_flag(Error error, const std::string& word, const SocTable& table) {
  const auto device = device_from_text(word, table);
  if (!device.ok() || device.value().backend != "htp") return error;
  return invalid_argument(fmt::format(
      "--target {}: is a target of Snapdragon's compiler, and --target is for CPUs; write --htp_socs {}", word, word));
}

// Refuses words of --htp_socs that are CPUs. Others are looked up later.
Status check_no_cpu(const std::string& list) {
  std::istringstream words(list);
  for (std::string word; std::getline(words, word, ',');) {
    const std::size_t begin = word.find_first_not_of(' ');
    if (begin == std::string::npos || !parse_target_word(word.substr(begin)).ok()) continue;
    return invalid_argument(
        fmt::format("--htp_socs {}: is a CPU, and --htp_socs is for SoCs of Snapdragon; write --target {}",
                    word.substr(begin), word.substr(begin)));
  }
  return Done{};
}

Result<TargetsFile> iree_targets(const CompileFlags& flags, const SocTable& table) {
  TargetsFile wanted;
  if (!flags.targets_file.empty()) FATCTX_TRY(store(read_targets(flags.targets_file), wanted));
  for (const std::string& word : flags.target_words) {
    auto parsed = parse_target_word(word);
    if (!parsed.ok()) return with_right_flag(std::move(parsed).error(), word, table);
    CompileTarget target = std::move(parsed).value();
    for (const CompileTarget& other : wanted.targets) {
      if (target_label(other) == target_label(target)) {
        return invalid_argument(fmt::format("--target {}: this target appears twice", word));
      }
    }
    wanted.targets.push_back(std::move(target));
  }
  if (wanted.targets.empty()) {
    return invalid_argument(
        "no target; give --targets FILE or --target x86-64-v3, or --htp_socs SM8650 for Snapdragon");
  }
  return wanted;
}

// Reads the vendor's files or the list of targets, and applies the flags that override them. A result without
// targets is not an error here.
Result<HtpConfig> htp_targets(const CompileFlags& flags, const SocTable& table) {
  HtpConfig config;
  if (!flags.config_file.empty() && !flags.htp_socs.empty()) {
    return invalid_argument(
        "--config_file and --htp_socs exclude each other: the file lists its SoCs under per_soc_config_file_path; "
        "leave one of them out");
  }
  if (!flags.vtcm_mb.empty() && flags.htp_socs.empty()) {
    return invalid_argument("--vtcm_mb belongs to --htp_socs; in the file of a SoC it is graphs[].vtcm_mb");
  }
  if (!flags.config_file.empty()) FATCTX_TRY(store(read_htp_config(flags.config_file, table), config));
  FATCTX_TRY(check_no_cpu(flags.htp_socs));
  if (!flags.htp_socs.empty()) FATCTX_TRY(store(htp_config_of_list(flags.htp_socs, flags.vtcm_mb, table), config));
  if (!flags.sharing_override.empty()) {
    if (!flags.lists_htp()) {
      return invalid_argument("--reference_weight_sharing_enabled_override belongs to --config_file or --htp_socs");
    }
    FATCTX_TRY(override_sharing(config, flags.sharing_override == "true"));
    print_note(fmt::format("reference_weight_sharing_enabled is {} for {}, whatever the files say",
                           flags.sharing_override, count_text(config.targets.size(), "target")));
  }
  return config;
}

bool same_target(const PackKey& a, const PackKey& b) {
  const auto facts = [](const PackKey& key) {
    return std::tie(key.backend, key.arch, key.features, key.part, key.qnn_soc, key.vtcm_mb, key.generic);
  };
  return facts(a) == facts(b);
}

Result<std::vector<CommandTarget>> command_targets(const CompileFlags& flags, const HtpConfig& htp,
                                                   const SocTable& table) {
  std::vector<CommandTarget> targets;
  for (const HtpTarget& target : htp.targets) targets.push_back(command_target_of(target));
  for (const std::string& word : flags.target_words) {
    FATCTX_ASSIGN(CommandTarget target, command_target_of_word(word, table));
    targets.push_back(std::move(target));
  }
  if (targets.empty()) return invalid_argument("no target; give --target, --htp_socs or --config_file");
  for (std::size_t i = 0; i < targets.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (targets[i].label == targets[j].label || same_target(targets[i].key, targets[j].key)) {
        return invalid_argument(
            fmt::format("target {} appears twice{}", targets[i].label,
                        targets[i].label == targets[j].label ? "" : ", also as " + targets[j].label));
      }
    }
  }
  return targets;
}

// Returns how to share. Vendor files say whether contexts share. A list does not, and then equal bytes are
// stored once as always.
SharingWish sharing_for(const CompileFlags& flags, const HtpConfig& htp) {
  SharingWish wish;
  wish.sharing = sharing_from_name(flags.sharing);
  if (wish.sharing || htp.targets.empty()) return wish;
  if (flags.config_file.empty() && flags.sharing_override.empty()) return wish;
  const bool any =
      std::any_of(htp.targets.begin(), htp.targets.end(), [](const HtpTarget& target) { return target.share_weights; });
  wish.sharing = any ? Sharing::kPages : Sharing::kOff;
  if (!any && htp.targets.size() > 1) {
    print_note(
        "note: no target has reference_weight_sharing_enabled, so that each keeps weights of its own; "
        "--sharing pages shares them all the same");
  }
  return wish;
}

// Refuses the first flag that was passed and would have no effect. Each has a text that says what it is for.
Status check_flags_have_effect(const CompileFlags& flags, const CompilePlan& plan) {
  const bool iree = plan.by_iree;
  const bool qnn = plan.by_qnn;
  const bool command = plan.by_command;
  const bool dlc = plan.form == OutputForm::kDlc;
  const bool container = plan.form == OutputForm::kContainer;
  constexpr const char* kNotInDlc =
      "is for a container: a DLC holds binaries for Snapdragon alone; write -o OUT.fatctx, or leave it out";
  struct Row {
    const char* flag;
    bool given;
    bool has_effect;
    const char* what;
  };
  const Row rows[] = {
      {"--format", !flags.format.empty(), command, "belongs to --command"},
      {"--targets", !flags.targets_file.empty(), iree, command ? "is for IREE's compiler; leave it out" : kNotInDlc},
      {"--target", !flags.target_words.empty(), iree || command, kNotInDlc},
      {"--iree-bin", !flags.iree_bin.empty(), iree, "is for IREE's compiler, which is not used here; leave it out"},
      {"--qnn-python", !flags.qnn_python.empty(), qnn,
       "is for Snapdragon's compiler, which is not used here; leave it out"},
      {"--soc-table", !flags.soc_table.empty(), qnn || command, "is for targets that are SoCs; IREE's have none"},
      {"--common-arch", !flags.common_arch.empty(), qnn || command, "is about models for Snapdragon; leave it out"},
      {"--check", flags.check, iree, "compares what IREE's compiler made, which is not used here; leave it out"},
      {"--no-check", flags.no_check, iree, "is about what IREE's compiler makes, which is not used here; leave it out"},
      {"--allow-cpu", flags.allow_cpu, qnn && !dlc,
       qnn ? "is for a container: a DLC holds the NPU's parts only, and the nodes between them would be lost"
           : "is for Snapdragon's compiler, which is not used here; leave it out"},
      {"--seal", flags.seal, container, "is for a container (-o OUT.fatctx); leave it out"},
      {"--keep-source", flags.keep_source, !dlc, "is for a container: the compiler writes no source model into a DLC"},
      {"--sharing", !flags.sharing.empty(), !dlc, "is for a container: in a DLC the compiler decides about sharing"},
      {"--name", !flags.name.empty(), !dlc, "is for a container: a DLC has no name of its own"},
      {"--reference_weight_sharing_enabled_override false", flags.sharing_override == "false", !dlc,
       "is for a container: in one pass the compiler shares the weights of all SoCs"},
  };
  for (const Row& row : rows) {
    if (row.given && !row.has_effect) return invalid_argument(fmt::format("{} {}", row.flag, row.what));
  }
  if (!flags.sharing.empty() && !flags.sharing_override.empty()) {
    return invalid_argument(
        "--sharing and --reference_weight_sharing_enabled_override both say whether records share; give one");
  }
  if (flags.name.find('/') != std::string::npos) {
    return invalid_argument(
        fmt::format("--name {}: records are named after it, and their names have no \"/\"", flags.name));
  }
  if (flags.check && flags.no_check) return invalid_argument("--check and --no-check contradict each other; give one");
  if (dlc && plan.shapes.size() > 1) {
    return invalid_argument("--shape: a DLC takes one set of shapes; give one, or write a container (-o OUT.fatctx)");
  }
  if (flags.no_cache && !flags.cache.empty())
    return invalid_argument("--cache and --no-cache contradict each other; give one");
  return Done{};
}

Status check_output_place(const CompileFlags& flags, const CompilePlan& plan) {
  const std::string& output = plan.meaning.output;
  std::error_code error;
  FATCTX_TRY(check_is_no_input(output, {{"model", plan.meaning.model}, {"model", flags.vendor.dlc_path}}));
  const auto there = [&](const fs::path& path) {
    return Error{ErrorCode::kExists, fmt::format("{} already exists; pass --force to replace it", path.string())};
  };
  if (plan.form == OutputForm::kFolder) {
    const fs::path folder(output);
    const fs::path name = folder.has_filename() ? folder : folder.parent_path();
    if (fs::exists(name, error) && !fs::is_directory(name, error)) {
      return invalid_argument(fmt::format("{}: is a file, and the parts go into a folder", name.string()));
    }
    if (!flags.force && fs::exists(folder / kManifestFile, error)) return there(folder / kManifestFile);
    return Done{};
  }
  const fs::path parent = fs::path(output).parent_path();
  if (!parent.empty() && !fs::is_directory(parent, error)) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("{}: there is no folder {}; make it first", output, parent.string())};
  }
  if (!flags.force && fs::exists(fs::symlink_status(output, error))) return there(output);
  return Done{};
}

Status plan_for_htp(const SocTable& table, CompilePlan& plan) {
  HtpConfig& config = plan.htp;
  if (config.targets.empty()) return invalid_argument("no target; give --htp_socs SM8650,SM8750 or --config_file FILE");
  const bool one_pass = plan.form == OutputForm::kDlc;
  if (one_pass) {
    if (config.targets.size() < 2) {
      return invalid_argument(
          "-o OUT.dlc: a DLC is for several SoCs; list two or more, or write a container (-o OUT.fatctx)");
    }
    FATCTX_TRY(check_one_pass(config));
  }
  FATCTX_TRY(check_settings(config));
  const SharingForm form = one_pass ? SharingForm::kOnePass : SharingForm::kContainer;
  for (const std::string& line : settings_without_effect(config, form)) print_note("warning: " + escaped(line));
  config = with_effect(std::move(config));
  for (const std::string& line : sharing_warnings(config, table, form)) print_note("warning: " + escaped(line));
  return Done{};
}

}  // namespace

HtpConfig CompilePlan::htp_of_commands() const {
  HtpConfig config = htp;
  for (std::size_t i = htp.targets.size(); i < commands.size(); ++i) {
    const PackKey& key = commands[i].key;
    if (key.backend != "htp") continue;
    HtpTarget target;
    target.part = key.part;
    target.qnn_soc = key.qnn_soc;
    target.arch = key.arch;
    config.targets.push_back(std::move(target));
  }
  return config;
}

Result<CompilePlan> plan_of(const CompileFlags& flags) {
  CompilePlan plan;
  const bool by_command = !flags.command.empty();
  // A plan names the table of its run, so that the environment of a job does not count.
  if (flags.job.empty() || !flags.soc_table.empty()) {
    FATCTX_ASSIGN(plan.table, asked_soc_table(flags.soc_table));
  }
  const SocTable& table = plan.table;
  FATCTX_ASSIGN(plan.htp, htp_targets(flags, table));
  FATCTX_ASSIGN(plan.meaning, meaning_of(flags.vendor, flags.model, flags.output, by_command));
  for (const std::string& note : plan.meaning.notes) print_note("note: " + escaped(note));
  if (plan.meaning.output.ends_with(".dlc")) plan.form = OutputForm::kDlc;
  if (means_folder(plan.meaning.output)) plan.form = OutputForm::kFolder;
  if (by_command) {
    plan.by_command = true;
    if (plan.form == OutputForm::kDlc) {
      return invalid_argument("-o OUT.dlc is compiled in one pass by the QNN provider; leave --command out");
    }
  } else {
    const bool dlc = plan.form == OutputForm::kDlc;
    plan.by_qnn = flags.lists_htp() || flags.vendor.asks_for_htp() || dlc;
    plan.by_iree = !dlc && (flags.lists_cpus() || !plan.by_qnn);
  }
  for (const std::string& text : flags.shapes) {
    FATCTX_ASSIGN(InputShapes shapes, parse_shapes(text));
    plan.shapes.push_back(std::move(shapes));
  }
  if (flags.check) plan.check = CheckWish::kAlways;
  if (flags.no_check) plan.check = CheckWish::kNever;
  FATCTX_TRY(check_flags_have_effect(flags, plan));
  if (!flags.common_arch.empty() && arch_number(flags.common_arch) == 0) {
    return invalid_argument(fmt::format("--common-arch {}: write a Hexagon arch such as v73", flags.common_arch));
  }
  plan.sharing = sharing_for(flags, plan.htp);
  if (plan.by_iree) FATCTX_TRY(store(iree_targets(flags, table), plan.iree));
  if (plan.by_qnn) FATCTX_TRY(plan_for_htp(table, plan));
  if (plan.by_command) {
    FATCTX_TRY(store(CommandTemplate::parse(flags.command), plan.command));
    FATCTX_TRY(store(command_targets(flags, plan.htp, table), plan.commands));
    for (const std::string& line : sharing_warnings(plan.htp, table, SharingForm::kContainer)) {
      print_note("warning: " + escaped(line));
    }
  }
  if (flags.plan_file.empty()) FATCTX_TRY(check_output_place(flags, plan));
  return plan;
}

}  // namespace fatctx::tools
