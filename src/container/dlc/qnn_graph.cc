#include "container/dlc/qnn_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "container/format/disk_format.h"
#include "container/format/names.h"
#include "fatctx/record.h"

namespace fatctx::container::dlc {
namespace {

// A type by its number, which converters write, and by its word, which the others write.
struct QnnType {
  std::uint32_t number;   // 0: only the word is known
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
    {0, "BFLOAT_16", DType::kBF16},
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
constexpr std::size_t kMaxFacts = 64;  // for each graph

Result<QnnType> type_at(const JsonPlace& place) {
  const QnnType* found = std::end(kTypes);
  if (const std::uint64_t* number = place.value().number(); number != nullptr && *number != 0) {
    found = std::find_if(std::begin(kTypes), std::end(kTypes), [&](const auto& row) { return row.number == *number; });
  } else if (place.value().text() != nullptr) {
    std::string_view word = *place.value().text();
    if (word.starts_with(kTypePrefix)) word.remove_prefix(kTypePrefix.size());
    const bool unmarked = word.starts_with("FIXED_POINT_");  // an older spelling of the signed ones
    found = std::find_if(std::begin(kTypes), std::end(kTypes),
                         [&](const auto& row) { return row.word == word || (unmarked && row.word.substr(1) == word); });
  }
  if (found == std::end(kTypes)) return place.wrong("a type of the vendor's, such as QNN_DATATYPE_FLOAT_32 or 562");
  return *found;
}

// Compares a value with a word of the utility or a number of a converter.
bool says(const JsonPlace& place, std::string_view key, std::string_view word, std::uint64_t number) {
  const Json* value = place.value().find(key);
  return value != nullptr && (*value == Json(word) || *value == Json(number));
}

Result<DescribedScale> scale_at(const JsonPlace& pair, DType dtype) {
  if (!pair.is_object()) return pair.wrong("an object with scale and offset");
  FATCTX_ASSIGN(const JsonPlace scale, pair.required("scale"));
  FATCTX_ASSIGN(const JsonPlace offset, pair.required("offset"));
  const auto number = scale.value().real();
  if (!number || !(*number > 0)) return scale.wrong("a number above 0");
  // The offset is the negative of a number that the type can store.
  const std::uint32_t bits = dtype_bits(dtype);
  const bool is_signed = dtype == DType::kI4 || dtype == DType::kI8 || dtype == DType::kI16 || dtype == DType::kI32;
  const std::int64_t range = std::int64_t{1} << std::min<std::uint32_t>(bits, 32);
  const std::int64_t lowest = is_signed ? -range / 2 : 0;
  const std::int64_t highest = lowest + range - 1;
  const auto found = offset.value().whole();
  if (!found || *found < -highest || *found > -lowest) {
    return offset.wrong(fmt::format("a whole number from {} to {} for {}", -highest, -lowest, dtype_name(dtype)));
  }
  return DescribedScale{*number, *found};
}

Status read_axis_scales(const JsonPlace& place, DescribedTensor& tensor, DType dtype) {
  if (!place.is_object()) return place.wrong("an object with axis and scaleOffsets");
  FATCTX_ASSIGN(const JsonPlace axis, place.required("axis"));
  FATCTX_ASSIGN(const std::uint64_t number, axis.number(std::numeric_limits<std::uint32_t>::max()));
  FATCTX_ASSIGN(const JsonPlace list, place.required("scaleOffsets"));
  FATCTX_ASSIGN(const auto pairs, list.elements());
  if (number >= tensor.shape.size()) return axis.wrong(fmt::format("a dimension below {}", tensor.shape.size()));
  const std::int64_t along = tensor.shape[static_cast<std::size_t>(number)];
  if (along >= 0 && pairs.size() != static_cast<std::uint64_t>(along)) {
    return list.error(fmt::format("has {} scales for {} indexes of dimension {}", pairs.size(), along, number));
  }
  tensor.axis = static_cast<std::uint32_t>(number);
  for (const JsonPlace& pair : pairs) {
    FATCTX_ASSIGN(const DescribedScale scale, scale_at(pair, dtype));
    tensor.scales.push_back(scale);
  }
  return Done{};
}

// Reads one scale for the tensor, or one for each index of an axis; other encodings are left out.
Status read_scales(const JsonPlace& place, const QnnWords& words, DescribedTensor& tensor, DType dtype) {
  if (!place.has(words.quantisation)) return Done{};
  const JsonPlace all = place.at(words.quantisation);
  if (!all.is_object()) return all.wrong("an object");
  if (!says(all, "definition", "QNN_DEFINITION_DEFINED", 1)) return Done{};
  const auto is = [&](std::string_view word, std::uint64_t number) { return says(all, words.encoding, word, number); };
  if (is("QNN_QUANTIZATION_ENCODING_SCALE_OFFSET", 0)) {
    FATCTX_ASSIGN(const JsonPlace pair, all.required(words.scale_offset));
    FATCTX_ASSIGN(const DescribedScale scale, scale_at(pair, dtype));
    tensor.scales.push_back(scale);
  } else if (is("QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET", 2) && all.has("bwScaleOffset")) {
    FATCTX_ASSIGN(const DescribedScale scale, scale_at(all.at("bwScaleOffset"), dtype));
    tensor.scales.push_back(scale);
  } else if (is("QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET", 1) && all.has("axisScaleOffset")) {
    return read_axis_scales(all.at("axisScaleOffset"), tensor, dtype);
  }
  return Done{};
}

Status read_shape(const JsonPlace& place, const QnnWords& words, DescribedTensor& tensor) {
  FATCTX_ASSIGN(const JsonPlace shape, place.required(words.shape));
  FATCTX_ASSIGN(const auto dims, shape.elements());
  for (const JsonPlace& dim : dims) {
    FATCTX_ASSIGN(const std::uint64_t size, dim.number(kMaxDim));
    tensor.shape.push_back(static_cast<std::int64_t>(size));
  }
  const Json* dynamic = place.value().find("isDynamicDimensions");
  if (dynamic == nullptr || dynamic->items() == nullptr) return Done{};
  for (std::size_t i = 0; i < std::min(dynamic->items()->size(), tensor.shape.size()); ++i) {
    const Json& is = (*dynamic->items())[i];
    if (is == Json(true) || is == Json(1)) tensor.shape[i] = -1;
  }
  return Done{};
}

void add_number(std::string_view key, const Json& value, std::vector<DescribedOption>& facts) {
  const std::uint64_t* number = value.number();
  if (number == nullptr || facts.size() >= kMaxFacts || !check_name(key, kMaxNameSize, false, "fact").ok()) return;
  const bool known = std::any_of(facts.begin(), facts.end(), [&](const auto& fact) { return fact.key == key; });
  if (!known) facts.push_back({std::string(key), std::to_string(*number), std::string(kQnnOwner)});
}

}  // namespace

Result<QnnTensor> read_qnn_tensor(const JsonPlace& place, const QnnWords& words, std::string name) {
  if (!place.is_object()) return place.wrong("an object that describes a tensor");
  if (auto named = check_name(name, kMaxTensorNameSize, true, "name of a tensor"); !named.ok()) {
    return place.error(named.error().message);
  }
  QnnTensor tensor;
  tensor.described.name = std::move(name);
  FATCTX_ASSIGN(const JsonPlace type_place, place.required(words.type));
  FATCTX_ASSIGN(const QnnType type, type_at(type_place));
  tensor.described.dtype = dtype_name(type.dtype);
  tensor.fixed_point = type.fixed_point;
  FATCTX_TRY(read_shape(place, words, tensor.described));
  if (type.fixed_point) FATCTX_TRY(read_scales(place, words, tensor.described, type.dtype));
  return tensor;
}

JsonPlace inner_place(const JsonPlace& place) { return place.has("info") ? place.at("info") : place; }

Result<std::vector<QnnTensor>> read_qnn_tensors(const JsonPlace& list) {
  std::vector<QnnTensor> tensors;
  FATCTX_ASSIGN(const auto elements, list.elements());
  for (const JsonPlace& element : elements) {
    const JsonPlace info = inner_place(element);
    if (!info.is_object()) return info.wrong("an object that describes a tensor");
    FATCTX_ASSIGN(const JsonPlace name_place, info.required("name"));
    FATCTX_ASSIGN(std::string name, name_place.text());
    FATCTX_ASSIGN(QnnTensor tensor, read_qnn_tensor(info, kUtilityWords, std::move(name)));
    tensors.push_back(std::move(tensor));
  }
  return tensors;
}

std::vector<DescribedOption> qnn_graph_facts(const JsonPlace& graph) {
  std::vector<DescribedOption> facts;
  for (const char* part : {"graphBlobInfo", "graphBlobInfoV2"}) {
    if (!graph.has(part)) continue;
    const JsonPlace said = inner_place(graph.at(part));
    if (!said.is_object()) continue;
    for (const auto& [key, value] : *said.value().members()) {
      if (key != "spillFillBufferSize") add_number(key, value, facts);
    }
  }
  for (const char* key : {"startOpIndex", "endOpIndex"}) {
    if (graph.has(key)) add_number(key, graph.at(key).value(), facts);
  }
  return facts;
}

}  // namespace fatctx::container::dlc
