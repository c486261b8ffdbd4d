// fatctx_ort_bench: measures what a session of a model costs, for each way to create one. `fatctx bench load
// MODEL.onnx` runs it.
#include <onnxruntime_c_api.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/base/result.h"
#include "fatctx/container.h"
#include "fatctx/extract.h"
#include "tools/bench/ort/child.h"
#include "tools/bench/ort/figures.h"
#include "tools/cli/own_program.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/cli/subprocess.h"
#include "tools/cli/whole_container.h"
#include "tools/compile/compile_cache.h"
#include "tools/onnx/onnx_import.h"

namespace fatctx::tools {
namespace {

namespace fs = std::filesystem;

struct BenchOptions {
  std::string model;
  std::string library;
  std::string work;
  std::string svg;
  std::uint32_t repetitions = 5;
  std::uint32_t sessions = 8;
  std::uint32_t runs = 0;
  std::int64_t dimension = 1;
  bool embed = false;
  bool json = false;
  ChildOptions child;  // if it names a way, this process is a child
};

std::uint64_t bytes_of(const std::vector<std::string>& files) {
  std::uint64_t sum = 0;
  for (const std::string& file : files) {
    std::error_code absent;
    const auto size = fs::file_size(file, absent);
    if (!absent) sum += size;
  }
  return sum;
}

std::string machine_text() {
  std::ifstream info("/proc/cpuinfo");
  std::string name = "unknown processor";
  for (std::string line; std::getline(info, line);) {
    if (line.starts_with("model name")) {
      name = line.substr(line.find(':') + 2);
      break;
    }
  }
  return fmt::format("{}, {} threads", name, std::thread::hardware_concurrency());
}

constexpr std::string_view kSpeaker = "fatctx bench: ";

constexpr std::string_view kCodeOfChildren = " (unsupported)";  // this process prints the same suffix

// Strips the prefix and suffix of a child's message, so that it can be part of a message of this process.
std::string_view without_speaker(std::string_view said) {
  while (said.ends_with('\n')) said.remove_suffix(1);
  if (said.starts_with(kSpeaker)) said.remove_prefix(kSpeaker.size());
  if (said.ends_with(kCodeOfChildren)) said.remove_suffix(kCodeOfChildren.size());
  return said;
}

// The figures of a child. Its output is this program's own, so a figure that is missing is a defect of the program.
class ChildFigures {
 public:
  explicit ChildFigures(Json json) : json_(std::move(json)) {}

  [[nodiscard]] double seconds(const char* key = "seconds") const { return real(at(json_, key)); }
  [[nodiscard]] std::vector<double> all_seconds(const char* key) const {
    std::vector<double> all;
    const Json::Array* const items = at(json_, key).items();
    if (items == nullptr) throw std::logic_error(fmt::format("a child gives no list of {}", key));
    for (const Json& item : *items) all.push_back(real(item));
    return all;
  }
  [[nodiscard]] std::int64_t bytes(const char* key) const { return whole(at(json_, key)); }
  [[nodiscard]] std::int64_t bytes(const char* part, const char* key) const { return whole(at(at(json_, part), key)); }

 private:
  static const Json& at(const Json& json, const char* key) {
    const Json* const found = json.find(key);
    if (found == nullptr) throw std::logic_error(fmt::format("a child does not tell {}", key));
    return *found;
  }
  static double real(const Json& json) {
    const auto number = json.real();
    if (!number) throw std::logic_error(fmt::format("a child tells {} instead of a number", json_line(json)));
    return *number;
  }
  static std::int64_t whole(const Json& json) {
    const auto number = json.whole();
    if (!number) throw std::logic_error(fmt::format("a child tells {} instead of bytes", json_line(json)));
    return *number;
  }

  Json json_;
};

class Bench {
 public:
  Bench(BenchOptions options, fs::path own) : options_(std::move(options)), own_(std::move(own)) {}

  Result<OrtBench> measure() {
    const fs::path work = options_.work;
    const std::string context = (work / "external_ctx.onnx").string();
    const std::string embedded = (work / "embedded_ctx.onnx").string();
    OrtBench bench;
    bench.model = fs::path(options_.model).filename().string();
    FATCTX_ASSIGN(const OnnxModel model, read_onnx(options_.model));
    bench.model_bytes = bytes_of(files_of_model(options_.model, model));
    bench.repetitions = options_.repetitions;
    bench.sessions = options_.sessions;
    bench.runs = options_.runs;
    bench.machine = machine_text();
    bench.runtime = fmt::format("ONNX Runtime {}", OrtGetApiBase()->GetVersionString());

    WayFigures compile{.way = "compile", .first = {}, .further = {}};
    FATCTX_ASSIGN(compile.first, compile_into(context, false));
    FATCTX_ASSIGN(const WayFigures normal, load("normal load", options_.model, "", false));
    FATCTX_ASSIGN(const WayFigures cold, load("EP Context load", context, "least", true));
    FATCTX_ASSIGN(const WayFigures warm, load("EP Context + cache", context, "least", false));
    FATCTX_ASSIGN(const WayFigures full, load("the same, full speed", context, "full_speed", false));
    bench.ways = {normal, compile, cold, warm, full};
    if (options_.embed) {
      FATCTX_ASSIGN(const Times ignored, compile_into(embedded, true));
      (void)ignored;
      FATCTX_ASSIGN(const WayFigures inside, load("embedded", embedded, "least", false));
      bench.ways.push_back(inside);
    }
    bench.container_bytes = bytes_of({container()});
    FATCTX_ASSIGN(const Container opened, open_whole(container()));
    bench.storage = open_report(opened).filesystem;
    FATCTX_ASSIGN(bench.inner, inner(context));
    if (options_.runs != 0) {
      for (const char* const memory : {"least", "full_speed"}) {
        FATCTX_ASSIGN(const RunFigures figures, run(context, memory));
        bench.run.push_back(figures);
      }
    }
    return bench;
  }

 private:
  [[nodiscard]] std::string container() const { return (fs::path(options_.work) / "external.fatctx").string(); }

  Result<ChildFigures> child(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {own_.string(), "--library", options_.library, "--child"});
    ProcessRequest request;
    request.arguments = std::move(arguments);
    request.max_output_bytes = std::size_t{1} << 20;
    FATCTX_ASSIGN(const ProcessResult result, run_process(request));
    if (!result.succeeded()) {
      return Error{ErrorCode::kUnsupported,
                   fmt::format("{}: {}", options_.model, without_speaker(result.error_output))};
    }
    constexpr std::size_t kMaxDepth = 3;
    JsonFault fault;
    auto json = read_json(result.output, kMaxDepth, fault);
    if (!json) return Error{ErrorCode::kInternal, "the figures of a child are not JSON"};
    return ChildFigures(*std::move(json));
  }

  Result<Times> compile_into(const std::string& output, bool embed) {
    progress_.step(++step_, 0, "compile");
    std::vector<double> seconds;
    for (std::uint32_t i = 0; i < (embed ? 1 : std::min(options_.repetitions, 3U)); ++i) {
      FATCTX_ASSIGN(const ChildFigures found, child({"compile", options_.model, "--output", output, "--memory", "least",
                                                     "--embed-child", embed ? "1" : "0"}));
      seconds.push_back(found.seconds());
    }
    return times_of(seconds);
  }

  // Drops the file from the page cache, so that the next read goes to the disk.
  // Returns false if that is not possible.
  static bool drop_from_cache(const std::string& path) {
    ProcessRequest request;
    const auto dd = find_program("dd", "");
    if (!dd) return false;
    request.arguments = {*dd, "if=" + path, "iflag=nocache", "count=0", "status=none"};
    const auto done = run_process(request);
    return done.ok() && done.value().succeeded();
  }

  Result<WayFigures> load(const std::string& name, const std::string& model, const std::string& memory, bool cold) {
    progress_.step(++step_, 0, name);
    WayFigures figures{.way = name, .first = {}, .further = {}, .sessions = options_.sessions};
    std::vector<double> first;
    std::vector<double> further;
    for (std::uint32_t i = 0; i < options_.repetitions; ++i) {
      if (cold) figures.dropped = drop_from_cache(container());
      std::vector<std::string> arguments = {"load",        model,
                                            "--sessions",  std::to_string(options_.sessions),
                                            "--dimension", std::to_string(options_.dimension)};
      if (!memory.empty()) arguments.insert(arguments.end(), {"--memory", memory});
      FATCTX_ASSIGN(const ChildFigures found, child(std::move(arguments)));
      first.push_back(found.seconds());
      for (const double seconds : found.all_seconds("further_seconds")) further.push_back(seconds);
      figures.anonymous_first = found.bytes("first", "anonymous_bytes");
      figures.pss_first = found.bytes("first", "pss_bytes");
      figures.anonymous_all = found.bytes("all", "anonymous_bytes");
      figures.pss_all = found.bytes("all", "pss_bytes");
      figures.peak_rss = found.bytes("peak_rss_bytes");
    }
    figures.first = times_of(first);
    figures.further = times_of(further);
    return figures;
  }

  Result<InnerFigures> inner(const std::string& context) {
    progress_.step(++step_, 0, "inner sessions");
    std::vector<double> inner;
    std::vector<double> ours;
    for (std::uint32_t i = 0; i < options_.repetitions; ++i) {
      FATCTX_ASSIGN(const ChildFigures found, child({"inner", context, "--output", container(), "--memory", "least",
                                                     "--sessions", std::to_string(options_.sessions)}));
      for (const double seconds : found.all_seconds("inner_seconds")) inner.push_back(seconds);
      for (const double seconds : found.all_seconds("ours_seconds")) ours.push_back(seconds);
    }
    return InnerFigures{.inner = times_of(inner), .ours = times_of(ours)};
  }

  Result<RunFigures> run(const std::string& context, const std::string& memory) {
    progress_.step(++step_, 0, "run");
    FATCTX_ASSIGN(const ChildFigures found,
                  child({"run", options_.model, "--output", context, "--memory", memory, "--runs",
                         std::to_string(options_.runs), "--dimension", std::to_string(options_.dimension)}));
    return RunFigures{.memory = memory,
                      .ordinary = times_of(found.all_seconds("ordinary_seconds")),
                      .ours = times_of(found.all_seconds("ours_seconds"))};
  }

  BenchOptions options_;
  fs::path own_;
  ProgressLine progress_{"bench"};
  std::uint64_t step_ = 0;
};

int fail(std::string_view what, int code) {
  print_note(fmt::format("{}{}", kSpeaker, escaped_lines(what)));
  return code;
}

int measure(BenchOptions options) {
  std::error_code failed;
  if (!options.svg.empty() && fs::exists(fs::symlink_status(options.svg, failed))) {
    return fail(options.svg + " already exists; name another file", 2);
  }
  const fs::path own = fs::canonical("/proc/self/exe", failed);
  std::optional<WorkFolder> work;
  if (options.work.empty()) {
    auto made = WorkFolder::create_temporary();
    if (!made.ok()) return fail(to_text(made.error()), 5);
    work = std::move(made).value();
    options.work = work->path();
  }
  if (options.library.empty()) {
    auto found = find_provider_beside_program();
    if (!found.ok()) return fail(found.error().message + "; name it with --library", 5);
    options.library = std::move(found).value();
  }
  const auto bench = Bench(options, own).measure();
  if (!bench.ok()) return fail(to_text(bench.error()), 3);
  if (!options.svg.empty()) {
    const std::string picture = bench_svg(bench.value());
    const auto written = publish_bytes(std::as_bytes(std::span(picture)), options.svg, false);
    if (!written.ok()) return fail(to_text(written.error()), 5);
  }
  print_result(options.json ? json_text(bench_json(bench.value())) : bench_text(bench.value()));
  return flush_result() ? 0 : 5;
}

int main_of(int count, char** words) {
  BenchOptions options;
  CLI::App app("Measure what a session of an ONNX model costs: ordinary, compiled, and out of a container");
  app.add_option("MODEL", options.model, "The ONNX model")->required();
  app.add_option("--library", options.library, "The execution provider; default: libfatctx_ort.so beside the program");
  app.add_option("--work", options.work, "A folder for compiled files; default: a temporary one");
  app.add_option("--svg", options.svg, "Write a picture of the figures to this file");
  app.add_option("--repeat", options.repetitions, "Processes for each row; default: 5")->check(CLI::Range(1U, 1000U));
  app.add_option("--sessions", options.sessions, "Sessions of a process, each run once; default: 8")
      ->check(CLI::Range(1U, 1024U));
  app.add_option("--runs", options.runs, "Also run both sessions so often, in turn; default: 0")
      ->check(CLI::Range(0U, 100000U));
  app.add_option("--dimension", options.dimension, "Instead of dimensions that are not fixed; default: 1")
      ->check(CLI::Range(1, 1 << 20));
  app.add_flag("--embed", options.embed, "Also with the container embedded in the model");
  app.add_flag("--json", options.json, "Print JSON (schema fatctx.bench_onnxruntime/1)");
  // Hidden options that the program passes to its children.
  std::string child;
  app.add_option("--child", child)->group("");
  app.add_option("--output", options.child.output)->group("");
  app.add_option("--memory", options.child.memory)->group("");
  int embed_child = 0;
  app.add_option("--embed-child", embed_child)->group("");
  try {
    app.parse(count, words);
  } catch (const CLI::CallForHelp&) {
    return app.exit(CLI::CallForHelp());
  } catch (const CLI::ParseError& problem) {
    return fail(problem.what(), 2);
  }
  if (child.empty()) return measure(options);
  options.child.way = child;
  options.child.model = options.model;
  options.child.library = options.library;
  options.child.sessions = options.sessions;
  options.child.runs = options.runs;
  options.child.dimension = options.dimension;
  options.child.embed = embed_child != 0;
  print_result(json_line(run_child(options.child)));
  return flush_result() ? 0 : 5;
}

}  // namespace
}  // namespace fatctx::tools

int main(int count, char** words) {
  try {
    return fatctx::tools::main_of(count, words);
  } catch (const std::exception& error) {
    return fatctx::tools::fail(error.what(), 5);
  }
}
