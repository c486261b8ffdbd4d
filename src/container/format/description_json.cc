#include "container/format/description_json.h"

#include <utility>

namespace fatctx::container {
namespace {

Json tensor_json(const DescribedTensor& tensor) {
  Json json = {{"name", tensor.name}, {"dtype", tensor.dtype}, {"shape", tensor.shape}};
  if (tensor.scales.empty()) return json;
  Json scales = Json::array();
  for (const DescribedScale& scale : tensor.scales) {
    scales.push_back({{"scale", Json(scale.scale)}, {"offset", scale.offset}});
  }
  json.add("scales", std::move(scales));
  if (tensor.scales.size() > 1) json.add("axis", tensor.axis);
  return json;
}

Json tensors_json(const std::vector<DescribedTensor>& tensors) {
  Json array = Json::array();
  for (const DescribedTensor& tensor : tensors) array.push_back(tensor_json(tensor));
  return array;
}

}  // namespace

Json options_json(const std::vector<DescribedOption>& options) {
  Json array = Json::array();
  for (const DescribedOption& option : options) {
    array.push_back({{"owner", option.owner}, {"key", option.key}, {"value", option.value}});
  }
  return array;
}

Json graph_json(const DescribedGraph& graph) {
  Json json = {{"name", graph.name}, {"inputs", tensors_json(graph.inputs)}, {"outputs", tensors_json(graph.outputs)}};
  if (graph.spill_fill_bytes != 0) json.add("spill_fill_bytes", graph.spill_fill_bytes);
  if (!graph.options.empty()) json.add("options", options_json(graph.options));
  return json;
}

}  // namespace fatctx::container
