#include "tools/facts/qnn_model.h"

#include <map>
#include <utility>

#include "fatctx/import_qnn_json.h"
#include "tools/facts/json_file.h"

namespace fatctx::tools {

OnnxNodeTensor border_tensor(const DescribedTensor& described) {
  OnnxNodeTensor tensor;
  tensor.name = described.name;
  tensor.shape = {described.dtype, described.shape};
  if (described.scales.size() == 1) tensor.scale = described.scales.front();
  return tensor;
}

Result<OnnxLook> look_at_qnn_json(const std::string& path) {
  FATCTX_ASSIGN(const std::string content, read_text_file(path));
  FATCTX_ASSIGN(const Json document, parse_json(content, path));
  const std::string text = json_line(document);  // written anew, because the file may have comments
  FATCTX_ASSIGN(const QnnNodes said, nodes_from_qnn_json(text, path));
  FATCTX_ASSIGN(const QnnGraphs graphs, graphs_from_qnn_json(text, path));

  std::map<std::string_view, const DescribedTensor*> tensors;
  for (const DescribedTensor& tensor : said.tensors) tensors.emplace(tensor.name, &tensor);
  const auto tensor_of = [&](const std::string& name) {
    const auto found = tensors.find(name);
    OnnxNodeTensor tensor;
    if (found != tensors.end()) tensor = border_tensor(*found->second);
    tensor.name = name;
    tensor.weight = said.weights.contains(name);
    return tensor;
  };
  OnnxLook look;
  look.graph = kQnnGraph;
  OnnxGraphLook& graph = look.graphs.emplace_back();
  graph.name = look.graph;
  for (const DescribedTensor& tensor : graphs.graphs.front().inputs) graph.inputs.push_back(border_tensor(tensor));
  for (const DescribedTensor& tensor : graphs.graphs.front().outputs) graph.outputs.push_back(border_tensor(tensor));
  for (const QnnNode& node : said.nodes) {
    OnnxNode& made = graph.nodes.emplace_back();
    made.index = graph.nodes.size() - 1;
    made.name = node.name;
    made.op = node.op;
    for (const std::string& name : node.inputs) made.inputs.push_back(tensor_of(name));
    for (const std::string& name : node.outputs) made.outputs.push_back(tensor_of(name));
    for (const DescribedOption& parameter : node.parameters)
      made.parameters.emplace_back(parameter.key, parameter.value);
    made.macs = node.macs;
  }
  return look;
}

}  // namespace fatctx::tools
