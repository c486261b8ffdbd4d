#include "tools/inspect/inferred_shapes.h"

#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/own_program.h"
#include "tools/cli/subprocess.h"
#include "tools/facts/json_file.h"

namespace fatctx::tools {

namespace {

constexpr std::size_t kMostOutput = std::size_t{512} << 20;

std::optional<OnnxShape> parsed_shape(const Json& json) {
  const Json* const dtype = json.find("dtype");
  if (dtype == nullptr || dtype->text() == nullptr) return std::nullopt;
  OnnxShape shape;
  shape.dtype = *dtype->text();
  const Json* const sizes = json.find("shape");
  if (sizes == nullptr || sizes->items() == nullptr) return shape;
  shape.sizes.emplace();
  for (const Json& size : *sizes->items()) shape.sizes->push_back(size.whole().value_or(-1));
  return shape;
}

std::optional<OnnxShapes> parsed_shapes(const std::string& text) {
  const auto json = parse_json(text, "shapes");
  if (!json.ok()) return std::nullopt;
  const Json* const graphs = json.value().find("graphs");
  if (graphs == nullptr || graphs->items() == nullptr) return std::nullopt;
  OnnxShapes shapes;
  for (const Json& graph : *graphs->items()) {
    auto& known = shapes.emplace_back();
    if (graph.items() == nullptr) return std::nullopt;
    for (const Json& tensor : *graph.items()) {
      const Json* const name = tensor.find("name");
      auto shape = parsed_shape(tensor);
      if (name == nullptr || name->text() == nullptr || !shape) return std::nullopt;
      known.emplace(*name->text(), std::move(*shape));
    }
  }
  return shapes;
}

InferredShapes none(std::string_view reason) { return {{}, fmt::format("as the model states them; {}", reason)}; }

}  // namespace

InferredShapes inferred_shapes(const std::string& path, const std::string& record, std::uint64_t generation) {
  const std::string folder = own_program_folder();
  const auto program = folder.empty() ? std::nullopt : find_program("fatctx", folder);
  if (!program) return none("the program that infers others is not beside this one");
  std::vector<std::string> arguments = {*program, "onnx-shapes"};
  if (!record.empty()) {
    arguments.insert(arguments.end(), {"--record", record, "--generation", fmt::format("{}", generation)});
  }
  arguments.insert(arguments.end(), {"--", path});
  const auto run =
      run_process({.arguments = std::move(arguments), .working_folder = {}, .max_output_bytes = kMostOutput});
  if (!run.ok()) return none(run.error().message);
  if (run.value().signal != 0) {
    return none(
        fmt::format("ONNX's library for others was ended by signal {}, as damaged models do", run.value().signal));
  }
  if (!run.value().succeeded()) {
    std::string reason = run.value().error_output;
    while (!reason.empty() && reason.back() == '\n') reason.pop_back();
    return none(reason);
  }
  auto shapes = parsed_shapes(run.value().output);
  if (!shapes) return none("the inferred ones could not be read");
  return {std::move(*shapes), fmt::format("stated by the model, the others inferred by ONNX's library, which knows "
                                          "operator sets up to {}",
                                          newest_inferred_opset())};
}

}  // namespace fatctx::tools
