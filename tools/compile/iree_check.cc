#include "tools/compile/iree_check.h"

#include <array>
#include <filesystem>
#include <fstream>
#include <span>
#include <sstream>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fatctx/content_hash.h"
#include "fatctx/device.h"
#include "fatctx/select.h"
#include "tools/cli/print.h"
#include "tools/cli/subprocess.h"
#include "tools/compile/compiler_tool.h"
#include "tools/compile/iree_refusal.h"
#include "tools/facts/json_file.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

constexpr const char* kCheckedFile = "model.onnx";
constexpr const char* kCheckScript = "check.py";
constexpr const char* kCheckRequest = "request.json";
constexpr const char* kVerdictFile = "verdict.txt";
constexpr int kTimeLimitSeconds = 600;
constexpr int kAlarmSignal = 14;  // SIGALRM ends a check that takes too long

Error refused(const CompileInput& input, std::string_view text) {
  return Error{
      ErrorCode::kSerialiseFailed,
      fmt::format("compiled, and the check refuses it: {}; {}; --no-check accepts it", text, remedy_for(input))};
}

// Returns the interpreter that the first line of a script names, such as "#!/opt/env/bin/python3".
std::optional<std::string> python_of_script(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string line;
  std::getline(in, line);
  std::istringstream words(line);
  std::string program;
  words >> program;
  if (!program.starts_with("#!/") || program.find("python") == std::string::npos) return std::nullopt;
  return find_program(program.substr(2));
}

// Returns the Pythons that may have the run times, likeliest first.
std::vector<std::string> pythons(const IreeTools& tools) {
  std::vector<std::string> found;
  const auto add = [&found](const std::optional<std::string>& program) {
    if (program) found.push_back(*program);
  };
  add(python_of_script(tools.compile));
  add(python_of_script(tools.import_onnx));
  add(find_program("python3", fs::path(tools.compile).parent_path().string()));
  add(find_in_environment("python3"));
  return found;
}

// The versions of both run times, as one text and that of IREE's alone.
struct RunTimes {
  std::string all;
  std::string iree;
};

// Returns nothing if one of them cannot be imported.
std::optional<RunTimes> run_times_in(const std::string& python) {
  const auto ran =
      run_process({.arguments = {python, "-c", std::string(iree_check_script()), "versions"}, .working_folder = {}});
  if (!ran.ok() || !ran.value().succeeded()) return std::nullopt;
  JsonFault fault;
  const auto versions = read_json(ran.value().output, kMaxJsonDepth, fault);
  const Json* const iree = versions ? versions->find("iree") : nullptr;
  if (iree == nullptr || iree->text() == nullptr) return std::nullopt;
  return RunTimes{.all = write_json(*versions), .iree = *iree->text()};
}

// Returns "3.13" for "3.13.0rc20261016".
std::string release_of(const std::string& version) {
  const std::size_t major = version.find('.');
  return version.substr(0, major == std::string::npos ? major : version.find('.', major + 1));
}

std::uint64_t size_of(const CompileInput& input) {
  std::uint64_t size = 0;
  std::error_code error;
  for (const std::string& file : input.files()) size += fs::file_size(file, error);
  return size;
}

// Returns why this machine cannot run the target; nothing if it can.
std::optional<std::string> unfit(const CompileTarget& target) {
  const std::string features = fmt::format("{}", fmt::join(target.key.features, ","));
  Candidate candidate;
  candidate.key.type = RecordType::kContextBinary;
  candidate.key.backend = target.key.backend;
  candidate.key.arch = target.key.arch;
  candidate.key.features = features;
  const Device device = detect_device().device;
  const auto selection = select(std::array{candidate}, device);
  if (selection.ok() && !selection.value().chosen.empty()) return std::nullopt;
  return selection.ok() ? explain_verdict(selection.value().verdicts.front(), candidate, device)
                        : selection.error().message;
}

struct Verdict {
  std::string word;
  std::string text;
};

// Parses the last line of the program's output. A crash after that line does not count.
std::optional<Verdict> verdict_in(const std::string& output) {
  std::istringstream lines(output);
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty()) last = line;
  }
  JsonFault fault;
  const auto json = read_json(last, kMaxJsonDepth, fault);
  const Json* const word = json ? json->find("verdict") : nullptr;
  const Json* const text = json ? json->find("text") : nullptr;
  if (word == nullptr || text == nullptr || word->text() == nullptr || text->text() == nullptr) return std::nullopt;
  return Verdict{.word = *word->text(), .text = *text->text()};
}

std::string end_of(const ProcessResult& ran) {
  if (ran.signal == kAlarmSignal) return fmt::format("it did not end within {} seconds", kTimeLimitSeconds);
  if (ran.signal != 0) return fmt::format("running it was ended by signal {}", ran.signal);
  return fmt::format("running it ended with exit code {} and no verdict", ran.exit_code);
}

}  // namespace

Result<IreeCheck> IreeCheck::create(CheckWish wish, const IreeTools& tools, const CompileInput& input,
                                    const CompileCache& cache) {
  IreeCheck check(wish, cache);
  if (wish == CheckWish::kNever) return check;
  const std::uint64_t size = size_of(input);
  if (wish == CheckWish::kIfPossible && size > kLargestCheckedModel) {
    print_note(
        fmt::format("note: not checked against ONNX Runtime: the model has {}, and more than {} are checked only "
                    "with --check",
                    short_size_text(size), short_size_text(kLargestCheckedModel)));
    return check;
  }
  std::string why =
      "no Python here has both run times; install iree-base-runtime, onnxruntime and numpy beside IREE's compiler";
  for (const std::string& python : pythons(tools)) {
    auto run_times = run_times_in(python);
    if (!run_times) continue;
    if (release_of(run_times->iree) != release_of(tools.version)) {
      why = fmt::format("{} has IREE's run time {}, and its compiler is {}; install the same of both", python,
                        run_times->iree, tools.version);
      continue;
    }
    check.python_ = python;
    check.versions_ = std::move(run_times->all);
    return check;
  }
  if (wish == CheckWish::kAlways) return Error{ErrorCode::kBackendLibraryMissing, fmt::format("--check: {}", why)};
  print_note(escaped(fmt::format("note: not checked against ONNX Runtime: {}", why)));
  return check;
}

Result<std::string> IreeCheck::check(const CompileInput& input, const CompileTarget& target, const std::string& module,
                                     const std::string& parameters) const {
  if (python_.empty()) return std::string();
  if (const auto why = unfit(target)) return fmt::format("not checked: this machine cannot run it ({})", *why);
  const std::string script = to_hex(content_hash(std::as_bytes(std::span(iree_check_script()))).bytes);
  std::vector<std::string> files = input.files();
  files.push_back(module);
  if (!parameters.empty()) files.push_back(parameters);
  StepInputs inputs{.words = {"check", script, versions_}, .files = {}};
  FATCTX_TRY(store(hash_files(files), inputs.files));
  if (const auto folder = cache_->find(inputs)) return read_text_file((fs::path(*folder) / kVerdictFile).string());

  FATCTX_ASSIGN(WorkFolder work, cache_->begin());
  std::string model = fs::absolute(input.path).string();
  if (input.beside != input.path && !input.onnx->external_files.empty()) {
    FATCTX_TRY(input.copy_to(work.path(), kCheckedFile));
    model = work.file(kCheckedFile);
  }
  const Json request = {{"model", model},
                        {"module", fs::absolute(module).string()},
                        {"parameters", parameters.empty() ? "" : fs::absolute(parameters).string()},
                        {"scope", std::string(kParameterScope)},
                        {"time_limit_s", kTimeLimitSeconds}};
  FATCTX_TRY(write_text_file(work.file(kCheckRequest), write_json(request)));
  FATCTX_TRY(write_text_file(work.file(kCheckScript), iree_check_script()));
  FATCTX_ASSIGN(const ProcessResult ran, run_process({.arguments = {python_, kCheckScript, "check", kCheckRequest},
                                                      .working_folder = work.path()}));
  const auto verdict = verdict_in(ran.output);
  if (!verdict) return refused(input, end_of(ran));
  if (verdict->word == "agrees") {
    FATCTX_TRY(write_text_file(work.file(kVerdictFile), verdict->text));
    FATCTX_TRY(cache_->publish(inputs, std::move(work), {kVerdictFile}));
    return verdict->text;
  }
  if (verdict->word != "not_run") return refused(input, verdict->text);
  if (wish_ != CheckWish::kAlways) return "not checked: " + verdict->text;
  return Error{ErrorCode::kSerialiseFailed,
               fmt::format("--check: compiled, and cannot be checked: {}; --no-check packs it unchecked, and {}",
                           verdict->text, provider_takes_it(input))};
}

}  // namespace fatctx::tools
