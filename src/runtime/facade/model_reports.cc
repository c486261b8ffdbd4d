// Reports about a model: its graphs, and its choice as JSON. The small loader has neither.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "fatctx/model.h"
#include "runtime/facade/model_impl.h"
#include "runtime/facade/plain_model.h"

namespace fatctx {

Result<std::vector<std::vector<std::string>>> graphs_of_binaries(const Model::Impl& model) {
  std::vector<std::vector<std::string>> graphs(model.binaries.size());
  ContainerDescription description;
  if (model.container) {
    FATCTX_ASSIGN(description, model.container->describe());
  }
  for (std::size_t i = 0; i < graphs.size(); ++i) {
    const std::uint32_t id = model.binaries[i].record_id;
    if (model.plain) {
      graphs[i] = model.plain->graphs(id);
    } else if (const RecordDescription* record = description.find(id)) {
      for (const DescribedGraph& graph : record->graphs) graphs[i].push_back(graph.name);
    }
  }
  return graphs;
}

Result<std::vector<std::string>> Model::graphs(std::uint32_t record_id) const {
  const auto chosen = std::find_if(impl_->binaries.begin(), impl_->binaries.end(),
                                   [&](const ModelPart& part) { return part.record_id == record_id; });
  if (chosen == impl_->binaries.end()) {
    return Error{ErrorCode::kNotFound, fmt::format("{}: record {} is not a chosen context binary; selection().chosen "
                                                   "lists their ids",
                                                   path(), record_id)};
  }
  FATCTX_ASSIGN(auto graphs, graphs_of_binaries(*impl_));
  return std::move(graphs[static_cast<std::size_t>(chosen - impl_->binaries.begin())]);
}

std::string Model::explain_json() const {
  if (impl_->format == ModelFormat::kRawBinary) return "null\n";
  return fatctx::explain_json(impl_->selection, impl_->candidates, impl_->device, impl_->policy);
}

}  // namespace fatctx
