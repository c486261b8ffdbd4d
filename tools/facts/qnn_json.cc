#include "tools/facts/qnn_json.h"

#include <cmath>
#include <optional>
#include <utility>

#include "fatctx/import_qnn_json.h"
#include "tools/facts/json_file.h"

namespace fatctx::tools {

namespace {

constexpr std::int64_t kMaxOffset = 65535;  // of the types that models can quantise

Result<std::vector<WrappedTensor>> wrapped(const std::vector<DescribedTensor>& described) {
  std::vector<WrappedTensor> tensors;
  for (const DescribedTensor& tensor : described) {
    const auto dtype = dtype_from_name(tensor.dtype);
    if (!dtype) return Error{ErrorCode::kInternal, "an element type without a number"};
    WrappedTensor made{.name = tensor.name, .dtype = *dtype, .shape = tensor.shape};
    made.quantisation = described_quantisation(tensor);
    tensors.push_back(std::move(made));
  }
  return tensors;
}

}  // namespace

std::optional<TensorQuantisation> described_quantisation(const DescribedTensor& tensor) {
  const auto dtype = dtype_from_name(tensor.dtype);
  if (!dtype || tensor.scales.size() != 1) return std::nullopt;
  const std::uint32_t bits = dtype_bits(*dtype);
  const auto [scale, offset] = tensor.scales[0];
  // A foreign container may state any number.
  const bool usable = std::isfinite(scale) && scale > 0 && offset >= -kMaxOffset && offset <= kMaxOffset;
  if ((bits != 8 && bits != 16) || !usable) return std::nullopt;
  return TensorQuantisation{.scale = scale, .zero_point = -offset, .outside = {}};
}

Result<QnnJson> parse_qnn_json(std::string_view text, const std::string& file) {
  FATCTX_ASSIGN(const Json document, parse_json(text, file));
  // Written anew, because the file may have comments.
  FATCTX_ASSIGN(QnnGraphs said, graphs_from_qnn_json(json_line(document), file));
  QnnJson json{.build_id = std::move(said.build_id),
               .graphs = {},
               .described = {},
               .notes = std::move(said.notes),
               .facts = std::move(said.facts)};
  for (const DescribedGraph& graph : said.graphs) {
    WrappedGraph made{.name = graph.name, .inputs = {}, .outputs = {}, .spill_fill_bytes = graph.spill_fill_bytes};
    FATCTX_ASSIGN(made.inputs, wrapped(graph.inputs));
    FATCTX_ASSIGN(made.outputs, wrapped(graph.outputs));
    json.graphs.push_back(std::move(made));
  }
  json.described = std::move(said.graphs);
  return json;
}

Result<QnnJson> read_qnn_json(const std::string& path) {
  FATCTX_ASSIGN(const std::string text, read_text_file(path));
  return parse_qnn_json(text, path);
}

}  // namespace fatctx::tools
