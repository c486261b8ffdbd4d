#include "tools/onnx/onnx_import.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "fatctx/base/bytes.h"
#include "fatctx/base/checked.h"
#include "tools/onnx/model_folder.h"
#include "tools/onnx/onnx_file.h"
#include "tools/onnx/onnx_hoist.h"
#include "tools/onnx/stored_number.h"

namespace fatctx::tools {

namespace {

struct ElementType {
  int onnx;  // TensorProto::DataType; newer numbers than the installed header's are listed by value
  std::optional<DType> dtype;
  std::string_view name;   // of a type without dtype
  std::uint32_t bits = 0;  // the same; 0: no fixed size
};
const ElementType kElementTypes[] = {
    {1, DType::kF32, ""},
    {2, DType::kU8, ""},
    {3, DType::kI8, ""},
    {4, DType::kU16, ""},
    {5, DType::kI16, ""},
    {6, DType::kI32, ""},
    {7, DType::kI64, ""},
    {8, std::nullopt, "string"},
    {9, DType::kBool, ""},
    {10, DType::kF16, ""},
    {11, DType::kF64, ""},
    {12, DType::kU32, ""},
    {13, DType::kU64, ""},
    {14, std::nullopt, "complex64", 64},
    {15, std::nullopt, "complex128", 128},
    {16, DType::kBF16, ""},
    {17, std::nullopt, "float8e4m3fn", 8},
    {18, std::nullopt, "float8e4m3fnuz", 8},
    {19, std::nullopt, "float8e5m2", 8},
    {20, std::nullopt, "float8e5m2fnuz", 8},
    {21, DType::kU4, ""},
    {22, DType::kI4, ""},
    {23, std::nullopt, "float4e2m1", 4},
    {24, std::nullopt, "float8e8m0", 8},
    {25, std::nullopt, "uint2", 2},
    {26, std::nullopt, "int2", 2},
};

const ElementType* element_type(int onnx) {
  const auto* found = std::find_if(std::begin(kElementTypes), std::end(kElementTypes),
                                   [&](const auto& row) { return row.onnx == onnx; });
  return found == std::end(kElementTypes) ? nullptr : found;
}

DescribedTensor describe(const onnx::ValueInfoProto& value) {
  DescribedTensor tensor;
  tensor.name = value.name();
  if (!value.type().has_tensor_type()) {
    tensor.dtype = "not a tensor";
    return tensor;
  }
  const auto& type = value.type().tensor_type();
  tensor.dtype = element_type_name(type.elem_type());
  for (const auto& dim : type.shape().dim()) {
    tensor.shape.push_back(dim.has_dim_value() && dim.dim_value() >= 0 ? dim.dim_value() : -1);
  }
  return tensor;
}

// Parses a number of an entry of external_data: digits only.
std::optional<std::uint64_t> number_of(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

Result<OnnxExternal> external_of(const onnx::TensorProto& tensor) {
  OnnxExternal external;
  for (const auto& entry : tensor.external_data()) {
    if (entry.key() == "location") external.location = entry.value();
    if (entry.key() != "offset" && entry.key() != "length") continue;
    const auto number = number_of(entry.value());
    if (!number) {
      return Error{ErrorCode::kMalformed,
                   fmt::format("initializer \"{}\": the {} of its external data is \"{}\", not a whole number",
                               tensor.name(), entry.key(), entry.value())};
    }
    if (entry.key() == "offset") external.offset = *number;
    if (entry.key() == "length") external.size = *number;
  }
  if (external.location.empty()) {
    return Error{ErrorCode::kMalformed,
                 fmt::format("initializer \"{}\" has external data without a location", tensor.name())};
  }
  return external;
}

bool lies_outside(const onnx::TensorProto& tensor) {
  return tensor.data_location() == onnx::TensorProto::EXTERNAL || tensor.external_data_size() != 0;
}

Result<OnnxInitializer> initializer_of(const onnx::TensorProto& tensor) {
  OnnxInitializer initializer;
  initializer.name = tensor.name();
  const ElementType* type = element_type(tensor.data_type());
  initializer.type = element_type_name(tensor.data_type());
  if (type != nullptr) {
    initializer.dtype = type->dtype;
    initializer.bits = type->dtype ? dtype_bits(*type->dtype) : type->bits;
  }
  for (const std::int64_t dim : tensor.dims()) {
    if (dim < 0) {
      return Error{ErrorCode::kMalformed,
                   fmt::format("initializer \"{}\" has the negative dimension {}", tensor.name(), dim)};
    }
    initializer.shape.push_back(static_cast<std::uint64_t>(dim));
  }
  if (lies_outside(tensor)) {
    FATCTX_ASSIGN(initializer.external, external_of(tensor));
  }
  return initializer;
}

// A view of a model's values by name: types of all that have one, and scalars among its initializers.
struct Values {
  std::map<std::string_view, const onnx::ValueInfoProto*> types;
  std::map<std::string_view, const onnx::TensorProto*> constants;
};

Values values_of(const onnx::GraphProto& graph) {
  Values values;
  for (const auto* list : {&graph.input(), &graph.output(), &graph.value_info()}) {
    for (const auto& value : *list) values.types.emplace(value.name(), &value);
  }
  for (const auto& tensor : graph.initializer()) values.constants.emplace(tensor.name(), &tensor);
  return values;
}

DescribedTensor described(const Values& values, const std::string& name) {
  const auto found = values.types.find(name);
  if (found != values.types.end()) return describe(*found->second);
  DescribedTensor tensor;
  tensor.name = name;
  return tensor;
}

// Returns the number of a scalar, such as the scale or zero point of a whole tensor; nothing if it is not a
// scalar.
std::optional<double> scalar(const Values& values, const std::string& name) {
  const auto found = values.constants.find(name);
  if (found == values.constants.end()) return std::nullopt;
  const onnx::TensorProto& tensor = *found->second;
  for (const std::int64_t dim : tensor.dims()) {
    if (dim != 1) return std::nullopt;
  }
  const std::string& raw = tensor.raw_data();
  switch (tensor.data_type()) {
    case onnx::TensorProto::FLOAT:
      if (tensor.float_data_size() == 1) return static_cast<double>(tensor.float_data(0));
      if (raw.size() == sizeof(float)) return static_cast<double>(stored_number<float>(raw.data()));
      return std::nullopt;
    case onnx::TensorProto::UINT8:
      if (raw.size() == sizeof(std::uint8_t)) return stored_number<std::uint8_t>(raw.data());
      break;
    case onnx::TensorProto::INT8:
      if (raw.size() == sizeof(std::int8_t)) return stored_number<std::int8_t>(raw.data());
      break;
    case onnx::TensorProto::UINT16:
      if (raw.size() == sizeof(std::uint16_t)) return stored_number<std::uint16_t>(raw.data());
      break;
    case onnx::TensorProto::INT16:
      if (raw.size() == sizeof(std::int16_t)) return stored_number<std::int16_t>(raw.data());
      break;
    default:
      return std::nullopt;
  }
  if (tensor.int32_data_size() == 1) return tensor.int32_data(0);
  return std::nullopt;
}

// Returns the scale and zero point of a QuantizeLinear or DequantizeLinear node; its other side is `outside`.
std::optional<TensorQuantisation> quantisation_of(const Values& values, const onnx::NodeProto& node,
                                                  const std::string& outside) {
  if (node.input_size() < 2) return std::nullopt;
  const auto scale = scalar(values, node.input(1));
  const bool shifted = node.input_size() > 2 && !node.input(2).empty();
  const auto zero_point = shifted ? scalar(values, node.input(2)) : std::optional<double>(0);
  if (!scale || !zero_point) return std::nullopt;
  return TensorQuantisation{.scale = *scale, .zero_point = static_cast<std::int64_t>(*zero_point), .outside = outside};
}

// Adds to `context` how the model's numbers are converted to those of the node, and back.
void add_quantised(const onnx::GraphProto& graph, const Values& values, OnnxEpContext& context) {
  const auto among = [](const std::vector<DescribedTensor>& tensors, const std::string& name) {
    return std::any_of(tensors.begin(), tensors.end(), [&](const auto& tensor) { return tensor.name == name; });
  };
  const auto outside = [&values](const std::string& name) {
    return values.types.contains(name) ? name : std::string();
  };
  for (const onnx::NodeProto& node : graph.node()) {
    if (node.input_size() == 0 || node.output_size() == 0) continue;
    const bool into = node.op_type() == "QuantizeLinear" && among(context.inputs, node.output(0));
    const bool out_of = node.op_type() == "DequantizeLinear" && among(context.outputs, node.input(0));
    if (!into && !out_of) continue;
    const auto found = quantisation_of(values, node, outside(into ? node.input(0) : node.output(0)));
    if (found) context.quantised.emplace(into ? node.output(0) : node.input(0), *found);
  }
}

// Parses "q=x;": the model's name q is x in the binary. Names may contain an equals sign, so the model's
// names decide where one ends.
std::map<std::string, std::string> names_in_binary(const OnnxEpContext& context, std::string_view overrides) {
  std::set<std::string_view> known;
  for (const auto* tensors : {&context.inputs, &context.outputs}) {
    for (const DescribedTensor& tensor : *tensors) known.insert(tensor.name);
  }
  std::map<std::string, std::string> names;
  while (!overrides.empty()) {
    const std::string_view one = overrides.substr(0, overrides.find(';'));
    overrides.remove_prefix(std::min(one.size() + 1, overrides.size()));
    for (std::size_t at = one.find('='); at != std::string_view::npos; at = one.find('=', at + 1)) {
      if (!known.contains(one.substr(0, at))) continue;
      names.emplace(one.substr(0, at), one.substr(at + 1));
      break;
    }
  }
  return names;
}

void rename_as_in_binary(OnnxEpContext& context, std::string_view overrides) {
  const auto names = names_in_binary(context, overrides);
  const auto renamed = [&names](const std::string& name) {
    const auto found = names.find(name);
    return found == names.end() ? name : found->second;
  };
  for (auto* tensors : {&context.inputs, &context.outputs}) {
    for (DescribedTensor& tensor : *tensors) tensor.name = renamed(tensor.name);
  }
  std::map<std::string, TensorQuantisation> quantised;
  for (auto& [name, quantisation] : context.quantised) quantised.emplace(renamed(name), std::move(quantisation));
  context.quantised = std::move(quantised);
}

// Moves the payload out of `node`: it may be most of the model.
OnnxEpContext ep_context_of(const onnx::GraphProto& graph, const Values& values, onnx::NodeProto& node) {
  OnnxEpContext context;
  context.name = node.name();
  std::string cache;
  std::string overrides;
  for (auto& attribute : *node.mutable_attribute()) {
    if (attribute.name() == "source") context.source = attribute.s();
    if (attribute.name() == "partition_name") context.partition_name = attribute.s();
    if (attribute.name() == "ep_sdk_version") context.sdk_version = attribute.s();
    if (attribute.name() == "fatctx_group") context.fatctx_group = attribute.s();
    if (attribute.name() == "fatctx_digest") context.fatctx_digest = attribute.s();
    if (attribute.name() == "io_name_overrides") overrides = attribute.s();
    if (attribute.name() == "max_size") context.max_size = attribute.i();
    if (attribute.name() == "main_context") context.main_context = attribute.i() != 0;
    if (attribute.name() == "is_multi_soc_ep_context") context.multi_soc = attribute.i() != 0;
    if (attribute.name() == "embed_mode") context.embedded = attribute.i() != 0;
    if (attribute.name() == "ep_cache_context") cache = std::move(*attribute.mutable_s());
  }
  (context.embedded ? context.payload : context.cache) = std::move(cache);
  for (const std::string& name : node.input()) context.inputs.push_back(described(values, name));
  for (const std::string& name : node.output()) context.outputs.push_back(described(values, name));
  add_quantised(graph, values, context);
  rename_as_in_binary(context, overrides);
  return context;
}

// Calls `visit` once for every tensor of the model that may have bytes of its own: initializers and
// attributes, also of inner graphs and functions. Graphs nest as deep as protobuf allows, which is a hundred
// levels.
Status for_every_tensor(onnx::GraphProto& graph, const std::function<Status(onnx::TensorProto&)>& visit);

Status for_every_tensor(onnx::NodeProto& node, const std::function<Status(onnx::TensorProto&)>& visit) {
  for (onnx::AttributeProto& attribute : *node.mutable_attribute()) {
    if (attribute.has_t()) FATCTX_TRY(visit(*attribute.mutable_t()));
    for (onnx::TensorProto& tensor : *attribute.mutable_tensors()) FATCTX_TRY(visit(tensor));
    if (attribute.has_g()) FATCTX_TRY(for_every_tensor(*attribute.mutable_g(), visit));
    for (onnx::GraphProto& inner : *attribute.mutable_graphs()) FATCTX_TRY(for_every_tensor(inner, visit));
  }
  return Done{};
}

Status for_every_tensor(onnx::GraphProto& graph, const std::function<Status(onnx::TensorProto&)>& visit) {
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) FATCTX_TRY(visit(tensor));
  for (onnx::SparseTensorProto& sparse : *graph.mutable_sparse_initializer()) {
    FATCTX_TRY(visit(*sparse.mutable_values()));
    FATCTX_TRY(visit(*sparse.mutable_indices()));
  }
  for (onnx::NodeProto& node : *graph.mutable_node()) FATCTX_TRY(for_every_tensor(node, visit));
  return Done{};
}

Status for_every_tensor(onnx::ModelProto& model, const std::function<Status(onnx::TensorProto&)>& visit) {
  FATCTX_TRY(for_every_tensor(*model.mutable_graph(), visit));
  for (onnx::FunctionProto& function : *model.mutable_functions()) {
    for (onnx::NodeProto& node : *function.mutable_node()) FATCTX_TRY(for_every_tensor(node, visit));
  }
  return Done{};
}

void list_operators(const onnx::GraphProto& graph, std::set<std::string>& operators);

void list_operators(const onnx::NodeProto& node, std::set<std::string>& operators) {
  operators.insert(operator_name(node.domain(), node.op_type()));
  for (const onnx::AttributeProto& attribute : node.attribute()) {
    if (attribute.has_g()) list_operators(attribute.g(), operators);
    for (const onnx::GraphProto& inner : attribute.graphs()) list_operators(inner, operators);
  }
}

void list_operators(const onnx::GraphProto& graph, std::set<std::string>& operators) {
  for (const onnx::NodeProto& node : graph.node()) list_operators(node, operators);
}

// Lists the element types around QDQ nodes; returns false if one of the nodes leaves its type open.
bool list_quantised_types(const onnx::GraphProto& graph, OnnxModel& model) {
  std::map<std::string_view, int> types;  // of initializers
  for (const onnx::TensorProto& tensor : graph.initializer()) types.emplace(tensor.name(), tensor.data_type());
  for (const onnx::NodeProto& node : graph.node()) {
    const bool quantises = node.op_type() == "QuantizeLinear";
    if ((!quantises && node.op_type() != "DequantizeLinear") || node.input_size() < 2) continue;
    const auto value = types.find(node.input(0));
    int type = onnx::TensorProto::UINT8;  // of a node without a zero point
    if (node.input_size() > 2 && !node.input(2).empty()) {
      const auto zero_point = types.find(node.input(2));
      if (zero_point == types.end()) return false;
      type = zero_point->second;
    } else if (!quantises && value != types.end()) {
      type = value->second;
    } else {
      for (const onnx::AttributeProto& attribute : node.attribute()) {
        if (attribute.name() == "output_dtype" && attribute.i() != 0) type = static_cast<int>(attribute.i());
      }
      if (!quantises) continue;  // the node before it has the type
    }
    if (type == onnx::TensorProto::INT32) continue;
    (value == types.end() ? model.activation_types : model.weight_types).insert(element_type_name(type));
  }
  return true;
}

void remove_external(onnx::TensorProto& tensor, const std::string& key) {
  auto& entries = *tensor.mutable_external_data();
  for (int i = entries.size() - 1; i >= 0; --i) {
    if (entries.Get(i).key() == key) entries.DeleteSubrange(i, 1);
  }
}

// Sets `key` of the external data, and removes others of this name.
void set_external(onnx::TensorProto& tensor, const std::string& key, const std::string& value) {
  remove_external(tensor, key);
  auto& entry = *tensor.mutable_external_data()->Add();
  entry.set_key(key);
  entry.set_value(value);
}

// Appends the low bytes of numbers, as external data stores them.
template <typename Numbers>
void append_numbers(const Numbers& numbers, std::size_t width, std::vector<std::byte>& bytes) {
  for (const auto number : numbers) {
    const auto bits = stored_bytes(number);
    bytes.insert(bytes.end(), bits.begin(), bits.begin() + static_cast<std::ptrdiff_t>(std::min(width, bits.size())));
  }
}

// Returns the bytes of a tensor inside the model: raw data, or numbers in the list that belongs to its type.
std::vector<std::byte> bytes_of(const onnx::TensorProto& tensor, std::uint32_t element_bits) {
  std::vector<std::byte> bytes;
  if (tensor.has_raw_data()) {
    const ByteView raw = std::as_bytes(std::span(tensor.raw_data()));
    bytes.assign(raw.begin(), raw.end());
    return bytes;
  }
  const std::size_t width = std::max(element_bits / 8, 1U);  // one number holds two elements of 4 bits
  append_numbers(tensor.float_data(), sizeof(float), bytes);
  append_numbers(tensor.double_data(), sizeof(double), bytes);
  append_numbers(tensor.int32_data(), width, bytes);
  append_numbers(tensor.int64_data(), sizeof(std::int64_t), bytes);
  append_numbers(tensor.uint64_data(), width, bytes);
  return bytes;
}

void clear_bytes(onnx::TensorProto& tensor) {
  tensor.clear_raw_data();
  tensor.clear_float_data();
  tensor.clear_double_data();
  tensor.clear_int32_data();
  tensor.clear_int64_data();
  tensor.clear_uint64_data();
}

// Points a tensor with external data into the file that now holds its bytes.
Status point_into(onnx::TensorProto& tensor, const OnnxPlaces& places, std::uint64_t& pointed) {
  if (!lies_outside(tensor)) return Done{};
  FATCTX_ASSIGN(const OnnxInitializer initializer, initializer_of(tensor));
  const OnnxExternal& external = *initializer.external;
  const auto place = places.files.find(external.location);
  if (place == places.files.end()) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("tensor \"{}\" is stored in \"{}\", which is none of the weights there", tensor.name(),
                             external.location)};
  }
  const std::uint64_t whole = place->second.size_bytes;
  const std::uint64_t to_the_end = whole - std::min(external.offset, whole);
  const std::uint64_t size = external.size.value_or(size_bytes(initializer).value_or(to_the_end));
  if (!within({external.offset, size}, whole)) {
    return Error{ErrorCode::kMalformed, fmt::format("tensor \"{}\", {} bytes at {}, leaves the {} bytes of \"{}\"",
                                                    tensor.name(), size, external.offset, whole, external.location)};
  }
  set_external(tensor, "location", place->second.file);
  set_external(tensor, "offset", fmt::format("{}", place->second.file_offset + external.offset));
  set_external(tensor, "length", fmt::format("{}", size));
  remove_external(tensor, "checksum");  // it belongs to the old file
  ++pointed;
  return Done{};
}

// Moves the chosen initializers of graphs and functions inside to the main graph, with their external data if
// `outside`.
void hoist_chosen(onnx::ModelProto& model, const std::map<std::string, OnnxExternal>& moved, bool outside) {
  if (moved.empty() && !outside) return;
  hoist_weights(model, [&](const onnx::TensorProto& tensor) {
    return lies_outside(tensor) ? outside : moved.contains(tensor.name());
  });
}

// Turns the chosen initializers into external data.
void move_out(onnx::GraphProto& graph, const std::map<std::string, OnnxExternal>& moved) {
  for (onnx::TensorProto& tensor : *graph.mutable_initializer()) {
    const auto found = moved.find(tensor.name());
    if (found == moved.end() || lies_outside(tensor)) continue;
    clear_bytes(tensor);
    tensor.set_data_location(onnx::TensorProto::EXTERNAL);
    set_external(tensor, "location", found->second.location);
    set_external(tensor, "offset", fmt::format("{}", found->second.offset));
    if (found->second.size) set_external(tensor, "length", fmt::format("{}", *found->second.size));
  }
}

}  // namespace

std::string element_type_name(int onnx) {
  const ElementType* type = element_type(onnx);
  if (type == nullptr) return fmt::format("onnx type {}", onnx);
  return std::string(type->dtype ? dtype_name(*type->dtype) : type->name);
}

std::uint32_t element_type_bits(std::string_view name) noexcept {
  const auto* found = std::find_if(std::begin(kElementTypes), std::end(kElementTypes), [&](const auto& row) {
    return (row.dtype ? dtype_name(*row.dtype) : row.name) == name;
  });
  if (found == std::end(kElementTypes)) return 0;
  return found->dtype ? dtype_bits(*found->dtype) : found->bits;
}

int onnx_element_type(DType dtype) noexcept {
  const auto* found = std::find_if(std::begin(kElementTypes), std::end(kElementTypes),
                                   [&](const auto& row) { return row.dtype == dtype; });
  return found == std::end(kElementTypes) ? onnx::TensorProto::UNDEFINED : found->onnx;
}

std::optional<std::uint64_t> size_bytes(const OnnxInitializer& initializer) {
  if (initializer.bits == 0) return std::nullopt;
  std::uint64_t bits = initializer.bits;
  for (const std::uint64_t dim : initializer.shape) {
    const auto product = checked_mul(bits, dim);
    if (!product) return std::nullopt;
    bits = *product;
  }
  return bits / 8 + (bits % 8 != 0 ? 1 : 0);
}

Result<std::vector<OnnxEmbedded>> read_embedded(const std::string& path, std::uint64_t min_size) {
  FATCTX_ASSIGN(onnx::ModelProto model, load_onnx(path));
  constants_become_initializers(*model.mutable_graph());
  hoist_weights(model, [min_size](const onnx::TensorProto& tensor) {
    if (lies_outside(tensor)) return false;
    const auto initializer = initializer_of(tensor);
    return initializer.ok() && size_bytes(initializer.value()).value_or(0) >= min_size;
  });
  std::vector<OnnxEmbedded> found;
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    if (lies_outside(tensor)) continue;
    auto initializer = initializer_of(tensor);
    if (!initializer.ok()) return in_context(std::move(initializer).error(), path);
    const auto size = size_bytes(initializer.value());
    if (!size || *size < min_size || *size == 0) continue;
    std::vector<std::byte> bytes = bytes_of(tensor, initializer.value().bits);
    if (bytes.size() != *size) {
      return Error{ErrorCode::kMalformed, fmt::format("{}: initializer \"{}\" has {} bytes, but {} [{}] takes {}", path,
                                                      tensor.name(), bytes.size(), initializer.value().type,
                                                      fmt::join(initializer.value().shape, ", "), *size)};
    }
    found.push_back({std::move(initializer).value(), std::move(bytes)});
  }
  return found;
}

Result<PointedModel> onnx_pointing_into(const std::string& model_path, const OnnxPlaces& places) {
  FATCTX_ASSIGN(onnx::ModelProto model, load_onnx(model_path));
  if (!places.moved.empty()) constants_become_initializers(*model.mutable_graph());
  hoist_chosen(model, places.moved, places.hoisted);
  move_out(*model.mutable_graph(), places.moved);
  PointedModel pointed;
  const auto visit = [&](onnx::TensorProto& tensor) { return point_into(tensor, places, pointed.tensors); };
  const auto status = for_every_tensor(model, visit);
  if (!status.ok()) return in_context(status.error(), model_path);
  if (!model.SerializeToString(&pointed.bytes)) {
    return Error{ErrorCode::kLimitExceeded, fmt::format("{}: would be larger than 2 GiB", model_path)};
  }
  return pointed;
}

Result<std::int64_t> largest_max_size(const std::string& model_path) {
  FATCTX_ASSIGN(const onnx::ModelProto model, load_onnx(model_path));
  std::int64_t largest = 0;
  for (const onnx::NodeProto& node : model.graph().node()) {
    for (const onnx::AttributeProto& attribute : node.attribute()) {
      if (node.op_type() == "EPContext" && attribute.name() == "max_size") largest = std::max(largest, attribute.i());
    }
  }
  return largest;
}

Result<std::uint64_t> write_onnx_with_max_size(const std::string& model_path, std::int64_t max_size,
                                               const std::string& output) {
  FATCTX_ASSIGN(onnx::ModelProto model, load_onnx(model_path));
  std::uint64_t changed = 0;
  for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
    if (node.op_type() != "EPContext") continue;
    bool main_context = true;
    onnx::AttributeProto* attribute = nullptr;
    for (onnx::AttributeProto& there : *node.mutable_attribute()) {
      if (there.name() == "max_size") attribute = &there;
      if (there.name() == "main_context") main_context = there.i() != 0;
    }
    if (!main_context) continue;
    if (attribute == nullptr) attribute = node.add_attribute();
    if (attribute->i() == max_size && attribute->has_i()) continue;
    attribute->set_name("max_size");
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_i(max_size);
    ++changed;
  }
  FATCTX_TRY(save_onnx(model, output));
  return changed;
}

Result<std::uint64_t> write_onnx_with_node_prefix(const std::string& model_path, const std::string& prefix,
                                                  const std::string& output) {
  FATCTX_ASSIGN(onnx::ModelProto model, load_onnx(model_path));
  std::uint64_t changed = 0;
  for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) {
    if (node.op_type() != "EPContext" || node.name().starts_with(prefix)) continue;
    node.set_name(prefix + node.name());
    ++changed;
  }
  FATCTX_TRY(save_onnx(model, output));
  return changed;
}

Status write_onnx_with_versions_of(const std::string& source, const std::string& model_path,
                                   const std::string& output) {
  FATCTX_ASSIGN(const onnx::ModelProto original, load_onnx(source));
  FATCTX_ASSIGN(onnx::ModelProto model, load_onnx(model_path));
  model.set_ir_version(std::min(model.ir_version(), original.ir_version()));
  std::set<std::string> used = {""};
  for (const onnx::NodeProto& node : model.graph().node()) used.insert(node.domain());
  google::protobuf::RepeatedPtrField<onnx::OperatorSetIdProto> kept;
  for (const onnx::OperatorSetIdProto& opset : model.opset_import()) {
    if (used.contains(opset.domain())) *kept.Add() = opset;
  }
  model.mutable_opset_import()->Swap(&kept);
  return save_onnx(model, output);
}

Result<OnnxModel> read_onnx(const std::string& path) {
  FATCTX_ASSIGN(onnx::ModelProto model, load_onnx(path));
  OnnxModel result;
  result.used = operators_used(model);
  list_operators(model.graph(), result.operators);
  for (const onnx::FunctionProto& function : model.functions()) {
    for (const onnx::NodeProto& node : function.node()) list_operators(node, result.operators);
  }
  if (!list_quantised_types(model.graph(), result)) {
    result.activation_types.clear();
    result.weight_types.clear();
  }
  const std::size_t before = static_cast<std::size_t>(model.graph().initializer_size());
  constants_become_initializers(*model.mutable_graph());
  std::set<std::string> initializer_names;
  for (const onnx::TensorProto& tensor : model.graph().initializer()) {
    auto initializer = initializer_of(tensor);
    if (!initializer.ok()) return in_context(std::move(initializer).error(), path);
    initializer_names.insert(tensor.name());
    result.initializers.push_back(std::move(initializer).value());
    result.initializers.back().constant = result.initializers.size() > before;
  }
  std::set<std::string> external;
  const int of_main_graph = model.graph().initializer_size();
  hoist_weights(model, lies_outside);  // for their names; nothing else of the inner graphs is read
  for (int i = of_main_graph; i < model.graph().initializer_size(); ++i) {
    auto initializer = initializer_of(model.graph().initializer(i));
    if (!initializer.ok()) return in_context(std::move(initializer).error(), path);
    initializer_names.insert(initializer.value().name);
    result.inner.push_back(std::move(initializer).value());
    result.inner.back().movable = true;
  }
  const auto visited = for_every_tensor(model, [&](const onnx::TensorProto& tensor) -> Status {
    if (!lies_outside(tensor)) return Done{};
    FATCTX_ASSIGN(OnnxInitializer initializer, initializer_of(tensor));
    external.insert(initializer.external->location);
    if (!initializer_names.contains(tensor.name())) result.inner.push_back(std::move(initializer));
    return Done{};
  });
  if (!visited.ok()) return in_context(visited.error(), path);
  result.external_files.assign(external.begin(), external.end());
  result.graph.name = model.graph().name();
  for (const auto& input : model.graph().input()) {
    if (!initializer_names.contains(input.name())) result.graph.inputs.push_back(describe(input));
  }
  for (const auto& output : model.graph().output()) result.graph.outputs.push_back(describe(output));
  const Values values = values_of(model.graph());
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    if (node.op_type() == "EPContext") result.ep_contexts.push_back(ep_context_of(model.graph(), values, node));
  }
  for (const auto& entry : model.metadata_props()) result.metadata[entry.key()] = entry.value();
  return result;
}

std::vector<std::string> files_of_model(const std::string& path, const OnnxModel& model) {
  std::vector<std::string> files = {path};
  for (const std::string& file : model.external_files) files.push_back(path_beside(path, file));
  return files;
}

Result<std::uint64_t> give_shapes(const OnnxModel& model, const std::string& model_name,
                                  std::vector<PackTensor>& tensors) {
  std::map<std::string, const OnnxInitializer*> by_name;
  for (const OnnxInitializer& initializer : model.initializers) by_name.emplace(initializer.name, &initializer);
  for (const OnnxInitializer& initializer : model.initializers) {
    std::string as_in_archives = initializer.name;  // IREE's importer writes "_" for a colon
    std::replace(as_in_archives.begin(), as_in_archives.end(), ':', '_');
    by_name.emplace(std::move(as_in_archives), &initializer);
  }
  std::uint64_t unshaped = 0;
  for (PackTensor& tensor : tensors) {
    const auto found = by_name.find(tensor.name);
    if (found == by_name.end() || !found->second->dtype || found->second->shape.size() > kMaxTensorRank) {
      ++unshaped;
      continue;
    }
    const OnnxInitializer& initializer = *found->second;
    const auto size = tensor_size_bytes(*initializer.dtype, initializer.shape);
    if (size != tensor.size_bytes) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("tensor \"{}\" has {} bytes in the archive, but {} [{}] of {} takes {}; both must come "
                               "from the same model",
                               tensor.name, tensor.size_bytes, dtype_name(*initializer.dtype),
                               fmt::join(initializer.shape, ", "), model_name,
                               size ? fmt::format("{} bytes", *size) : std::string("more than 64 bits can count"))};
    }
    tensor.dtype = *initializer.dtype;
    tensor.shape = initializer.shape;
  }
  return unshaped;
}

bool is_own(const OnnxEpContext& node) {
  constexpr std::string_view kOwnSource = "fatctx";
  return std::equal(node.source.begin(), node.source.end(), kOwnSource.begin(), kOwnSource.end(),
                    [](unsigned char a, unsigned char b) { return std::tolower(a) == b; });
}

}  // namespace fatctx::tools
