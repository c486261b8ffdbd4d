// fatctx compile: a model, a list of targets, one container. The compilers are IREE's, the vendor's for Snapdragon, or
// any program that a command line names.
//
// Every target is compiled by itself and side by side with the others, each result kept in a cache and read back.
// Nothing appears at OUT unless every target succeeded.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "fatctx/container.h"
#include "fatctx/stored_dlc.h"
#include "tools/asked_device.h"
#include "tools/command.h"
#include "tools/command_compile.h"
#include "tools/compile_cache.h"
#include "tools/compile_run.h"
#include "tools/ep_context.h"
#include "tools/htp_config.h"
#include "tools/iree_compile.h"
#include "tools/json_cursor.h"
#include "tools/manifest.h"
#include "tools/model_warnings.h"
#include "tools/onnx_import.h"
#include "tools/pack_run.h"
#include "tools/print.h"
#include "tools/qnn_compile.h"
#include "tools/quant_facts.h"
#include "tools/targets_file.h"
#include "tools/vendor_line.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

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

Error invalid(std::string message) { return Error{ErrorCode::kInvalidArgument, std::move(message)}; }

enum class Compiler { kIree, kQnn, kCommand };

// What was asked for, after the vendor's flags were understood.
struct Plan {
  Compiler compiler = Compiler::kIree;
  VendorMeaning meaning;
  TargetsFile iree;
  HtpConfig htp;
  std::optional<CommandTemplate> command;
  std::vector<CommandTarget> commands;  // its targets
  SharingWish sharing;
  bool as_dlc = false;
};

bool means_folder(const std::string& output) {
  std::error_code error;
  return output.ends_with('/') || fs::is_directory(output, error);
}

Result<TargetsFile> iree_targets(const CompileFlags& flags) {
  TargetsFile wanted;
  if (!flags.targets_file.empty()) FATCTX_TRY(store(read_targets(flags.targets_file), wanted));
  for (const std::string& word : flags.target_words) {
    FATCTX_ASSIGN(CompileTarget target, parse_target_word(word));
    for (const CompileTarget& other : wanted.targets) {
      if (target_label(other) == target_label(target)) {
        return invalid(fmt::format("--target {}: this target is there twice", word));
      }
    }
    wanted.targets.push_back(std::move(target));
  }
  if (wanted.targets.empty()) {
    return invalid("no target; give --targets FILE or --target x86-64-v3, or --htp_socs SM8650 for Snapdragon");
  }
  return wanted;
}

// The vendor's files or its list, with what wins over them. No target is no error here.
Result<HtpConfig> htp_targets(const CompileFlags& flags, const SocTable& table) {
  HtpConfig config;
  if (!flags.config_file.empty() && !flags.htp_socs.empty()) {
    return invalid(
        "--config_file and --htp_socs exclude each other: the file lists its SoCs under per_soc_config_file_path; "
        "leave one of them out");
  }
  if (!flags.vtcm_mb.empty() && flags.htp_socs.empty()) {
    return invalid("--vtcm_mb belongs to --htp_socs; in the file of a SoC it is graphs[].vtcm_mb");
  }
  if (!flags.config_file.empty()) FATCTX_TRY(store(read_htp_config(flags.config_file, table), config));
  if (!flags.htp_socs.empty()) FATCTX_TRY(store(htp_config_of_list(flags.htp_socs, flags.vtcm_mb, table), config));
  if (!flags.sharing_override.empty()) {
    if (!flags.lists_htp()) {
      return invalid("--reference_weight_sharing_enabled_override belongs to --config_file or --htp_socs");
    }
    FATCTX_TRY(override_sharing(config, flags.sharing_override == "true"));
    print_note(fmt::format("reference_weight_sharing_enabled is {} for {}, whatever the files say",
                           flags.sharing_override, count_text(config.targets.size(), "target")));
  }
  return config;
}

Result<std::vector<CommandTarget>> command_targets(const CompileFlags& flags, const HtpConfig& htp,
                                                   const SocTable& table) {
  std::vector<CommandTarget> targets;
  for (const HtpTarget& target : htp.targets) targets.push_back(command_target_of(target));
  for (const std::string& word : flags.target_words) {
    FATCTX_ASSIGN(CommandTarget target, command_target_of_word(word, table));
    targets.push_back(std::move(target));
  }
  if (targets.empty()) return invalid("no target; give --target, --htp_socs or --config_file");
  for (std::size_t i = 0; i < targets.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (targets[i].label == targets[j].label)
        return invalid(fmt::format("target {} is there twice", targets[i].label));
    }
  }
  return targets;
}

// Files say whether contexts share; a list says nothing, and then equal bytes are stored once as ever.
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

Result<Plan> plan_of(const CompileFlags& flags) {
  Plan plan;
  const bool by_command = !flags.command.empty();
  FATCTX_ASSIGN(const SocTable table, asked_soc_table(flags.soc_table));
  FATCTX_ASSIGN(plan.htp, htp_targets(flags, table));
  FATCTX_ASSIGN(plan.meaning, meaning_of(flags.vendor, flags.model, flags.output, by_command));
  for (const std::string& note : plan.meaning.notes) print_note("note: " + escaped(note));
  plan.as_dlc = plan.meaning.output.ends_with(".dlc");
  if (by_command) {
    plan.compiler = Compiler::kCommand;
  } else if (flags.lists_htp() || flags.vendor.asks_for_htp() || plan.as_dlc) {
    plan.compiler = Compiler::kQnn;
  }
  if (!flags.format.empty() && !by_command) return invalid("--format belongs to --command");
  if (!flags.common_arch.empty() && arch_number(flags.common_arch) == 0) {
    return invalid(fmt::format("--common-arch {}: write a Hexagon arch such as v73", flags.common_arch));
  }
  plan.sharing = sharing_for(flags, plan.htp);
  if (plan.compiler == Compiler::kIree) {
    FATCTX_TRY(store(iree_targets(flags), plan.iree));
    return plan;
  }
  if (!flags.targets_file.empty()) return invalid("--targets is for IREE's compiler; leave it out");
  if (plan.compiler == Compiler::kCommand) {
    if (plan.as_dlc) return invalid("-o OUT.dlc is compiled in one pass by the QNN provider; leave --command out");
    FATCTX_TRY(store(CommandTemplate::parse(flags.command), plan.command));
    FATCTX_TRY(store(command_targets(flags, plan.htp, table), plan.commands));
    return plan;
  }
  if (!flags.target_words.empty()) return invalid("--target is not for Snapdragon; list the SoCs with --htp_socs");
  if (plan.htp.targets.empty()) return invalid("no target; give --htp_socs SM8650,SM8750 or --config_file FILE");
  if (plan.as_dlc) {
    if (plan.htp.targets.size() < 2) {
      return invalid("-o OUT.dlc: a DLC is for several SoCs; list two or more, or write a container (-o OUT.fatctx)");
    }
    if (flags.keep_source)
      return invalid("--keep-source is for a container: the compiler writes no source model into a DLC");
    FATCTX_TRY(check_one_pass(plan.htp));
  }
  const SharingForm form = plan.as_dlc ? SharingForm::kOnePass : SharingForm::kContainer;
  for (const std::string& line : settings_without_effect(plan.htp)) print_note("warning: " + escaped(line));
  plan.htp = with_effect(std::move(plan.htp));
  for (const std::string& line : sharing_warnings(plan.htp, table, form)) print_note("warning: " + escaped(line));
  return plan;
}

Result<CompileCache> open_cache(const CompileFlags& flags) {
  if (flags.no_cache) return CompileCache::temporary();
  if (!flags.cache.empty()) return CompileCache::in_folder(flags.cache);
  const auto folder = CompileCache::default_folder();
  if (folder) {
    auto cache = CompileCache::in_folder(*folder);
    if (cache.ok()) return cache;
    print_note(escaped(fmt::format("note: no cache: {}", cache.error().message)));
  }
  return CompileCache::temporary();
}

std::string part_ending(const PackRecord& record) {
  const std::string& form = record.description.format;
  if (form == "irpa") return ".irpa";
  if (form == "iree-vmfb") return ".vmfb";
  // A name that says what it is, as that of a source model does, stays.
  return record.type == RecordType::kSourceModel ? "" : ".bin";
}

// Parts and a manifest in a folder, instead of a container.
Result<std::string> write_parts(const CompileFlags& flags, const std::string& output, const Manifest& manifest,
                                OnnxModels models) {
  FATCTX_ASSIGN(const GatheredRecords gathered, gather_records(manifest, std::move(models)));
  for (const std::string& note : gathered.notes) print_note("note: " + escaped(note));
  const fs::path folder = output;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Error{ErrorCode::kIo, fmt::format("{}: cannot make the folder: {}", output, error.message())};
  std::vector<std::string> files;
  for (const PackRecord& record : gathered.records) {
    files.push_back(record.name + part_ending(record));
  }
  std::vector<std::string> all = files;
  all.emplace_back("manifest.json");
  for (const std::string& file : all) {
    if (!flags.force && fs::exists(folder / file, error)) {
      return Error{ErrorCode::kExists,
                   fmt::format("{}: is there already; --force replaces it", (folder / file).string())};
    }
  }
  std::string text = fmt::format("{}:\n", escaped(output));
  for (std::size_t i = 0; i < files.size(); ++i) {
    fs::copy_file(gathered.records[i].source.path, folder / files[i], fs::copy_options::overwrite_existing, error);
    if (error) {
      return Error{ErrorCode::kIo,
                   fmt::format("{}: cannot be written: {}", (folder / files[i]).string(), error.message())};
    }
    text += fmt::format("  {}\n", escaped(files[i]));
  }
  // Last, so that a folder with a manifest has all its parts.
  std::ofstream out(folder / "manifest.json", std::ios::binary);
  out << manifest_text(manifest.name, gathered.records, files);
  out.close();
  if (!out) return Error{ErrorCode::kIo, fmt::format("{}: cannot be written", (folder / "manifest.json").string())};
  return text + fmt::format("  manifest.json: fatctx pack {} -o {}.fatctx\n",
                            escaped((folder / "manifest.json").string()), escaped(manifest.name));
}

// The model as it was given, for the day when somebody compiles again.
std::vector<ManifestRecord> source_records(const std::string& name, const std::string& path, const OnnxModel* onnx) {
  std::vector<ManifestRecord> records;
  const auto add = [&](const fs::path& file, const std::string& record_name) {
    ManifestRecord source;
    source.where = "--keep-source";
    source.record.type = RecordType::kSourceModel;
    source.record.name = record_name;
    source.record.key.group = name;
    source.record.source.path = file.string();
    source.record.description.format = onnx == nullptr ? "" : "onnx";
    source.record.codec = default_codec(RecordType::kSourceModel);
    records.push_back(std::move(source));
  };
  add(path, name + ".source" + fs::path(path).extension().string());
  if (onnx == nullptr) return records;
  for (const std::string& file : onnx->external_files) {
    std::string flat = file;
    std::replace(flat.begin(), flat.end(), '/', '_');
    add(fs::path(path).parent_path() / file, fmt::format("{}.source.{}", name, flat));
    records.back().record.description.format = "onnx-external-data";
  }
  return records;
}

// What to print; `pack` gets the summary of a container.
Result<std::string> write_results(const CompileFlags& flags, const Plan& plan, Manifest manifest, OnnxModels models,
                                  nlohmann::ordered_json& pack) {
  const std::string& output = plan.meaning.output;
  if (means_folder(output)) return write_parts(flags, output, manifest, std::move(models));
  FATCTX_ASSIGN(const PackSummary summary, pack_manifest({.manifest = std::move(manifest),
                                                          .models = std::move(models),
                                                          .output = output,
                                                          .seal = flags.seal,
                                                          .force = flags.force,
                                                          .sharing = plan.sharing}));
  for (const std::string& note : summary.notes) print_note("note: " + escaped(note));
  pack = summary_json(summary);
  return summary_text(summary);
}

ExitCode give_up(const CompileFlags& flags, const Plan& plan, const std::vector<TargetOutcome>& outcomes,
                 const nlohmann::ordered_json& json) {
  print_note(escaped(fmt::format("fatctx: {} of {} failed; {} was not written", failed_count(outcomes),
                                 count_text(outcomes.size(), "target"), plan.meaning.output)));
  if (flags.json) print_result(json_text(json));
  return ExitCode::kCheckFailed;
}

nlohmann::ordered_json report_of(const std::string& compiler, const std::vector<TargetOutcome>& outcomes) {
  nlohmann::ordered_json json;
  json["schema"] = "fatctx.compile/1";
  json["compiler"] = compiler;
  json["targets"] = outcomes_json(outcomes);
  json["pack"] = nullptr;
  return json;
}

Result<ExitCode> compile_and_pack(const CompileFlags& flags, const Plan& plan, CompileDriver& driver,
                                  const CompileInput& input, OnnxModels models) {
  std::string log;
  const Status begun = driver.begin(log);
  if (!begun.ok()) {
    print_log("the compiler said", log);
    if (begun.error().code != ErrorCode::kSerialiseFailed) return begun.error();
    print_note("fatctx: " + escaped(to_text(begun.error())));
    return ExitCode::kCheckFailed;
  }
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<TargetOutcome> outcomes = compile_targets(driver, flags.jobs == 0 ? cores : flags.jobs);
  for (const TargetOutcome& outcome : outcomes) {
    if (plan.meaning.show_logs || !outcome.result) {
      print_log(driver.name() + " for " + outcome.label + " said", outcome.log);
    }
  }
  nlohmann::ordered_json json = report_of(driver.name(), outcomes);
  if (failed_count(outcomes) != 0) return give_up(flags, plan, outcomes, json);

  Manifest manifest;
  manifest.name = input.name;
  manifest.allow_dynamic = true;  // a compiler has taken them, and the warning was said before it ran
  FATCTX_TRY(store(driver.shared_records(), manifest.records));
  for (TargetOutcome& outcome : outcomes) {
    auto& records = outcome.result->records;
    std::move(records.begin(), records.end(), std::back_inserter(manifest.records));
  }
  if (flags.keep_source) {
    auto records = source_records(input.name, input.path, input.onnx);
    std::move(records.begin(), records.end(), std::back_inserter(manifest.records));
  }
  if (!flags.common_arch.empty())
    manifest.options.push_back({"common_arch", flags.common_arch, std::string(kQuantOwner)});
  FATCTX_ASSIGN(const std::string text,
                write_results(flags, plan, std::move(manifest), std::move(models), json["pack"]));
  print_result(flags.json ? json_text(json) : text);
  return ExitCode::kOk;
}

// The archive goes through a container, which is what writes archives whole or not at all.
Status write_dlc(const CompileFlags& flags, const std::string& name, const std::string& file, const std::string& out) {
  FATCTX_ASSIGN(const WorkFolder work, WorkFolder::create_in(fs::temp_directory_path().string()));
  const std::string container = work.file("one_pass.fatctx");
  Manifest manifest;
  manifest.name = name;
  FATCTX_ASSIGN(ImportedRecords imported, manifest_records_from_dlc(file, {.group = name}));
  manifest.records = std::move(imported.records);
  FATCTX_TRY(pack_manifest({.manifest = std::move(manifest), .models = {}, .output = container}));
  FATCTX_ASSIGN(const Container opened, Container::open(container));
  FATCTX_TRY(export_dlc(opened, {}, out, flags.force));
  return Done{};
}

Result<ExitCode> compile_as_dlc(const CompileFlags& flags, const Plan& plan, QnnCompile& driver,
                                const CompileInput& input) {
  std::string log;
  FATCTX_TRY(driver.begin(log));
  FATCTX_ASSIGN(const QnnCompile::Together together, driver.compile_dlc());
  for (const TargetOutcome& outcome : together.outcomes) {
    print_note(escaped(outcome.result ? fmt::format("  {}  {}", outcome.label, size_text(outcome.result->size_bytes))
                                      : fmt::format("  {}  FAILED  {}", outcome.label, outcome.error->message)));
  }
  const bool failed = failed_count(together.outcomes) != 0;
  if (plan.meaning.show_logs || failed) print_log(driver.name() + " said", together.log);
  const nlohmann::ordered_json json = report_of(driver.name(), together.outcomes);
  if (failed) return give_up(flags, plan, together.outcomes, json);
  for (const std::string& finding : together.findings) print_note("warning: " + escaped(finding));
  FATCTX_TRY(write_dlc(flags, input.name, together.file, plan.meaning.output));
  std::error_code error;
  print_result(flags.json ? json_text(json)
                          : escaped(fmt::format("{}: {}, {}", plan.meaning.output,
                                                size_text(fs::file_size(plan.meaning.output, error)),
                                                count_text(together.outcomes.size(), "target"))) +
                                "\n");
  return ExitCode::kOk;
}

Result<ExitCode> compile_for_htp(const CompileFlags& flags, const Plan& plan, const CompileCache& cache,
                                 const CompileInput& input, OnnxModels models) {
  if (!input.onnx->ep_contexts.empty()) {
    return invalid(
        fmt::format("{}: is compiled already (it has EPContext nodes); fatctx pack --ep-context packs it", input.path));
  }
  FATCTX_TRY(check_graph_names(plan.htp, {input.onnx->graph.name, fs::path(input.path).stem().string()}));
  for (const std::string& line : htp_model_warnings(*input.onnx, plan.htp, flags.common_arch)) {
    print_note("warning: " + escaped(line));
  }
  FATCTX_ASSIGN(QnnTools tools, find_qnn(flags.qnn_python));
  QnnCompile driver(
      std::move(tools), cache, input,
      {.config = plan.htp, .backend_path = plan.meaning.backend_path, .log_severity = plan.meaning.log_severity});
  if (plan.as_dlc) return compile_as_dlc(flags, plan, driver, input);
  return compile_and_pack(flags, plan, driver, input, std::move(models));
}

std::string log_word(int severity) {
  return severity >= 3 ? "error" : severity == 2 ? "warn" : severity == 1 ? "info" : "debug";
}

Result<ExitCode> compile_with(const CompileFlags& flags, const Plan& plan) {
  const std::string& path = plan.meaning.model;
  OnnxModels models;
  // Other compilers may take models of other forms; what is in those nobody here can tell.
  if (plan.compiler != Compiler::kCommand || path.ends_with(".onnx")) {
    FATCTX_ASSIGN(OnnxModel model, read_onnx(path));
    models.emplace(path, std::move(model));
  }
  const CompileInput input{.path = path,
                           .name = flags.name.empty() ? fs::path(path).stem().string() : flags.name,
                           .onnx = models.empty() ? nullptr : &models.begin()->second};
  FATCTX_ASSIGN(const CompileCache cache, open_cache(flags));
  switch (plan.compiler) {
    case Compiler::kQnn:
      return compile_for_htp(flags, plan, cache, input, models);
    case Compiler::kCommand: {
      FATCTX_ASSIGN(CommandCompile driver, CommandCompile::create({.command = *plan.command,
                                                                   .targets = plan.commands,
                                                                   .format = flags.format,
                                                                   .log_level = log_word(plan.meaning.log_severity)},
                                                                  cache, input));
      return compile_and_pack(flags, plan, driver, input, models);
    }
    case Compiler::kIree:
      break;
  }
  FATCTX_ASSIGN(IreeTools tools, find_iree(flags.iree_bin));
  IreeCompile driver(std::move(tools), cache, input, plan.iree);
  return compile_and_pack(flags, plan, driver, input, models);
}

Result<ExitCode> run_compile(const CompileFlags& flags) {
  FATCTX_ASSIGN(const Plan plan, plan_of(flags));
  if (flags.no_cache && !flags.cache.empty()) return invalid("--cache and --no-cache contradict each other; give one");
  const std::string& output = plan.meaning.output;
  std::error_code error;
  // Before minutes of work, not after them.
  if (!flags.force && !means_folder(output) && fs::exists(fs::symlink_status(output, error))) {
    return Error{ErrorCode::kExists, fmt::format("{}: is there already; --force replaces it", output)};
  }
  return compile_with(flags, plan);
}

void add_target_flags(CLI::App& command, CompileFlags& flags) {
  command.add_option("--targets", flags.targets_file, "IREE: what to compile for, as JSON with comments")
      ->type_name("FILE");
  command.add_option("--target", flags.target_words, "IREE or --command: one more target: ARCH[+FEATURE...]")
      ->type_name("TARGET")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command
      .add_option("--config-file", flags.config_file,
                  "Snapdragon: the vendor's main file, which names one for each SoC")
      ->type_name("FILE");
  command.add_option("--htp-socs", flags.htp_socs, "Snapdragon: SoCs in any spelling: SM8650,69")->type_name("LIST");
  command.add_option("--vtcm-mb", flags.vtcm_mb, "With --htp_socs: VTCM in MB, for all or for each")
      ->delimiter(',')
      ->type_name("LIST");
  command.add_option("--soc-table", flags.soc_table, "A table of SoCs; default FATCTX_SOC_TABLE, or the built-in one")
      ->type_name("FILE");
  command
      .add_option("--reference-weight-sharing-enabled-override", flags.sharing_override,
                  "Wins over what the files of the SoCs say: true or false")
      ->check(CLI::IsMember({"true", "false"}))
      ->type_name("BOOL");
  command.add_option("--sharing", flags.sharing, "How records share bytes: pages, bytes or off; else as the files say")
      ->check(CLI::IsMember({"pages", "bytes", "off"}))
      ->type_name("HOW");
  command.add_option("--common-arch", flags.common_arch, "Snapdragon: the arch that the model was quantised for: v73")
      ->type_name("ARCH");
}

void add_compiler_flags(CLI::App& command, CompileFlags& flags) {
  command
      .add_option("--command", flags.command, "Any other compiler: a command line with {model}, {output}, {arch}, ...")
      ->type_name("COMMAND");
  command.add_option("--format", flags.format, "With --command: form of what it writes")->type_name("WORD");
  command.add_option("-j,--jobs", flags.jobs, "Targets compiled at a time; else one for each core")->type_name("N");
  command.add_option("--iree-bin", flags.iree_bin, "Where iree-import-onnx and iree-compile are; else PATH")
      ->type_name("DIR");
  command
      .add_option("--qnn-python", flags.qnn_python,
                  "The Python with onnxruntime-qnn; else FATCTX_QNN_PYTHON or python3")
      ->type_name("PROGRAM");
  command.add_option("--cache", flags.cache, "Where results are kept; else XDG_CACHE_HOME or ~/.cache")
      ->type_name("DIR");
  command.add_flag("--no-cache", flags.no_cache, "Compile anew and keep nothing");
}

// docs/cli.md has a table of what each comes to.
void add_vendor_flags(CLI::App& command, VendorLine& line) {
  command.add_option("--backend", line.backend, "The vendor's generator: libQnnHtp.so")->type_name("LIB");
  command.add_option("--model", line.model, "The vendor's generator: libQnnModelDlc.so, or the ONNX model")
      ->type_name("LIB");
  command.add_option("--dlc-path", line.dlc_path, "The vendor's generator: what a converter wrote")->type_name("DLC");
  command.add_option("--output-dlc", line.output_dlc, "The vendor's generator: the multi-SoC DLC")->type_name("DLC");
  command.add_option("--output-dir", line.output_dir, "The vendor's generator: a folder")->type_name("DIR");
  command.add_option("--log-level", line.log_level, "error, warn, info, debug or verbose")->type_name("WORD");
}

}  // namespace

void add_compile(CLI::App& app, Outcome& outcome) {
  auto flags = std::make_shared<CompileFlags>();
  CLI::App* command =
      describe(app, "compile",
               {.purpose = "Compile a model for several targets and pack the results",
                .synopsis = "fatctx compile MODEL.onnx --target TARGET|--htp_socs LIST|--config_file FILE -o OUT",
                .examples = {"fatctx compile model.onnx --target x86-64-v3 --target aarch64+dotprod -o parts/",
                             "fatctx compile model.qdq.onnx --htp_socs SM8650,SM8750 -o model.fatctx"},
                .more = "docs/cli.md, docs/manifest.md"});
  command->add_option("MODEL", flags->model, "The ONNX model");
  command->add_option("-o,--output", flags->output, "OUT.fatctx, OUT.dlc, or a folder with / at the end for the parts")
      ->type_name("OUT");
  command->add_option("--name", flags->name, "Name of the model; else that of the file")->type_name("NAME");
  add_target_flags(*command, *flags);
  add_compiler_flags(*command, *flags);
  add_vendor_flags(*command, flags->vendor);
  command->add_flag("--keep-source", flags->keep_source, "Keep the model itself in the container");
  command->add_flag("--seal", flags->seal, "Write a sealed file (read-only, cannot be appended to)");
  command->add_flag("--force", flags->force, "Replace OUT if it is there");
  command->add_flag("--json", flags->json, "Print the summary as JSON");
  command->callback([flags, &outcome] { outcome.finish(run_compile(*flags)); });
}

}  // namespace fatctx::tools
