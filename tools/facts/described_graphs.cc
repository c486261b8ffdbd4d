#include "tools/facts/described_graphs.h"

#include <fmt/format.h>

#include "tools/facts/io_quant.h"
#include "tools/facts/qnn_json.h"
#include "tools/facts/quant_facts.h"

namespace fatctx::tools {

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
  }
  auto& graphs = record.description.graphs;
  graphs.insert(graphs.end(), json.described.begin(), json.described.end());
  if (io.empty()) return Done{};
  QuantFacts facts;
  facts.options.push_back({std::string(kIoQuant), io_quant_text(io), std::string(kQuantOwner)});
  return add_quant_facts(facts, record.description.options);
}

}  // namespace fatctx::tools
