// fatctx compile: an ONNX model, a list of targets, one container. The compilers are IREE's.
//
// The model is imported once, so that every target's code refers to the same weights; the targets are compiled side
// by side, each result kept in a cache. Nothing appears at OUT unless every target succeeded.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "tools/command.h"
#include "tools/compile_cache.h"
#include "tools/iree_driver.h"
#include "tools/json_cursor.h"
#include "tools/manifest.h"
#include "tools/onnx_import.h"
#include "tools/pack_run.h"
#include "tools/print.h"
#include "tools/progress.h"
#include "tools/targets_file.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

struct CompileFlags {
  std::string model;
  std::string targets_file;
  std::vector<std::string> target_words;
  std::string output;
  std::string name;
  std::string iree_bin;
  std::string cache;
  unsigned jobs = 0;
  bool no_cache = false;
  bool seal = false;
  bool force = false;
  bool json = false;
};

constexpr std::size_t kShownLogLines = 20;  // of a tool that failed

Error invalid(std::string message) { return Error{ErrorCode::kInvalidArgument, std::move(message)}; }

struct TargetOutcome {
  std::string label;
  std::optional<StepResult> result;  // empty: failed
  std::optional<Error> error;
  std::string log;
  std::uint64_t size_bytes = 0;
};

Result<TargetsFile> wanted_targets(const CompileFlags& flags) {
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
  if (wanted.targets.empty()) return invalid("no target; give --targets FILE or --target x86-64-v3");
  return wanted;
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

bool means_folder(const std::string& output) {
  std::error_code error;
  return output.ends_with('/') || fs::is_directory(output, error);
}

// The beginning of what a tool said: errors come first, traces after them.
std::string first_lines(const std::string& log, std::size_t count) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < count && end < log.size(); ++i) end = std::min(log.find('\n', end), log.size() - 1) + 1;
  std::string lines = log.substr(0, end);
  while (!lines.empty() && lines.back() == '\n') lines.pop_back();
  if (end < log.size()) lines += "\n[...]";
  return lines;
}

// Compiles the targets side by side and tells about each as it ends.
class TargetRun {
 public:
  TargetRun(const IreeDriver& driver, const StepResult& imported, const std::vector<CompileTarget>& targets)
      : driver_(driver), imported_(imported), targets_(targets), outcomes_(targets.size()) {
    for (std::size_t i = 0; i < targets.size(); ++i) {
      outcomes_[i].label = target_label(targets[i]);
      label_width_ = std::max(label_width_, outcomes_[i].label.size());
    }
  }

  std::vector<TargetOutcome> run(unsigned jobs) {
    show_progress();
    std::vector<std::thread> workers;
    const std::size_t count = std::min<std::size_t>(jobs, targets_.size());
    for (std::size_t i = 1; i < count; ++i) workers.emplace_back([this] { work(); });
    work();
    for (std::thread& worker : workers) worker.join();
    line_.reset();
    return std::move(outcomes_);
  }

 private:
  void work() {
    for (std::size_t i = next_++; i < targets_.size(); i = next_++) {
      TargetOutcome& outcome = outcomes_[i];
      auto result = driver_.compile(imported_, targets_[i], outcome.log);
      if (result.ok()) {
        std::error_code error;
        outcome.size_bytes = fs::file_size(fs::path(result.value().folder) / kModuleFile, error);
        outcome.result = std::move(result).value();
      } else {
        outcome.error = std::move(result).error();
      }
      const std::lock_guard lock(mutex_);
      ++done_;
      line_.reset();  // wipes the line, so that the note starts on a clean one
      tell(outcome);
      show_progress();
    }
  }

  void tell(const TargetOutcome& outcome) const {
    if (!outcome.result) {
      print_note(escaped(fmt::format("  {:<{}}  FAILED  {}", outcome.label, label_width_, outcome.error->message)));
      return;
    }
    const std::string took = outcome.result->cached ? "cached" : fmt::format("{:.1f} s", outcome.result->seconds);
    print_note(
        escaped(fmt::format("  {:<{}}  {:>6}  {}", outcome.label, label_width_, took, size_text(outcome.size_bytes))));
  }

  void show_progress() {
    if (done_ == targets_.size()) return;
    line_.emplace("compile", stderr_is_terminal(), std::chrono::milliseconds(0));
    line_->step(done_, targets_.size(), "targets done");
  }

  const IreeDriver& driver_;
  const StepResult& imported_;
  const std::vector<CompileTarget>& targets_;
  std::vector<TargetOutcome> outcomes_;
  std::size_t label_width_ = 0;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;  // guards the two below and the terminal
  std::size_t done_ = 0;
  std::optional<ProgressLine> line_;
};

// What pack is to do with the results.
Manifest manifest_of(const CompileFlags& flags, const IreeTools& tools, const StepResult& imported,
                     const std::vector<CompileTarget>& targets, const std::vector<TargetOutcome>& outcomes) {
  Manifest manifest;
  manifest.name = flags.name;
  std::error_code error;
  const fs::path parameters = fs::path(imported.folder) / kParameterFile;
  const std::string weights_name = flags.name + ".weights";
  const bool has_weights = fs::exists(parameters, error);
  if (has_weights) {
    ManifestRecord weights;
    weights.where = "the weights";
    weights.record.type = RecordType::kWeightBlob;
    weights.record.name = weights_name;
    weights.record.key.group = flags.name;
    weights.record.source.path = parameters.string();
    weights.record.description.format = "irpa";
    weights.record.description.producer = "iree-import-onnx " + tools.version;
    weights.record.description.options = {
        {.key = "iree.parameter_scope", .value = std::string(kParameterScope), .owner = "iree"}};
    weights.tensors =
        ManifestTensors{.source = TensorSource::kIrpa, .shapes_from = flags.model, .models = {}, .ranges = {}};
    manifest.records.push_back(std::move(weights));
  }
  for (std::size_t i = 0; i < targets.size(); ++i) {
    ManifestRecord binary;
    binary.where = "target " + outcomes[i].label;
    binary.record.type = RecordType::kContextBinary;
    binary.record.name = flags.name + "." + outcomes[i].label;
    binary.record.key = targets[i].key;
    binary.record.key.group = flags.name;
    binary.record.source.path = (fs::path(outcomes[i].result->folder) / kModuleFile).string();
    binary.record.description.format = "iree-vmfb";
    binary.record.description.producer = "iree-compile " + tools.version;
    if (has_weights) binary.record.weights = {weights_name};
    binary.graphs_from = flags.model;
    manifest.records.push_back(std::move(binary));
  }
  return manifest;
}

// Parts and a manifest in a folder, instead of a container.
Result<std::string> write_parts(const CompileFlags& flags, const Manifest& manifest, OnnxModels models) {
  FATCTX_ASSIGN(const GatheredRecords gathered, gather_records(manifest, std::move(models)));
  for (const std::string& note : gathered.notes) print_note("note: " + escaped(note));
  const fs::path folder = flags.output;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return Error{ErrorCode::kIo, fmt::format("{}: cannot make the folder: {}", flags.output, error.message())};
  std::vector<std::string> files;
  for (const PackRecord& record : gathered.records) {
    files.push_back(record.name + (record.type == RecordType::kWeightBlob ? ".irpa" : ".vmfb"));
  }
  std::vector<std::string> all = files;
  all.emplace_back("manifest.json");
  for (const std::string& file : all) {
    if (!flags.force && fs::exists(folder / file, error)) {
      return Error{ErrorCode::kExists,
                   fmt::format("{}: is there already; --force replaces it", (folder / file).string())};
    }
  }
  std::string text = fmt::format("{}:\n", escaped(flags.output));
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

nlohmann::ordered_json outcomes_json(const std::vector<TargetOutcome>& outcomes) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const TargetOutcome& outcome : outcomes) {
    nlohmann::ordered_json row;
    row["target"] = outcome.label;
    row["ok"] = outcome.result.has_value();
    row["cached"] = outcome.result && outcome.result->cached;
    row["seconds"] = outcome.result ? outcome.result->seconds : 0.0;
    row["size_bytes"] = outcome.size_bytes;
    row["error"] = outcome.error ? outcome.error->message : "";
    list.push_back(std::move(row));
  }
  return list;
}

void print_log(std::string_view title, const std::string& log) {
  const std::string lines = first_lines(log, kShownLogLines);
  if (!lines.empty()) print_note(fmt::format("{}:\n{}", escaped(title), escaped_lines(lines)));
}

Result<ExitCode> compile_and_pack(const CompileFlags& flags, const TargetsFile& wanted) {
  FATCTX_ASSIGN(OnnxModel model, read_onnx(flags.model));
  FATCTX_ASSIGN(const IreeTools tools, find_iree(flags.iree_bin));
  FATCTX_ASSIGN(const CompileCache cache, open_cache(flags));
  const IreeDriver driver(tools, cache);

  std::string log;
  std::optional<ProgressLine> line;
  line.emplace("import", stderr_is_terminal(), std::chrono::milliseconds(0));
  line->step(0, 1, flags.model);
  auto imported = driver.import_model(flags.model, model, wanted.import_options, log);
  line.reset();
  if (!imported.ok()) {
    print_log("iree-import-onnx said", log);
    if (imported.error().code != ErrorCode::kSerialiseFailed) return std::move(imported).error();
    print_note("fatctx: " + escaped(to_text(imported.error())));
    return ExitCode::kCheckFailed;
  }
  const std::string took = imported.value().cached ? "cached" : fmt::format("{:.1f} s", imported.value().seconds);
  print_note(escaped(fmt::format("imported {} with IREE {}: {}", flags.model, tools.version, took)));

  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const unsigned jobs = flags.jobs == 0 ? cores : flags.jobs;
  const std::vector<TargetOutcome> outcomes = TargetRun(driver, imported.value(), wanted.targets).run(jobs);
  const auto failed = static_cast<std::size_t>(
      std::count_if(outcomes.begin(), outcomes.end(), [](const TargetOutcome& outcome) { return !outcome.result; }));
  nlohmann::ordered_json json;
  json["schema"] = "fatctx.compile/1";
  json["targets"] = outcomes_json(outcomes);
  json["pack"] = nullptr;
  if (failed != 0) {
    for (const TargetOutcome& outcome : outcomes) {
      if (!outcome.result) print_log("iree-compile for " + outcome.label + " said", outcome.log);
    }
    print_note(escaped(fmt::format("fatctx: {} of {} failed; {} was not written", failed,
                                   count_text(outcomes.size(), "target"), flags.output)));
    if (flags.json) print_result(json_text(json));
    return ExitCode::kCheckFailed;
  }

  OnnxModels models;
  models.emplace(flags.model, std::move(model));
  Manifest manifest = manifest_of(flags, tools, imported.value(), wanted.targets, outcomes);
  if (means_folder(flags.output)) {
    FATCTX_ASSIGN(const std::string text, write_parts(flags, manifest, std::move(models)));
    print_result(flags.json ? json_text(json) : text);
    return ExitCode::kOk;
  }
  FATCTX_ASSIGN(const PackSummary summary, pack_manifest({.manifest = std::move(manifest),
                                                          .models = std::move(models),
                                                          .output = flags.output,
                                                          .seal = flags.seal,
                                                          .force = flags.force}));
  for (const std::string& note : summary.notes) print_note("note: " + escaped(note));
  json["pack"] = summary_json(summary);
  print_result(flags.json ? json_text(json) : summary_text(summary));
  return ExitCode::kOk;
}

Result<ExitCode> run_compile(CompileFlags flags) {
  FATCTX_ASSIGN(const TargetsFile wanted, wanted_targets(flags));
  if (flags.name.empty()) flags.name = fs::path(flags.model).stem().string();
  if (flags.no_cache && !flags.cache.empty()) return invalid("--cache and --no-cache contradict each other; give one");
  std::error_code error;
  // Before minutes of work, not after them.
  if (!flags.force && !means_folder(flags.output) && fs::exists(fs::symlink_status(flags.output, error))) {
    return Error{ErrorCode::kExists, fmt::format("{}: is there already; --force replaces it", flags.output)};
  }
  return compile_and_pack(flags, wanted);
}

}  // namespace

void add_compile(CLI::App& app, Outcome& outcome) {
  auto flags = std::make_shared<CompileFlags>();
  CLI::App* command =
      describe(app, "compile",
               {.purpose = "Compile an ONNX model for several targets and pack the results",
                .synopsis = "fatctx compile MODEL.onnx --targets FILE -o OUT [options]",
                .examples = {"fatctx compile model.onnx --targets targets.json -o model.fatctx",
                             "fatctx compile model.onnx --target x86-64-v3 --target aarch64+dotprod -o parts/"},
                .more = "docs/manifest.md, docs/cli.md"});
  command->add_option("MODEL", flags->model, "The ONNX model")->required();
  command->add_option("--targets", flags->targets_file, "What to compile for, as JSON with comments")
      ->type_name("FILE");
  command->add_option("--target", flags->target_words, "One more target: ARCH[+FEATURE...]")
      ->type_name("TARGET")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("-o,--output", flags->output, "The container; or a folder, with / at the end, for the parts")
      ->required()
      ->type_name("OUT");
  command->add_option("--name", flags->name, "Name of the model; else that of the file")->type_name("NAME");
  command->add_option("-j,--jobs", flags->jobs, "Targets compiled at a time; else one for each core")->type_name("N");
  command->add_option("--iree-bin", flags->iree_bin, "Where iree-import-onnx and iree-compile are; else PATH")
      ->type_name("DIR");
  command->add_option("--cache", flags->cache, "Where results are kept; else XDG_CACHE_HOME or ~/.cache")
      ->type_name("DIR");
  command->add_flag("--no-cache", flags->no_cache, "Compile anew and keep nothing");
  command->add_flag("--seal", flags->seal, "Write a sealed file (read-only, cannot be appended to)");
  command->add_flag("--force", flags->force, "Replace OUT if it is there");
  command->add_flag("--json", flags->json, "Print the summary as JSON");
  command->callback([flags, &outcome] { outcome.finish(run_compile(*flags)); });
}

}  // namespace fatctx::tools
