#include "tools/compile/qnn_compile.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <optional>
#include <span>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fatctx/content_hash.h"
#include "fatctx/import_dlc.h"
#include "tools/cli/print.h"
#include "tools/cli/subprocess.h"
#include "tools/compile/compiler_tool.h"
#include "tools/compile/qnn_script.h"
#include "tools/facts/json_file.h"
#include "tools/facts/provider_options.h"
#include "tools/facts/quant_facts.h"
#include "tools/onnx/ep_context_facts.h"
#include "tools/onnx/model_folder.h"
#include "tools/onnx/onnx_whole.h"
#include "tools/pack/ep_context.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

constexpr const char* kModelFile = "model.onnx";  // a fixed name: the compiler stores a hash of the path in its output
constexpr const char* kContextFile = "model_ctx.onnx";
constexpr const char* kBinaryFile = "model_ctx_qnn.bin";
constexpr const char* kScriptFile = "compile.py";
constexpr const char* kRequestFile = "request.json";
constexpr std::string_view kOwnFiles[] = {kModelFile, kContextFile, kBinaryFile, kScriptFile, kRequestFile};
constexpr std::uint64_t kBinaryGranule = 4096;  // a context binary is a whole number of pages

// A setting of the vendor's files for which the QNN provider has an option.
struct ProviderOption {
  std::string_view setting;
  const char* option;
};
constexpr ProviderOption kProviderOptions[] = {
    {"graphs.O", "htp_graph_finalization_optimization_mode"},
    {"graphs.fp16_relaxed_precision", "enable_htp_fp16_precision"},
    {"graphs.fp16_relaxed_precision_flag", "enable_htp_fp16_precision"},
    {"context.extended_udma", "extended_udma"},
};

const char* option_of(std::string_view setting) {
  for (const ProviderOption& row : kProviderOptions) {
    if (row.setting == setting) return row.option;
  }
  return nullptr;
}

std::string option_value(const std::string& value) {
  if (value == "true") return "1";
  if (value == "false") return "0";
  return value;
}

std::vector<DescribedOption> applied_settings(const HtpTarget& target) {
  std::vector<DescribedOption> applied;
  for (const DescribedOption& setting : target.settings) {
    // Several blocks of one file may have the same setting.
    const bool known = std::any_of(applied.begin(), applied.end(), [&](const DescribedOption& other) {
      return other.key == setting.key && other.value == setting.value;
    });
    if (option_of(setting.key) != nullptr && !known) applied.push_back(setting);
  }
  return applied;
}

// Returns text such as "graphs.O = 3 against none".
std::string settings_text(const std::vector<DescribedOption>& a, const std::vector<DescribedOption>& b) {
  const auto text = [](const std::vector<DescribedOption>& settings) {
    std::vector<std::string> parts;
    parts.reserve(settings.size());
    for (const DescribedOption& setting : settings) parts.push_back(fmt::format("{} = {}", setting.key, setting.value));
    return parts.empty() ? std::string("none") : fmt::format("{}", fmt::join(parts, ", "));
  };
  return fmt::format("{} against {}", text(a), text(b));
}

Error wrong(std::string message) { return Error{ErrorCode::kSerialiseFailed, std::move(message)}; }

Error missing_python(const std::string& python, std::string_view why) {
  return Error{ErrorCode::kBackendLibraryMissing,
               fmt::format("{}: {}; install the Python packages onnxruntime and onnxruntime-qnn (the vendor's licence "
                           "comes with it; using it accepts it) and name that Python with --qnn-python PROGRAM",
                           python, why)};
}

// Names what stays on the CPU, if anything does. `remedy` says what the user may do about it.
Status check_all_on_npu(const std::string& folder, std::string_view remedy) {
  const std::string path = (fs::path(folder) / kContextFile).string();
  FATCTX_ASSIGN(const OnnxModel model, read_onnx(path));
  FATCTX_ASSIGN(const std::optional<KeptModel> kept, kept_form(path, model));
  if (!kept || kept->other_nodes == 0) return Done{};
  return wrong(fmt::format("the NPU does not take {} of the model: {}; {}", count_text(kept->other_nodes, "node"),
                           fmt::join(kept->operators, ", "), remedy));
}

// Says why a compiler that succeeded wrote nothing: it does so for models without an operator for the NPU, and for SoCs
// that it does not know.
Error wrote_nothing(const OnnxModel& model) {
  return wrong(
      fmt::format("the QNN compiler reported success but wrote no {}: it does not know the SoC, or the NPU "
                  "takes no operator of the model ({})",
                  kContextFile, fmt::join(model.operators, ", ")));
}

// Compares the archive's metadata of a target with the request.
Status check_soc(const HtpTarget& asked, const DlcInfo& info) {
  std::vector<const DlcSoc*> found;
  for (const DlcSoc& soc : info.socs) {
    if (soc.qnn_soc == asked.qnn_soc) found.push_back(&soc);
  }
  if (found.empty()) {
    std::vector<std::uint32_t> there;
    for (const DlcSoc& soc : info.socs) there.push_back(soc.qnn_soc);
    return wrong(fmt::format("the compiler reported success and wrote no context binary for SoC {}; there are {}",
                             asked.qnn_soc, there.empty() ? "none" : fmt::format("{}", fmt::join(there, ", "))));
  }
  const bool arch_fits = asked.arch.empty() || std::any_of(found.begin(), found.end(),
                                                           [&](const DlcSoc* soc) { return soc->arch == asked.arch; });
  if (!arch_fits) {
    return wrong(fmt::format("asked for {}, and the context binary of SoC {} is for {}", asked.arch, asked.qnn_soc,
                             found.front()->arch));
  }
  const bool vtcm_fits = asked.vtcm_mb == 0 || std::any_of(found.begin(), found.end(), [&](const DlcSoc* soc) {
                           return soc->vtcm_mb == asked.vtcm_mb;
                         });
  if (!vtcm_fits) {
    return wrong(fmt::format("asked for {} MB of VTCM, and the context binary of SoC {} was made for {} MB",
                             asked.vtcm_mb, asked.qnn_soc, found.front()->vtcm_mb));
  }
  return Done{};
}

}  // namespace

Status check_one_pass(const HtpConfig& config) {
  const HtpTarget& first = config.targets.front();
  for (const HtpTarget& target : config.targets) {
    const auto same = [](const DescribedOption& a, const DescribedOption& b) {
      return a.key == b.key && a.value == b.value;
    };
    const auto of_first = applied_settings(first);
    const auto of_this = applied_settings(target);
    if (std::equal(of_first.begin(), of_first.end(), of_this.begin(), of_this.end(), same)) continue;
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} and {} differ in their settings ({}); a DLC is compiled in one pass, with the same "
                             "settings for all SoCs: write a container (-o OUT.fatctx), which compiles each by itself",
                             target_name(first), target_name(target), settings_text(of_first, of_this))};
  }
  return Done{};
}

Result<QnnTools> find_qnn(const std::string& python) {
  const char* const variable = std::getenv("FATCTX_QNN_PYTHON");
  const std::string program = !python.empty() ? python : variable != nullptr ? variable : "python3";
  const bool any = python.empty() && variable == nullptr;
  const auto found = any ? find_in_environment(program) : find_program(program);
  if (!found) return missing_python(program, "there is no such program");
  std::string log;
  // Any failure of the script means that the packages are not properly installed.
  auto ran = run_process({.arguments = {*found, "-c", std::string(qnn_script()), "versions"}, .working_folder = {}});
  if (!ran.ok()) return missing_python(*found, ran.error().message);
  if (!ran.value().succeeded()) return missing_python(*found, "cannot import onnxruntime and onnxruntime_qnn");
  JsonFault fault;
  const auto versions = read_json(ran.value().output, kMaxJsonDepth, fault);
  const auto version = [&](const char* key) {
    const Json* const said = versions ? versions->find(key) : nullptr;
    return said == nullptr ? nullptr : said->text();
  };
  const std::string* const provider = version("onnxruntime_qnn");
  const std::string* const runtime = version("onnxruntime");
  if (provider == nullptr || runtime == nullptr) {
    return missing_python(*found, "does not tell the version of onnxruntime-qnn");
  }
  return QnnTools{.python = *found, .version = *provider, .runtime = *runtime};
}

Status check_settings(const HtpConfig& config) {
  for (const HtpTarget& target : config.targets) {
    std::map<std::string, const DescribedOption*> said;  // settings seen so far, by option
    const std::vector<DescribedOption> settings = applied_settings(target);
    for (const DescribedOption& setting : settings) {
      const DescribedOption& first = *said.emplace(option_of(setting.key), &setting).first->second;
      if (option_value(first.value) != option_value(setting.value)) {
        return Error{
            ErrorCode::kInvalidArgument,
            fmt::format("{}: {} = {} and {} = {} contradict each other: the QNN provider has one option {} for "
                        "all graphs; make them equal",
                        target.file, first.key, first.value, setting.key, setting.value, option_of(setting.key))};
      }
      const DescribedOption option{option_of(setting.key), option_value(setting.value), "QNN"};
      const auto wrong_value = wrong_provider_option(option);
      if (!wrong_value) continue;
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("{}: {}, which becomes the option {} of the QNN provider: {}", target.file, setting.key,
                               option.key, *wrong_value)};
    }
  }
  return Done{};
}

std::vector<std::string> settings_without_effect(const HtpConfig& config, SharingForm form) {
  std::vector<std::string> lines;
  for (const HtpTarget& target : config.targets) {
    if (form == SharingForm::kOnePass && !target.file.empty() && !target.share_weights) {
      lines.push_back(fmt::format(
          "{}: reference_weight_sharing_enabled is not set, and in one pass the compiler shares the weights "
          "of all SoCs all the same",
          target_name(target)));
    }
    for (const DescribedOption& setting : target.settings) {
      if (option_of(setting.key) != nullptr) continue;
      lines.push_back(
          fmt::format("{}: {} = {}: the QNN provider of ONNX Runtime has no option for it; it is compiled "
                      "without, and the record does not claim it",
                      target_name(target), setting.key, setting.value));
    }
  }
  if (!config.extension_library.empty()) {
    lines.push_back(
        fmt::format("backend_extensions.shared_library_path: {} is for the vendor's generator; nothing "
                    "loads it here",
                    config.extension_library));
  }
  return lines;
}

HtpConfig with_effect(HtpConfig config) {
  for (HtpTarget& target : config.targets) {
    target.settings = applied_settings(target);
    target.dlbc = false;
    target.cores = 1;
  }
  return config;
}

Status QnnCompile::begin(std::string& log) {
  log.clear();
  for (const std::string& file : input_.onnx->external_files) {
    if (std::find(std::begin(kOwnFiles), std::end(kOwnFiles), file) == std::end(kOwnFiles)) continue;
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("{}: the file with its weights is called {}, which the compiler's own files are called here; "
                    "give it another name",
                    input_.beside, file)};
  }
  if (!is_utf8(request_.backend_path)) {
    return Error{ErrorCode::kInvalidArgument,
                 "--backend: the path is not UTF-8, in which it is handed to the compiler"};
  }
  std::vector<std::string> files = input_.files();
  if (!request_.backend_path.empty()) files.push_back(request_.backend_path);
  return store(hash_files(files), files_);
}

std::vector<std::pair<std::string, std::string>> QnnCompile::options_for(const Targets& targets) const {
  std::vector<std::string> socs;
  std::vector<std::string> vtcms;
  bool any_vtcm = false;
  std::vector<std::pair<std::string, std::string>> options;
  for (const HtpTarget* target : targets) {
    socs.push_back(std::to_string(target->qnn_soc));
    vtcms.push_back(std::to_string(target->vtcm_mb));
    any_vtcm = any_vtcm || target->vtcm_mb != 0;
  }
  options.emplace_back("soc_model", fmt::format("{}", fmt::join(socs, ",")));
  if (any_vtcm) options.emplace_back("vtcm_mb", fmt::format("{}", fmt::join(vtcms, ",")));
  if (!request_.backend_path.empty()) options.emplace_back("backend_path", request_.backend_path);
  // In one pass all targets share the options; compile_dlc() has checked that the files agree.
  for (const DescribedOption& setting : applied_settings(*targets.front())) {
    options.emplace_back(option_of(setting.key), option_value(setting.value));
  }
  return options;
}

template <typename Check>
Result<QnnCompile::Step> QnnCompile::run(const Targets& targets, std::string& log, const Check& check) const {
  const auto options = options_for(targets);
  const std::string script = to_hex(content_hash(std::as_bytes(std::span(qnn_script()))).bytes);
  StepInputs inputs{.words = {"qnn", tools_.version, tools_.runtime, script}, .files = files_};
  for (const auto& [key, value] : options) inputs.words.insert(inputs.words.end(), {key, value});
  if (const auto folder = cache_->find(inputs)) return Step{.folder = *folder, .cached = true, .seconds = 0};

  FATCTX_ASSIGN(WorkFolder work, cache_->begin());
  FATCTX_TRY(input_.copy_to(work.path(), kModelFile));
  Json said = Json::object();
  for (const auto& [option, value] : options) said.add(option, value);
  const Json request = {{"model", kModelFile},
                        {"output", kContextFile},
                        {"log_severity", request_.log_severity},
                        {"options", std::move(said)}};
  FATCTX_TRY(write_text_file(work.file(kRequestFile), write_json(request)));
  FATCTX_TRY(write_text_file(work.file(kScriptFile), qnn_script()));
  FATCTX_ASSIGN(const double seconds,
                run_tool("the QNN compiler", {tools_.python, kScriptFile, "compile", kRequestFile}, work.path(), log));
  std::error_code nothing;
  if (!fs::exists(work.file(kContextFile), nothing)) return wrote_nothing(*input_.onnx);
  for (const char* const file : {kContextFile, kBinaryFile}) {
    FATCTX_TRY(check_output(work.file(file), "the QNN compiler"));
  }
  FATCTX_TRY(check(work.path()));
  FATCTX_ASSIGN(std::string folder, cache_->publish(inputs, std::move(work), {kContextFile, kBinaryFile}));
  return Step{.folder = std::move(folder), .cached = false, .seconds = seconds};
}

Result<std::vector<ManifestRecord>> QnnCompile::read_back(const HtpTarget& target, const std::string& folder) const {
  FATCTX_ASSIGN(ImportedRecords imported,
                records_from_ep_context((fs::path(folder) / kContextFile).string(), input_.name));
  const std::size_t models = static_cast<std::size_t>(
      std::count_if(imported.records.begin(), imported.records.end(),
                    [](const ManifestRecord& made) { return made.record.type == RecordType::kWrapperModel; }));
  if (imported.records.size() != 1 + models ||
      imported.records.front().record.description.format != "qnn-context-binary") {
    return wrong(fmt::format("asked for one context binary, and the compiler wrote {} records of a DLC",
                             imported.records.size()));
  }
  ManifestRecord& made = imported.records.front();
  PackKey& key = made.record.key;
  if (key.qnn_soc != target.qnn_soc) {
    return wrong(fmt::format("asked for SoC {}, and the compiler says that it compiled for SoC {}", target.qnn_soc,
                             key.qnn_soc));
  }
  if (!key.arch.empty() && !target.arch.empty() && key.arch != target.arch) {
    return wrong(fmt::format("asked for {}, and the compiler says that it compiled for {}", target.arch, key.arch));
  }
  if (target.vtcm_mb != 0 && key.vtcm_mb != target.vtcm_mb) {
    return wrong(fmt::format("asked for {} MB of VTCM, and the compiler says that it compiled for {} MB",
                             target.vtcm_mb, key.vtcm_mb));
  }
  std::error_code error;
  const std::uint64_t size = fs::file_size(made.record.source.path, error);
  if (error || size % kBinaryGranule != 0) {
    return wrong(
        fmt::format("the context binary has {} bytes, which is not a multiple of {}: it is cut off, or something "
                    "was added to it",
                    size, kBinaryGranule));
  }
  made.where = "target " + target_name(target);
  made.record.name = input_.name + "." + target_word(target);
  key.group = input_.group;
  key.unit = input_.unit;
  key.part = target.part;
  if (key.arch.empty()) key.arch = target.arch;
  add_default_vtcm(made.record);
  made.record.description.producer = name();
  std::vector<DescribedOption> options = applied_settings(target);
  for (const DescribedOption& option : made.record.description.options) {
    if (option.owner == kEpContextOwner && option.key == kWholeModelFact) options.push_back(option);
  }
  made.record.description.options = std::move(options);
  if (models != 0) {
    PackRecord& whole = imported.records.back().record;
    whole.name = made.record.name + ".onnx";
    whole.key.variant = whole.name;
  }
  add_quant_facts_of(*input_.onnx, made.record.description.options);
  return std::move(imported.records);
}

Result<CompiledTarget> QnnCompile::compile(std::size_t index, std::string& log) const {
  const HtpTarget& target = request_.config.targets[index];
  FATCTX_ASSIGN(const Step step, run({&target}, log, [&](const std::string& folder) -> Status {
                  FATCTX_TRY(read_back(target, folder));
                  return Done{};
                }));
  // After the cache has it, so that a run with --allow-cpu need not compile again.
  if (!request_.allow_cpu) {
    FATCTX_TRY(check_all_on_npu(step.folder,
                                "compile with --allow-cpu to leave them to the CPU, between the parts for the NPU"));
  }
  CompiledTarget compiled;
  compiled.cached = step.cached;
  compiled.seconds = step.seconds;
  FATCTX_TRY(store(read_back(target, step.folder), compiled.records));
  std::error_code error;
  compiled.size_bytes = fs::file_size(compiled.records.front().record.source.path, error);
  return compiled;
}

Result<std::vector<ManifestRecord>> QnnCompile::shared_records() const { return std::vector<ManifestRecord>{}; }

Result<QnnCompile::Together> QnnCompile::compile_dlc() const {
  Together together;
  Targets targets;
  for (const HtpTarget& target : request_.config.targets) {
    targets.push_back(&target);
    together.outcomes.push_back(
        {.label = target_name(target), .unit = input_.unit, .result = {}, .error = {}, .log = {}});
  }
  std::size_t wrong_targets = 0;
  const auto step = run(targets, together.log, [&](const std::string& folder) -> Status {
    FATCTX_TRY(check_all_on_npu(folder, "a DLC holds the NPU's parts only; write a container with --allow-cpu"));
    FATCTX_ASSIGN(const DlcInfo info, list_dlc((fs::path(folder) / kBinaryFile).string()));
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const Status fits = check_soc(*targets[i], info);
      if (fits.ok()) continue;
      together.outcomes[i].error = fits.error();
      ++wrong_targets;
    }
    if (wrong_targets == 0) return Done{};
    return wrong(fmt::format("compiled, and of no use without {}", count_text(wrong_targets, "other target")));
  });
  if (!step.ok() && wrong_targets == 0) {
    together.error = step.error();
    return together;
  }
  if (!step.ok()) {
    for (TargetOutcome& outcome : together.outcomes) {
      if (!outcome.error) outcome.error = step.error();
    }
    return together;
  }
  together.file = (fs::path(step.value().folder) / kBinaryFile).string();
  FATCTX_ASSIGN(const DlcInfo info, list_dlc(together.file));
  together.findings = info.findings;
  for (std::size_t i = 0; i < targets.size(); ++i) {
    CompiledTarget compiled;
    compiled.cached = step.value().cached;
    compiled.seconds = step.value().seconds;
    for (const DlcSoc& soc : info.socs) {
      const bool same_vtcm = targets[i]->vtcm_mb == 0 || soc.vtcm_mb == targets[i]->vtcm_mb;
      if (soc.qnn_soc == targets[i]->qnn_soc && same_vtcm) compiled.size_bytes = info.entries[soc.entry].data.size;
    }
    together.outcomes[i].result = std::move(compiled);
  }
  return together;
}

}  // namespace fatctx::tools
