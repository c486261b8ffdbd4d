// fatctx compile: compiles a model for a list of targets into one container. The compilers are IREE's, the
// vendor's for Snapdragon, or any program that a command line names.
//
// Targets are compiled separately and in parallel; each result is cached and read back. Nothing appears at
// OUT unless every target succeeded.
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tools/cli/command.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/print.h"
#include "tools/compile/command_compile.h"
#include "tools/compile/compile_cache.h"
#include "tools/compile/compile_flags.h"
#include "tools/compile/compile_jobs.h"
#include "tools/compile/compile_log.h"
#include "tools/compile/compile_output.h"
#include "tools/compile/compile_plan.h"
#include "tools/compile/compile_run.h"
#include "tools/compile/fixed_models.h"
#include "tools/compile/iree_compile.h"
#include "tools/compile/joined_compile.h"
#include "tools/compile/model_warnings.h"
#include "tools/compile/qnn_compile.h"
#include "tools/facts/json_file.h"
#include "tools/facts/quant_facts.h"
#include "tools/jobs/job_mark.h"
#include "tools/onnx/onnx_import.h"
#include "tools/pack/ep_context.h"
#include "tools/pack/gather.h"
#include "tools/pack/manifest.h"
#include "tools/pack/pack_run.h"
#include "tools/pack/record_flags.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

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

// Writes the output and returns the text to print; `pack` gets the summary of a container.
Result<std::string> write_results(const CompileFlags& flags, const CompilePlan& plan, Manifest manifest,
                                  OnnxModels models, Json& pack) {
  const std::string& output = plan.meaning.output;
  if (plan.form == OutputForm::kFolder) return write_parts(output, manifest, std::move(models), flags.force);
  FATCTX_ASSIGN(const PackSummary summary, pack_manifest({.manifest = std::move(manifest),
                                                          .models = std::move(models),
                                                          .output = output,
                                                          .seal = flags.seal,
                                                          .force = flags.force}));
  for (const std::string& note : summary.notes) print_note("note: " + escaped(note));
  pack = summary_json(summary);
  return summary_text(summary);
}

// Writes what the compilers said about failures, and adds the path of the file to the report. Returns a text that names
// it; empty if there is none.
std::string keep_log(const FailureLog& log, Json& json) {
  const std::string path = log.write();
  json.add("log", path);
  return path.empty() ? path : fmt::format("; what the compiler said is in {}", path);
}

ExitCode give_up(const CompileFlags& flags, const CompilePlan& plan, const std::vector<TargetOutcome>& outcomes,
                 Json json) {
  FailureLog log(plan.meaning.output);
  for (const TargetOutcome& outcome : outcomes) {
    if (!outcome.result) log.add(outcome.title(), outcome.log);
  }
  print_note(escaped(fmt::format("fatctx: {} of {} failed; {} was not written{}", failed_count(outcomes),
                                 count_text(outcomes.size(), "target"), plan.meaning.output, keep_log(log, json))));
  if (flags.json) print_result(json_text(json));
  return ExitCode::kCheckFailed;
}

// `pack`: the summary of the written container; null if there is none.
Json report_of(const CompilePlan& plan, const std::string& compiler, const std::vector<TargetOutcome>& outcomes,
               Json pack = {}) {
  return {{"schema", "fatctx.compile/1"},
          {"compiler", compiler},
          {"warnings", plan.warnings},
          {"targets", outcomes_json(outcomes)},
          {"pack", std::move(pack)}};
}

Error interrupted(const CompileFlags& flags, const CompilePlan& plan) {
  return Error{ErrorCode::kCancelled,
               fmt::format("interrupted; {} was not written, and the compiled binaries {}", plan.meaning.output,
                           flags.no_cache ? "are gone, as --no-cache keeps nothing" : "stay in the cache")};
}

// Compiles all targets. Errors: cancelled, if Ctrl-C was pressed.
Result<std::vector<TargetOutcome>> compile_each(const CompileFlags& flags, const CompilePlan& plan,
                                                const CompileDriver& driver, const Interrupt& interrupt) {
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  std::vector<TargetOutcome> outcomes =
      compile_targets(driver, flags.jobs == 0 ? cores : flags.jobs, *interrupt.flag());
  if (interrupt.flag()->load()) return interrupted(flags, plan);
  for (const TargetOutcome& outcome : outcomes) {
    if (plan.meaning.show_logs || (!outcome.result && !outcome.explains_its_log)) {
      print_log(driver.name() + " for " + outcome.title() + " said", outcome.log);
    }
  }
  return outcomes;
}

// Adds a compiled record. A wrapper model that is equal for several targets is added once.
Status add_compiled(ManifestRecord record, Manifest& manifest) {
  if (record.record.type == RecordType::kWrapperModel) {
    FATCTX_ASSIGN(const bool joined, joined_with(manifest.records, record));
    if (joined) return Done{};
  }
  manifest.records.push_back(std::move(record));
  return Done{};
}

// Names a wrapper model after the model itself if all targets have the same one.
void name_the_only_model(Manifest& manifest) {
  ManifestRecord* only = nullptr;
  for (ManifestRecord& record : manifest.records) {
    if (record.record.type != RecordType::kWrapperModel) continue;
    if (only != nullptr) return;
    only = &record;
  }
  if (only == nullptr) return;
  only->record.name = manifest.name + ".onnx";
  only->record.key.variant = only->record.name;
}

// Reports that the work which all targets share has failed.
ExitCode give_up_before_targets(const CompileFlags& flags, const CompilePlan& plan, const Error& error,
                                const std::string& said, Json json) {
  FailureLog log(plan.meaning.output);
  log.add(plan.meaning.model, said);
  json.add("error", error.message);
  print_note("fatctx: " + escaped(fmt::format("{}; {} was not written{}", to_text(error), plan.meaning.output,
                                              keep_log(log, json))));
  if (flags.json) print_result(json_text(json));
  return ExitCode::kCheckFailed;
}

// Marks a part with its job, so that `fatctx merge` can join it with the others.
void mark_part(const CompileFlags& flags, const CompilePlan& plan, const AskedJob& job, Manifest& manifest) {
  const std::vector<DescribedOption> options = mark_options({.plan_sha256 = job.plan.sha256,
                                                             .number = job.number,
                                                             .count = job.plan.jobs.size(),
                                                             .sharing = plan.sharing.sharing,
                                                             .seal = flags.seal});
  manifest.options.insert(manifest.options.end(), options.begin(), options.end());
}

// `job`: null if the whole run is asked for.
Result<ExitCode> compile_and_pack(CompileFlags flags, const CompilePlan& plan, CompileDriver& driver,
                                  const CompileInput& input, OnnxModels models, const AskedJob* job) {
  std::string log;
  std::vector<TargetOutcome> outcomes;
  auto interrupt = std::make_unique<Interrupt>();
  const Status begun = driver.begin(log);
  if (!begun.ok() && interrupt->flag()->load()) return interrupted(flags, plan);
  if (!begun.ok()) {
    if (plan.meaning.show_logs) print_log("the compiler said", log);
    if (begun.error().code != ErrorCode::kSerialiseFailed) return begun.error();
    return give_up_before_targets(flags, plan, begun.error(), log, report_of(plan, driver.name(), {}));
  }
  FATCTX_TRY(store(compile_each(flags, plan, driver, *interrupt), outcomes));
  interrupt.reset();  // packing has its own
  if (failed_count(outcomes) != 0) return give_up(flags, plan, outcomes, report_of(plan, driver.name(), outcomes));

  Manifest manifest;
  manifest.name = input.name;
  manifest.sharing = plan.sharing;
  manifest.allow_dynamic = true;  // a compiler accepted them, and the warning was printed before it ran
  manifest.quant_told = true;
  FATCTX_TRY(store(driver.shared_records(), manifest.records));
  for (TargetOutcome& outcome : outcomes) {
    for (ManifestRecord& record : outcome.result->records) FATCTX_TRY(add_compiled(std::move(record), manifest));
  }
  const bool is_part = job != nullptr && job->plan.jobs.size() > 1;
  if (!is_part) name_the_only_model(manifest);
  FATCTX_TRY(complete_targets({plan.table, true}, manifest));
  if (flags.keep_source) {
    auto records = source_records(input);
    std::move(records.begin(), records.end(), std::back_inserter(manifest.records));
  }
  if (!flags.common_arch.empty())
    manifest.options.push_back({"common_arch", flags.common_arch, std::string(kQuantOwner)});
  if (is_part) {
    mark_part(flags, plan, *job, manifest);
    flags.seal = false;
  }
  Json pack;
  FATCTX_ASSIGN(const std::string text, write_results(flags, plan, std::move(manifest), std::move(models), pack));
  print_result(flags.json ? json_text(report_of(plan, driver.name(), outcomes, std::move(pack))) : text);
  return ExitCode::kOk;
}

// Compiles each target alone after the common pass failed, because its errors seldom name a SoC. This tells
// which targets fail; the results that succeed stay in the cache.
Result<ExitCode> tell_which_fail(const CompileFlags& flags, const CompilePlan& plan, const QnnCompile& driver,
                                 const QnnCompile::Together& together, const Interrupt& interrupt) {
  print_note("the pass for all targets failed: " + escaped(together.error->message));
  print_log(driver.name() + " said", together.log);
  print_note("each target by itself, to tell which fail:");
  FATCTX_ASSIGN(const std::vector<TargetOutcome> outcomes, compile_each(flags, plan, driver, interrupt));
  Json json = report_of(plan, driver.name(), outcomes);
  json.add("error", together.error->message);
  if (failed_count(outcomes) != 0) return give_up(flags, plan, outcomes, json);
  print_note(escaped(
      fmt::format("fatctx: each of {} compiles by itself, and all in one pass do not; {} was not written; write "
                  "a container (-o OUT.fatctx), which compiles each by itself",
                  count_text(outcomes.size(), "target"), plan.meaning.output)));
  if (flags.json) print_result(json_text(json));
  return ExitCode::kCheckFailed;
}

Result<ExitCode> compile_as_dlc(const CompileFlags& flags, const CompilePlan& plan, const CompileCache& cache,
                                QnnCompile& driver) {
  std::string log;
  auto interrupt = std::make_unique<Interrupt>();
  FATCTX_TRY(driver.begin(log));
  FATCTX_ASSIGN(const QnnCompile::Together together, driver.compile_dlc());
  if (interrupt->flag()->load()) return interrupted(flags, plan);
  if (together.error) return tell_which_fail(flags, plan, driver, together, *interrupt);
  for (const TargetOutcome& outcome : together.outcomes) {
    print_note(escaped(outcome.result ? fmt::format("  {}  {}", outcome.label, size_text(outcome.result->size_bytes))
                                      : fmt::format("  {}  FAILED  {}", outcome.label, outcome.error->message)));
  }
  const bool failed = failed_count(together.outcomes) != 0;
  if (plan.meaning.show_logs || failed) print_log(driver.name() + " said", together.log);
  const Json json = report_of(plan, driver.name(), together.outcomes);
  if (failed) return give_up(flags, plan, together.outcomes, json);
  for (const std::string& finding : together.findings) print_note("warning: " + escaped(finding));
  interrupt.reset();
  FATCTX_TRY(write_dlc(cache, together.file, plan.meaning.output, flags.force));
  std::error_code error;
  print_result(flags.json ? json_text(json)
                          : escaped(fmt::format("{}: {}, {}", plan.meaning.output,
                                                size_text(fs::file_size(plan.meaning.output, error)),
                                                count_text(together.outcomes.size(), "target"))) +
                                "\n");
  return ExitCode::kOk;
}

// Prints and returns known problems of the model on the HTP. Errors: invalid_argument (settings for graphs that the
// model does not have).
Result<std::vector<std::string>> warn_of_htp(const OnnxModel& model, const std::string& path, const HtpConfig& config,
                                             const std::string& common_arch) {
  if (config.targets.empty()) return std::vector<std::string>{};
  FATCTX_TRY(check_graph_names(config, {model.graph.name, fs::path(path).stem().string()}));
  std::vector<std::string> warnings = htp_model_warnings(model, config, common_arch);
  for (const std::string& line : warnings) print_note("warning: " + escaped(line));
  return warnings;
}

std::unique_ptr<QnnCompile> qnn_driver(const CompileFlags& flags, const CompilePlan& plan, const QnnTools& tools,
                                       const CompileCache& cache, const CompileInput& input) {
  return std::make_unique<QnnCompile>(tools, cache, input,
                                      QnnRequest{.config = plan.htp,
                                                 .backend_path = plan.meaning.backend_path,
                                                 .log_severity = plan.meaning.log_severity,
                                                 .allow_cpu = flags.allow_cpu});
}

Result<std::unique_ptr<CompileDriver>> iree_driver(const CompileFlags& flags, const CompilePlan& plan,
                                                   const CompileCache& cache, const std::vector<CompileInput>& inputs) {
  FATCTX_ASSIGN(IreeTools tools, find_iree(flags.iree_bin));
  FATCTX_ASSIGN(IreeCheck check, IreeCheck::create(plan.check, tools, inputs.front(), cache));
  return std::unique_ptr<CompileDriver>(
      std::make_unique<IreeCompile>(std::move(tools), cache, inputs, plan.iree, std::move(check)));
}

// Returns a driver for each compiler and each input, those of CPUs first.
Result<Drivers> drivers_for(const CompileFlags& flags, const CompilePlan& plan, const CompileCache& cache,
                            const std::vector<CompileInput>& inputs) {
  Drivers drivers;
  if (plan.by_iree) {
    FATCTX_ASSIGN(auto driver, iree_driver(flags, plan, cache, inputs));
    drivers.push_back(std::move(driver));
  }
  if (plan.by_qnn) {
    FATCTX_ASSIGN(const QnnTools tools, find_qnn(flags.qnn_python));
    for (const CompileInput& input : inputs) drivers.push_back(qnn_driver(flags, plan, tools, cache, input));
  }
  for (const CompileInput& input : inputs) {
    if (!plan.by_command) break;
    FATCTX_ASSIGN(
        CommandCompile driver,
        CommandCompile::create({.command = *plan.command,
                                .targets = plan.commands,
                                .format = flags.format,
                                .log_level = flags.vendor.log_level.empty() ? "warn" : flags.vendor.log_level},
                               cache, input));
    drivers.push_back(std::make_unique<CommandCompile>(std::move(driver)));
  }
  return drivers;
}

// Checks that the model is a file or a folder. The ONNX reader reports problems inside it; other compilers
// may take files and folders of any form.
Status check_model(const CompileFlags& flags, const std::string& path) {
  std::error_code error;
  if (!fs::exists(path, error)) return Error{ErrorCode::kNotFound, fmt::format("{}: not there", path)};
  // A compiler would read a device, or a pipe, forever.
  if (!fs::is_regular_file(path, error) && !fs::is_directory(path, error)) {
    return Error{ErrorCode::kNotRegularFile, fmt::format("{}: neither a file nor a folder", path)};
  }
  if (flags.keep_source && fs::is_directory(path, error)) {
    return invalid_argument(fmt::format("--keep-source: {} is a folder, and a record is a file; leave it out", path));
  }
  return Done{};
}

// A guard that prints, when the work ends in any way, which entries of the cache were not used.
class SaysNotes {
 public:
  explicit SaysNotes(const CompileCache& cache) : cache_(cache) {}
  ~SaysNotes() {
    for (const std::string& line : cache_.notes()) print_note("note: " + escaped(line));
  }
  SaysNotes(const SaysNotes&) = delete;
  SaysNotes& operator=(const SaysNotes&) = delete;

 private:
  const CompileCache& cache_;
};

// Refuses what the chosen compilers cannot do with this model.
Status check_suits_compilers(const CompilePlan& plan, const CompileInput& input) {
  if (plan.by_qnn && !input.onnx->ep_contexts.empty()) {
    return invalid_argument(
        fmt::format("{}: is compiled already (it has EPContext nodes); fatctx pack --ep-context packs it", input.path));
  }
  if (plan.shapes.empty()) return Done{};
  if (input.onnx == nullptr) {
    return invalid_argument(
        fmt::format("--shape: {} is not an ONNX model, and sizes of other models cannot be fixed", input.path));
  }
  if (plan.by_command && !input.onnx->external_files.empty()) {
    return invalid_argument(
        fmt::format("--shape: {} has its weights in other files, which --command would not find beside the model with "
                    "fixed sizes; fix the sizes in the model itself",
                    input.path));
  }
  return Done{};
}

// `job`: null if the whole run is asked for.
Result<ExitCode> compile_with(const CompileFlags& flags, CompilePlan plan, const AskedJob* job) {
  const std::string& path = plan.meaning.model;
  FATCTX_TRY(check_model(flags, path));
  OnnxModels models;
  // Other compilers may take models of other forms, which cannot be inspected here.
  if (!plan.by_command || path.ends_with(".onnx")) {
    FATCTX_ASSIGN(OnnxModel model, read_onnx(path));
    models.emplace(path, std::move(model));
  }
  const CompileInput input{.path = path,
                           .name = flags.name.empty() ? fs::path(path).stem().string() : flags.name,
                           .onnx = models.empty() ? nullptr : &models.begin()->second};
  FATCTX_TRY(check_suits_compilers(plan, input));
  if (flags.plan_file.empty())
    FailureLog(plan.meaning.output).remove();  // so that nobody reads an earlier run's log as this one's
  FATCTX_ASSIGN(const CompileCache cache, open_cache(flags));
  const SaysNotes at_the_end(cache);
  FATCTX_ASSIGN(const std::vector<CompileInput> inputs, inputs_of(input, plan.shapes, cache, models));
  if (input.onnx != nullptr) {
    // All sets fix the same inputs, so that the same is to be said of each.
    const HtpConfig htp = plan.by_command ? plan.htp_of_commands() : plan.htp;
    FATCTX_ASSIGN(plan.warnings, warn_of_htp(*inputs.front().onnx, path, htp, flags.common_arch));
  }
  if (plan.form == OutputForm::kDlc) {
    FATCTX_ASSIGN(const QnnTools tools, find_qnn(flags.qnn_python));
    return compile_as_dlc(flags, plan, cache, *qnn_driver(flags, plan, tools, cache, inputs.front()));
  }
  const std::size_t target = job == nullptr ? 0 : only_compiler_of(job->number, inputs.size(), plan);
  FATCTX_ASSIGN(Drivers drivers, drivers_for(flags, plan, cache, inputs));
  if (!flags.plan_file.empty()) {
    FATCTX_TRY(write_job_plan(flags, plan, input, drivers));
    return ExitCode::kOk;
  }
  if (job != nullptr) {
    FATCTX_ASSIGN(auto one, only_target(std::move(drivers), target, job->plan.jobs[job->number], flags.job));
    drivers.clear();
    drivers.push_back(std::move(one));
  }
  JoinedCompile driver(std::move(drivers));
  return compile_and_pack(flags, plan, driver, input, std::move(models), job);
}

Result<ExitCode> run_job(const CompileFlags& flags) {
  FATCTX_ASSIGN(const AskedJob job, asked_job(flags));
  FATCTX_ASSIGN(const CompileFlags run, flags_of_job(flags, job));
  FATCTX_ASSIGN(CompilePlan plan, plan_of(run));
  if (plan.form != OutputForm::kContainer) {
    return invalid_argument(fmt::format("-o {}: a job writes a container; merge joins it with the others", run.output));
  }
  return compile_with(run, std::move(plan), &job);
}

Result<ExitCode> run_compile(const CompileFlags& flags) {
  if (!flags.plan_file.empty() && !flags.job.empty()) {
    return invalid_argument("--plan writes jobs and --job does one; give one of them");
  }
  if (!flags.job.empty()) return run_job(flags);
  if (flags.plan_file.empty()) {
    FATCTX_ASSIGN(CompilePlan plan, plan_of(flags));
    return compile_with(flags, std::move(plan), nullptr);
  }
  FATCTX_ASSIGN(const CompileFlags run, flags_of_plan(flags));
  FATCTX_ASSIGN(CompilePlan plan, plan_of(run));
  return compile_with(run, std::move(plan), nullptr);
}

}  // namespace

void add_compile(CLI::App& app, Outcome& outcome) {
  auto flags = std::make_shared<CompileFlags>();
  CLI::App* command = describe(
      app, "compile",
      {.purpose = "Compile a model for several targets and pack the results",
       .synopsis = "fatctx compile MODEL.onnx --target TARGET|--htp_socs LIST|--config_file FILE -o OUT",
       .examples = {"fatctx compile model.onnx --target x86-64-v3 --htp_socs SM8650 --shape x=1,3,320,320 -o out/"},
       .more = "docs/cli/compile.md, docs/manifest.md"});
  add_compile_flags(*command, *flags);
  command->callback([flags, &outcome] { outcome.finish(run_compile(*flags)); });
}

}  // namespace fatctx::tools
