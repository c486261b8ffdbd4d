#include "tools/facts/described_graphs.h"

#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tools/facts/io_quant.h"
#include "tools/facts/qnn_json.h"
#include "tools/facts/quant_facts.h"

namespace fatctx::tools {

namespace {

std::vector<DescribedTensor> described(const std::vector<WrappedTensor>& tensors) {
  std::vector<DescribedTensor> result;
  result.reserve(tensors.size());
  for (const WrappedTensor& tensor : tensors) {
    result.push_back({tensor.name, std::string(dtype_name(tensor.dtype)), tensor.shape});
  }
  return result;
}

}  // namespace

bool is_qnn_json(const std::string& path) { return path.ends_with(".json"); }

Status describe_by_qnn_json(const std::string& path, PackRecord& record) {
  FATCTX_ASSIGN(const QnnJson json, read_qnn_json(path));
  IoQuantisation io;
  for (const WrappedGraph& graph : json.graphs) {
    if (graph.name.empty()) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("{}: does not say what the graph is called, as JSON of a converter; give that of "
                               "qnn-context-binary-utility, or list the graph in a manifest",
                               path)};
    }
    for (const auto* const tensors : {&graph.inputs, &graph.outputs}) {
      for (const WrappedTensor& tensor : *tensors) {
        if (tensor.quantisation) io[graph.name].emplace(tensor.name, *tensor.quantisation);
      }
    }
    record.description.graphs.push_back({.name = graph.name,
                                         .inputs = described(graph.inputs),
                                         .outputs = described(graph.outputs),
                                         .spill_fill_bytes = graph.spill_fill_bytes});
  }
  if (io.empty()) return Done{};
  QuantFacts facts;
  facts.options.push_back({std::string(kIoQuant), io_quant_text(io), std::string(kQuantOwner)});
  return add_quant_facts(facts, record.description.options);
}

}  // namespace fatctx::tools
