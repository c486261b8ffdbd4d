#include "tools/facts/qnn_json.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tools/facts/json_cursor.h"

namespace fatctx::tools {

namespace {

// A type by its number, which converters write, and by its word, which the utility writes.
struct QnnType {
  std::uint32_t number;
  std::string_view word;  // without QNN_DATATYPE_
  DType dtype;
  bool fixed_point = false;
};
constexpr QnnType kTypes[] = {
    {0x0008, "INT_8", DType::kI8},
    {0x0016, "INT_16", DType::kI16},
    {0x0032, "INT_32", DType::kI32},
    {0x0064, "INT_64", DType::kI64},
    {0x0108, "UINT_8", DType::kU8},
    {0x0116, "UINT_16", DType::kU16},
    {0x0132, "UINT_32", DType::kU32},
    {0x0164, "UINT_64", DType::kU64},
    {0x0216, "FLOAT_16", DType::kF16},
    {0x0232, "FLOAT_32", DType::kF32},
    {0x0264, "FLOAT_64", DType::kF64},
    {0x0304, "SFIXED_POINT_4", DType::kI4, true},
    {0x0308, "SFIXED_POINT_8", DType::kI8, true},
    {0x0316, "SFIXED_POINT_16", DType::kI16, true},
    {0x0332, "SFIXED_POINT_32", DType::kI32, true},
    {0x0404, "UFIXED_POINT_4", DType::kU4, true},
    {0x0408, "UFIXED_POINT_8", DType::kU8, true},
    {0x0416, "UFIXED_POINT_16", DType::kU16, true},
    {0x0432, "UFIXED_POINT_32", DType::kU32, true},
    {0x0508, "BOOL_8", DType::kBool},
};
constexpr std::string_view kTypePrefix = "QNN_DATATYPE_";
constexpr std::uint64_t kMaxDim = std::uint64_t{1} << 40;

// The keys of the same facts in one of the two forms.
struct Words {
  const char* type;
  const char* shape;
  const char* quantisation;
  const char* encoding;
  const char* scale_offset;
};
constexpr Words kUtility = {"dataType", "dimensions", "quantizeParams", "quantizationEncoding", "scaleOffset"};
constexpr Words kConverter = {"data_type", "dims", "quant_params", "encoding", "scale_offset"};

// The kinds of tensors that a converter lists.
constexpr std::uint64_t kInput = 0;
constexpr std::uint64_t kOutput = 1;

Result<QnnType> type_at(const JsonCursor& cursor) {
  const Json& value = cursor.value();
  const QnnType* found = std::end(kTypes);
  if (const std::uint64_t* const number = value.number()) {
    found = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& row) { return row.number == *number; });
  } else if (value.text() != nullptr) {
    std::string_view word = *value.text();
    if (word.starts_with(kTypePrefix)) word.remove_prefix(kTypePrefix.size());
    const bool unmarked = word.starts_with("FIXED_POINT_");  // an older spelling of the signed ones
    found = std::find_if(std::begin(kTypes), std::end(kTypes),
                         [&](const auto& row) { return row.word == word || (unmarked && row.word.substr(1) == word); });
  }
  if (found == std::end(kTypes)) return cursor.wrong("a type of the vendor's, such as QNN_DATATYPE_FLOAT_32 or 562");
  return *found;
}

// Compares a value with a word of the utility or a number of a converter. Their 1 and 0 are the utility's
// words QNN_DEFINITION_DEFINED and ..._SCALE_OFFSET.
bool says(const JsonCursor& cursor, std::string_view key, std::string_view word, std::uint64_t number) {
  if (!cursor.has(key)) return false;
  const Json& value = cursor.at(key).value();
  return value == Json(word) || value == Json(number);
}

// Returns the scale and zero point of the whole tensor; nothing if it has none, or one for each channel.
Result<std::optional<TensorQuantisation>> quantisation_at(const JsonCursor& tensor, const Words& words, DType dtype) {
  std::optional<TensorQuantisation> none;
  if (!tensor.has(words.quantisation)) return none;
  const JsonCursor all = tensor.at(words.quantisation);
  if (!all.is_object()) return all.wrong("an object");
  const bool defined = says(all, "definition", "QNN_DEFINITION_DEFINED", 1) &&
                       says(all, words.encoding, "QNN_QUANTIZATION_ENCODING_SCALE_OFFSET", 0);
  if (!defined) return none;
  FATCTX_ASSIGN(const JsonCursor pair, all.required(words.scale_offset));
  if (!pair.is_object()) return pair.wrong("an object with scale and offset");
  FATCTX_ASSIGN(const JsonCursor scale, pair.required("scale"));
  FATCTX_ASSIGN(const JsonCursor offset, pair.required("offset"));
  const auto scale_number = scale.value().real();
  if (!scale_number || *scale_number <= 0) return scale.wrong("a number above 0");
  // The vendor adds its offset to the stored number; ONNX subtracts its zero point.
  const bool is_signed = dtype == DType::kI8 || dtype == DType::kI16;
  const std::int64_t range = std::int64_t{1} << dtype_bits(dtype);
  const std::int64_t lowest = is_signed ? -range / 2 : 0;
  const std::int64_t highest = lowest + range - 1;
  const auto found = offset.value().whole();
  if (!found || *found < -highest || *found > -lowest) {
    return offset.wrong(fmt::format("a whole number from {} to {} for {}", -highest, -lowest, dtype_name(dtype)));
  }
  return std::optional(TensorQuantisation{.scale = *scale_number, .zero_point = -*found, .outside = {}});
}

Result<WrappedTensor> tensor_at(const JsonCursor& cursor, const Words& words, std::string name,
                                const std::string& graph, QnnJson& json) {
  if (!cursor.is_object()) return cursor.wrong("an object that describes a tensor");
  WrappedTensor tensor;
  tensor.name = std::move(name);
  FATCTX_ASSIGN(const JsonCursor type_cursor, cursor.required(words.type));
  FATCTX_ASSIGN(const QnnType type, type_at(type_cursor));
  tensor.dtype = type.dtype;
  FATCTX_ASSIGN(const JsonCursor shape, cursor.required(words.shape));
  FATCTX_ASSIGN(const auto dims, shape.elements());
  for (const JsonCursor& dim : dims) {
    FATCTX_ASSIGN(const std::uint64_t size, dim.number(kMaxDim));
    tensor.shape.push_back(static_cast<std::int64_t>(size));
  }
  if (!type.fixed_point) return tensor;
  const std::uint32_t bits = dtype_bits(type.dtype);
  if (bits == 8 || bits == 16) {
    FATCTX_ASSIGN(tensor.quantisation, quantisation_at(cursor, words, type.dtype));
  }
  if (!tensor.quantisation) {
    const std::string of_graph = graph.empty() ? std::string() : fmt::format("graph \"{}\": ", graph);
    json.notes.push_back(
        fmt::format("{}tensor \"{}\" is {} in fixed point without a scale for the whole tensor; it "
                    "stays as it is",
                    of_graph, tensor.name, dtype_name(tensor.dtype)));
  }
  return tensor;
}

// Returns the object with the facts: the utility nests them one level deeper, under "info".
JsonCursor inner(const JsonCursor& cursor) {
  return cursor.is_object() && cursor.has("info") ? cursor.at("info") : cursor;
}

Result<std::vector<WrappedTensor>> tensors_at(const JsonCursor& cursor, const std::string& graph, QnnJson& json) {
  std::vector<WrappedTensor> tensors;
  FATCTX_ASSIGN(const auto list, cursor.elements());
  for (const JsonCursor& element : list) {
    const JsonCursor info = inner(element);
    if (!info.is_object()) return info.wrong("an object that describes a tensor");
    FATCTX_ASSIGN(const JsonCursor name_cursor, info.required("name"));
    FATCTX_ASSIGN(std::string name, name_cursor.text());
    FATCTX_ASSIGN(WrappedTensor tensor, tensor_at(info, kUtility, std::move(name), graph, json));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

// Returns the backend's value for a graph; 0 if there is none, as for backends without such a buffer.
Result<std::uint64_t> spill_fill_at(const JsonCursor& graph) {
  if (!graph.has("graphBlobInfo")) return std::uint64_t{0};
  const JsonCursor said = inner(graph.at("graphBlobInfo"));
  if (!said.is_object() || !said.has("spillFillBufferSize")) return std::uint64_t{0};
  return said.at("spillFillBufferSize").number(static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()));
}

Status read_graphs(const JsonCursor& info, QnnJson& json) {
  if (info.has("buildId")) FATCTX_TRY(store(info.at("buildId").text(), json.build_id));
  FATCTX_ASSIGN(const auto list, info.at("graphs").elements());
  if (list.empty()) return info.at("graphs").error("is empty; there is no graph to wrap");
  for (const JsonCursor& element : list) {
    const JsonCursor said = inner(element);
    if (!said.is_object()) return said.wrong("an object that describes a graph");
    WrappedGraph graph;
    FATCTX_ASSIGN(const JsonCursor name, said.required("graphName"));
    FATCTX_ASSIGN(graph.name, name.text());
    FATCTX_ASSIGN(const JsonCursor inputs, said.required("graphInputs"));
    FATCTX_ASSIGN(const JsonCursor outputs, said.required("graphOutputs"));
    FATCTX_ASSIGN(graph.inputs, tensors_at(inputs, graph.name, json));
    FATCTX_ASSIGN(graph.outputs, tensors_at(outputs, graph.name, json));
    FATCTX_TRY(store(spill_fill_at(said), graph.spill_fill_bytes));
    json.graphs.push_back(std::move(graph));
  }
  return Done{};
}

// Reads the tensors in the order of their ids, which is that of the graph; without ids in the order of their
// names.
Status read_tensors(const JsonCursor& tensors, QnnJson& json) {
  WrappedGraph graph;
  std::vector<std::pair<std::uint64_t, WrappedTensor>> inputs;
  std::vector<std::pair<std::uint64_t, WrappedTensor>> outputs;
  FATCTX_ASSIGN(const auto members, tensors.members());
  for (const auto& [name, cursor] : members) {
    if (!cursor.is_object()) return cursor.wrong("an object that describes a tensor");
    FATCTX_ASSIGN(const JsonCursor kind_cursor, cursor.required("type"));
    FATCTX_ASSIGN(const std::uint64_t kind, kind_cursor.number(std::numeric_limits<std::uint32_t>::max()));
    if (kind != kInput && kind != kOutput) continue;
    FATCTX_ASSIGN(WrappedTensor tensor, tensor_at(cursor, kConverter, name, {}, json));
    std::uint64_t id = 0;
    if (cursor.has("id")) {
      FATCTX_ASSIGN(id, cursor.at("id").number(std::numeric_limits<std::uint32_t>::max()));
    }
    (kind == kInput ? inputs : outputs).emplace_back(id, std::move(tensor));
  }
  const auto in_order = [](std::vector<std::pair<std::uint64_t, WrappedTensor>>& list) {
    std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<WrappedTensor> ordered;
    ordered.reserve(list.size());
    for (auto& [id, tensor] : list) ordered.push_back(std::move(tensor));
    return ordered;
  };
  if (inputs.empty() || outputs.empty()) return tensors.error("lists no input (type 0) or no output (type 1)");
  graph.inputs = in_order(inputs);
  graph.outputs = in_order(outputs);
  json.graphs.push_back(std::move(graph));
  return Done{};
}

}  // namespace

Result<QnnJson> parse_qnn_json(std::string_view text, const std::string& file) {
  FATCTX_ASSIGN(const Json document, parse_json(text, file));
  const JsonCursor root(file, document);
  const auto object_at = [](const JsonCursor& cursor, std::string_view key, std::string_view inside) {
    if (!cursor.is_object() || !cursor.has(key)) return false;
    const JsonCursor found = cursor.at(key);
    return found.is_object() && found.has(inside);
  };
  QnnJson json;
  if (object_at(root, "info", "graphs")) {
    FATCTX_TRY(read_graphs(root.at("info"), json));
  } else if (object_at(root, "graph", "tensors")) {
    FATCTX_TRY(read_tensors(root.at("graph").at("tensors"), json));
  } else {
    return root.error(
        "neither info.graphs, as qnn-context-binary-utility writes it, nor graph.tensors, as the converters do");
  }
  return json;
}

Result<QnnJson> read_qnn_json(const std::string& path) {
  FATCTX_ASSIGN(const std::string text, read_text_file(path));
  return parse_qnn_json(text, path);
}

}  // namespace fatctx::tools
