#include "tools/inspect/graph_json.h"

#include <utility>
#include <vector>

namespace fatctx::tools {

namespace {

Json border_json(const std::vector<DescribedTensor>& tensors) {
  Json list = Json::array();
  for (const DescribedTensor& tensor : tensors) {
    Json json = {{"name", tensor.name}, {"dtype", tensor.dtype}, {"shape", tensor.shape}};
    if (!tensor.scales.empty()) {
      Json scales = Json::array();
      for (const DescribedScale& scale : tensor.scales) {
        scales.push_back({{"scale", Json(scale.scale)}, {"offset", scale.offset}});
      }
      json.add("scales", std::move(scales));
      if (tensor.scales.size() > 1) json.add("axis", tensor.axis);
    }
    list.push_back(std::move(json));
  }
  return list;
}

}  // namespace

Json described_graph_json(const DescribedGraph& graph) {
  Json json = {{"name", graph.name}, {"inputs", border_json(graph.inputs)}, {"outputs", border_json(graph.outputs)}};
  if (graph.spill_fill_bytes != 0) json.add("spill_fill_bytes", graph.spill_fill_bytes);
  return json;
}

}  // namespace fatctx::tools
