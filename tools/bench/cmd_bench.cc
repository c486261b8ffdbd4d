// fatctx bench: measures what loading costs on this machine, beside the usual way to load.
#include <algorithm>
#include <charconv>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/select.h"
#include "tools/bench/load_bench.h"
#include "tools/cli/command.h"
#include "tools/cli/own_program.h"
#include "tools/cli/print.h"
#include "tools/device/asked_device.h"

namespace fatctx::tools {

namespace {

struct BenchOptions {
  std::string what;
  std::string path;
  std::string device;
  std::string verify = "record_on_acquire";
  std::string sessions = "1,2,4";
  LoadBenchOptions load;
  bool json = false;
  // Options of the bench of an ONNX model.
  std::string svg;
  std::uint32_t runs = 0;
  std::uint32_t dimension = 1;
  bool embed = false;
};

bool is_onnx(const BenchOptions& options) { return options.path.ends_with(".onnx"); }

// Another program makes the sessions of ONNX Runtime, because this command does not link it.
Result<ExitCode> run_onnx_bench(const BenchOptions& options, const CLI::App& command) {
  for (const char* const flag : {"--device", "--verify", "--max-copied-bytes", "--cold"}) {
    if (command.count(flag) == 0) continue;
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} is for containers, and {} is an ONNX model; leave it out", flag, options.path)};
  }
  FATCTX_ASSIGN(const std::string program, find_onnxruntime_program("fatctx_ort_bench"));
  std::vector<std::string> arguments = {program,       options.path,
                                        "--repeat",    std::to_string(options.load.repetitions),
                                        "--runs",      std::to_string(options.runs),
                                        "--dimension", std::to_string(options.dimension)};
  if (command.count("--sessions") != 0) arguments.insert(arguments.end(), {"--sessions", options.sessions});
  if (!options.svg.empty()) arguments.insert(arguments.end(), {"--svg", options.svg});
  if (options.embed) arguments.emplace_back("--embed");
  if (options.json) arguments.emplace_back("--json");
  return become_program(arguments);
}

std::string time_text(std::uint64_t nanoseconds) {
  const double microseconds = static_cast<double>(nanoseconds) / 1000;
  if (microseconds < 1000) return fmt::format("{:.3g} us", microseconds);
  return fmt::format("{:.4g} ms", microseconds / 1000);
}

// Memory that shrank while the sessions were created belonged to something else, so a negative number prints
// as 0.
std::string memory_text(const std::optional<ProcessMemory>& memory, std::int64_t ProcessMemory::*kind) {
  if (!memory) return "unknown";
  const std::int64_t bytes = *memory.*kind;
  return short_size_text(bytes < 0 ? 0 : static_cast<std::uint64_t>(bytes));
}

std::string bench_text(const LoadBench& bench, const BenchOptions& options) {
  Block block;
  block.add("file", options.path);
  block.add("chosen", fmt::format("{}, with its weights {}", bench.record, size_text(bench.record_bytes)));
  block.add("policy", fmt::format("{}; the heap copies are checked as well", options.verify));
  block.add("page cache", options.load.cold ? "records dropped before each load" : "warm");
  block.add("loads", fmt::format("{} for each row", options.load.repetitions));
  using Align = Table::Align;
  Table table({{"sessions", Align::kRight},
               {"way"},
               {"mappings", Align::kRight},
               {"min", Align::kRight},
               {"median", Align::kRight},
               {"further, min", Align::kRight},
               {"anonymous", Align::kRight},
               {"file-backed", Align::kRight}});
  std::uint64_t composed = 0;
  for (const LoadFigure& figure : bench.figures) {
    composed = std::max(composed, figure.composed_bytes);
    table.add_row({std::to_string(figure.sessions), load_way_name(figure.way), std::to_string(figure.mappings),
                   time_text(figure.min_ns), time_text(figure.median_ns),
                   figure.sessions > 1 ? time_text(figure.further_min_ns) : "",
                   memory_text(figure.memory, &ProcessMemory::anonymous_bytes),
                   memory_text(figure.memory, &ProcessMemory::file_backed_bytes)});
  }
  if (composed != 0) {
    block.add("composed", fmt::format("{} in sealed memory, once for all sessions", size_text(composed)));
  }
  return block.text() + "\n" + table.text();
}

Json bench_json(const LoadBench& bench, const BenchOptions& options) {
  Json rows = Json::array();
  for (const LoadFigure& figure : bench.figures) {
    rows.push_back({{"sessions", figure.sessions},
                    {"way", load_way_name(figure.way)},
                    {"mappings", figure.mappings},
                    {"min_ns", figure.min_ns},
                    {"median_ns", figure.median_ns},
                    {"further_min_ns", figure.further_min_ns},
                    {"anonymous_bytes", figure.memory ? Json(figure.memory->anonymous_bytes) : Json()},
                    {"file_backed_bytes", figure.memory ? Json(figure.memory->file_backed_bytes) : Json()},
                    {"composed_bytes", figure.composed_bytes}});
  }
  return {{"schema", "fatctx.bench_load/1"},         {"file", options.path},      {"chosen", bench.record},
          {"record_bytes", bench.record_bytes},      {"verify", options.verify},  {"cold", options.load.cold},
          {"repetitions", options.load.repetitions}, {"figures", std::move(rows)}};
}

// Parses a list such as "1,2,4": from 1 to 1024 sessions each.
Result<std::vector<std::uint32_t>> session_counts(std::string_view text) {
  std::vector<std::uint32_t> counts;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    std::uint32_t count = 0;
    const auto [rest, failed] = std::from_chars(text.data() + at, text.data() + end, count);
    if (failed != std::errc{} || rest != text.data() + end || count < 1 || count > 1024) {
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("--sessions is \"{}\"; numbers from 1 to 1024 with commas between them, as 1,2,4", text)};
    }
    counts.push_back(count);
    at = end + 1;
  }
  return counts;
}

Result<ExitCode> run_bench(BenchOptions options, const CLI::App& command) {
  if (is_onnx(options)) return run_onnx_bench(options, command);
  for (const char* const flag : {"--svg", "--runs", "--dimension", "--embed"}) {
    if (command.count(flag) == 0) continue;
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{} is for ONNX models, and {} is none; leave it out", flag, options.path)};
  }
  FATCTX_ASSIGN(options.load.sessions, session_counts(options.sessions));
  options.load.model.open.verify = options.verify == "none" ? VerifyPolicy::kNone : VerifyPolicy::kRecordOnAcquire;
  if (!options.device.empty()) {
    FATCTX_ASSIGN(const SocTable table, asked_soc_table());
    FATCTX_ASSIGN(options.load.model.device, device_in_words(options.device, table));
    options.load.model.policy.soc_table = table;
  }
  FATCTX_ASSIGN(const LoadBench bench, bench_load(options.path, options.load));
  print_result(options.json ? json_text(bench_json(bench, options)) : bench_text(bench, options));
  return ExitCode::kOk;
}

}  // namespace

void add_bench(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<BenchOptions>();
  CLI::App* command = describe(
      app, "bench",
      {.purpose = "Measure what loading costs on this machine, in time and memory",
       .synopsis = "fatctx bench load FILE [options]",
       .examples = {"fatctx bench load model.fatctx", "fatctx bench load model.fatctx --sessions 1,8 --cold --json"},
       .more = "docs/cli/bench.md, docs/benchmarks.md"});
  command->add_option("WHAT", options->what, "load: open, choose and take the views")
      ->required()
      ->check(CLI::IsMember({"load"}));
  command->add_option("FILE", options->path, "The container; or MODEL.onnx, to compare ways to load it")->required();
  command
      ->add_option("--sessions", options->sessions, "How many live at once; default: 1,2,4; of a model one number: 8")
      ->type_name("N,N");
  command->add_option("--repeat", options->load.repetitions, "Loads for each row; default: 5")
      ->type_name("N")
      ->check(whole_number(1, 10000));
  command->add_option("--device", options->device, "A device in words; default: this machine")->type_name("TEXT");
  command->add_option("--verify", options->verify, "record_on_acquire (default) or none")
      ->type_name("POLICY")
      ->check(CLI::IsMember({"record_on_acquire", "none"}));
  command
      ->add_option("--max-copied-bytes", options->load.model.open.max_copied_bytes,
                   "Memory that composed views may take; default: 0")
      ->check(whole_number())
      ->type_name("BYTES");
  command->add_flag("--cold", options->load.cold, "Drop the records from the page cache before each load");
  command->add_option("--runs", options->runs, "For a model: also run both sessions so often, in turn; default: 0")
      ->type_name("N")
      ->check(whole_number());
  command->add_option("--dimension", options->dimension, "For a model: instead of sizes that are not fixed; default: 1")
      ->type_name("N")
      ->check(whole_number());
  command->add_flag("--embed", options->embed, "For a model: also with the container embedded in it");
  command->add_option("--svg", options->svg, "For a model: write a picture of the figures")->type_name("FILE");
  command->add_flag("--json", options->json, "Print JSON (schema fatctx.bench_load/1, fatctx.bench_onnxruntime/1)");
  command->callback([options, command, &outcome] { outcome.finish(run_bench(*options, *command)); });
}

}  // namespace fatctx::tools
