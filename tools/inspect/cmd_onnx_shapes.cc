// The hidden fatctx onnx-shapes: prints the inferred shapes of a model as JSON, for inferred_shapes().
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include <CLI/CLI.hpp>

#include "tools/cli/command.h"
#include "tools/cli/print.h"
#include "tools/cli/subprocess.h"
#include "tools/inspect/model_views.h"

namespace fatctx::tools {

namespace {

constexpr std::uint64_t kMostMemory = std::uint64_t{8} << 30;  // beyond the program itself; a model has 2 GiB at most
// The limit on processor time. Models of thousands of nodes need less than a second.
constexpr std::uint64_t kMostSeconds = 20;

Result<ExitCode> run_onnx_shapes(const std::string& path, const std::string& record, std::uint64_t generation) {
  limit_own_process(kMostMemory, kMostSeconds);
  std::string content;
  OnnxSource source{path};
  if (!record.empty()) {
    FATCTX_ASSIGN(content, stored_model(path, record, generation));
    source.content = std::as_bytes(std::span(content));
  }
  FATCTX_ASSIGN(const OnnxShapes shapes, infer_onnx_shapes(source));
  Json graphs = Json::array();
  for (const auto& graph : shapes) {
    Json tensors = Json::array();
    for (const auto& [name, shape] : graph) {
      tensors.push_back({{"name", name}, {"dtype", shape.dtype}, {"shape", shape.sizes}});
    }
    graphs.push_back(std::move(tensors));
  }
  print_result(json_line({{"graphs", std::move(graphs)}}) + "\n");
  return ExitCode::kOk;
}

}  // namespace

void add_onnx_shapes(CLI::App& app, Outcome& outcome) {
  auto path = std::make_shared<std::string>();
  auto record = std::make_shared<std::string>();
  auto generation = std::make_shared<std::uint64_t>(0);
  CLI::App* command = describe(app, "onnx-shapes",
                               {.purpose = "Print the inferred shapes of an ONNX model, for fatctx info",
                                .synopsis = "fatctx onnx-shapes FILE [--record RECORD]",
                                .examples = {"fatctx onnx-shapes model.onnx"},
                                .more = "docs/cli/inspect.md"});
  command->group("");  // hidden
  command->add_option("FILE", *path, "The model, or a container")->required();
  command->add_option("--record", *record, "The model is this record of the container");
  command->add_option("--generation", *generation, "The state of the container; 0 is the newest")
      ->check(whole_number());
  command->callback(
      [path, record, generation, &outcome] { outcome.finish(run_onnx_shapes(*path, *record, *generation)); });
}

}  // namespace fatctx::tools
