// An ONNX model is a protobuf message. Each field has a number and a wire type; length-delimited fields contain
// messages, texts or packed numbers. Weights are stored in tensors, and only a few fields contain tensors. The table
// below lists these fields; all other fields are skipped by their size. Messages wait in a list, so no input makes this
// code recurse.
#include "runtime/ort/attach/attach_model.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace fatctx::ort {

namespace {

enum class Kind { kModel, kGraph, kNode, kAttribute, kSparse, kFunction, kTensor };

struct Child {  // field `number` of a `parent` is a message of this kind
  Kind parent;
  std::uint32_t number;
  Kind kind;
};
constexpr Child kChildren[] = {
    {Kind::kModel, 7, Kind::kGraph},       {Kind::kModel, 25, Kind::kFunction},  {Kind::kGraph, 1, Kind::kNode},
    {Kind::kGraph, 5, Kind::kTensor},      {Kind::kGraph, 15, Kind::kSparse},    {Kind::kNode, 5, Kind::kAttribute},
    {Kind::kFunction, 7, Kind::kNode},     {Kind::kAttribute, 5, Kind::kTensor}, {Kind::kAttribute, 6, Kind::kGraph},
    {Kind::kAttribute, 10, Kind::kTensor}, {Kind::kAttribute, 11, Kind::kGraph}, {Kind::kAttribute, 22, Kind::kSparse},
    {Kind::kAttribute, 23, Kind::kSparse}, {Kind::kSparse, 1, Kind::kTensor},    {Kind::kSparse, 2, Kind::kTensor},
};

enum TensorField : std::uint32_t { kDims = 1, kDataType = 2, kName = 8, kExternalData = 13, kDataLocation = 14 };
enum NodeField : std::uint32_t { kNodeOutput = 2, kNodeOperator = 4, kNodeDomain = 7 };
constexpr std::uint32_t kAttributeTensor = 5;
constexpr std::uint64_t kExternalLocation = 1;

Error not_a_model(std::string_view why) {
  return Error{ErrorCode::kMalformed, fmt::format("the bytes given as model are no ONNX model: {}", why)};
}

struct Field {
  std::uint32_t number = 0;
  bool delimited = false;  // has bytes; otherwise a number
  std::uint64_t number_value = 0;
  ByteView bytes = {};
};

// A reader of the fields of one message, in their order.
class Fields {
 public:
  explicit Fields(ByteView message) : rest_(message) {}

  // Returns nothing at the end. Errors: malformed.
  Result<std::optional<Field>> next() {
    if (rest_.empty()) return std::optional<Field>();
    FATCTX_ASSIGN(const std::uint64_t key, varint());
    Field field;
    field.number =
        static_cast<std::uint32_t>(std::min<std::uint64_t>(key >> 3, std::numeric_limits<std::uint32_t>::max()));
    switch (key & 7) {
      case 0: {
        FATCTX_ASSIGN(field.number_value, varint());
        break;
      }
      case 1: {
        FATCTX_TRY(take(8));
        break;
      }
      case 2: {
        FATCTX_ASSIGN(const std::uint64_t size, varint());
        FATCTX_ASSIGN(field.bytes, take(size));
        field.delimited = true;
        break;
      }
      case 5: {
        FATCTX_TRY(take(4));
        break;
      }
      default:
        return not_a_model(fmt::format("a field of wire type {}", key & 7));
    }
    return std::optional<Field>(field);
  }

  // Reads a number of up to ten bytes with seven bits each.
  Result<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      FATCTX_ASSIGN(const ByteView byte, take(1));
      const auto bits = static_cast<std::uint64_t>(byte[0]);
      value |= (bits & 0x7F) << shift;
      if ((bits & 0x80) == 0) return value;
    }
    return not_a_model("a number of more than ten bytes");
  }

  [[nodiscard]] bool empty() const { return rest_.empty(); }

 private:
  Result<ByteView> take(std::uint64_t size) {
    if (size > rest_.size()) return not_a_model("it ends inside a field");
    const ByteView taken = rest_.first(static_cast<std::size_t>(size));
    rest_ = rest_.subspan(static_cast<std::size_t>(size));
    return taken;
  }

  ByteView rest_;
};

std::string text_of(ByteView bytes) {
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());  // texts of a file, unchanged
}

Result<std::uint64_t> number_of(const std::string& tensor, const std::string& key, const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem == std::errc() && end == text.data() + text.size() && !text.empty()) return number;
  return Error{ErrorCode::kMalformed, fmt::format("model: tensor \"{}\": the {} of its external data is \"{}\", not a "
                                                  "whole number",
                                                  tensor, key, text)};
}

struct Entry {
  std::string key;
  std::string value;
};

Result<Entry> entry_of(ByteView message) {
  Entry entry;
  Fields fields(message);
  for (;;) {
    FATCTX_ASSIGN(const std::optional<Field> field, fields.next());
    if (!field) return entry;
    if (field->delimited && field->number == 1) entry.key = text_of(field->bytes);
    if (field->delimited && field->number == 2) entry.value = text_of(field->bytes);
  }
}

Status add_dims(const Field& field, std::vector<std::uint64_t>& shape) {
  if (!field.delimited) {
    shape.push_back(field.number_value);
    return Done{};
  }
  for (Fields packed(field.bytes); !packed.empty();) {
    FATCTX_ASSIGN(const std::uint64_t dim, packed.varint());
    shape.push_back(dim);
  }
  return Done{};
}

// Returns nothing if the bytes of the tensor are stored within the model.
Result<std::optional<ModelTensor>> external_of(ByteView message) {
  ModelTensor tensor;
  std::vector<Entry> entries;
  bool external = false;
  Fields fields(message);
  for (;;) {
    FATCTX_ASSIGN(const std::optional<Field> field, fields.next());
    if (!field) break;
    if (field->number == kDims) FATCTX_TRY(add_dims(*field, tensor.shape));
    if (field->number == kDataType) tensor.type = static_cast<std::int32_t>(field->number_value & 0x7FFFFFFF);
    if (field->number == kName && field->delimited) tensor.name = text_of(field->bytes);
    if (field->number == kDataLocation) external = field->number_value == kExternalLocation;
    if (field->number == kExternalData && field->delimited) {
      FATCTX_ASSIGN(Entry entry, entry_of(field->bytes));
      entries.push_back(std::move(entry));
    }
  }
  if (!external) return std::optional<ModelTensor>();
  for (const Entry& entry : entries) {
    if (entry.key == "location") tensor.location = entry.value;
    if (entry.key == "offset") {
      FATCTX_ASSIGN(tensor.offset, number_of(tensor.name, entry.key, entry.value));
    }
    if (entry.key == "length") {
      FATCTX_ASSIGN(tensor.size_bytes, number_of(tensor.name, entry.key, entry.value));
    }
  }
  if (tensor.location.empty()) {
    return Error{ErrorCode::kMalformed,
                 fmt::format("model: tensor \"{}\" has external data without a location", tensor.name)};
  }
  return std::optional<ModelTensor>(std::move(tensor));
}

struct Waiting {
  Kind kind;
  ByteView bytes;
  bool inner;
  std::string constant = {};  // the output of the Constant node that holds the message
  bool function = false;      // the message is in a function
  bool by_name = false;       // as ModelTensor::by_name
};

// Returns the output of a Constant node, and nothing for other nodes. ONNX Runtime turns the node into an initializer
// and names it after this output.
Result<std::string> constant_name(ByteView node) {
  std::string output;
  std::string operator_type;
  std::string domain;
  Fields fields(node);
  for (;;) {
    FATCTX_ASSIGN(const std::optional<Field> field, fields.next());
    if (!field) break;
    if (!field->delimited) continue;
    if (field->number == kNodeOutput) output = text_of(field->bytes);
    if (field->number == kNodeOperator) operator_type = text_of(field->bytes);
    if (field->number == kNodeDomain) domain = text_of(field->bytes);
  }
  return operator_type == "Constant" && (domain.empty() || domain == "ai.onnx") ? output : std::string();
}

}  // namespace

Result<std::vector<ModelTensor>> external_tensors(ByteView model) {
  std::vector<ModelTensor> found;
  bool any_graph = false;
  std::vector<Waiting> waiting = {{Kind::kModel, model, false}};
  for (std::size_t at = 0; at < waiting.size(); ++at) {
    const Waiting message = waiting[at];  // a copy, because the list grows
    if (message.kind == Kind::kTensor) {
      FATCTX_ASSIGN(std::optional<ModelTensor> tensor, external_of(message.bytes));
      if (!tensor) continue;
      tensor->inner = message.inner;
      tensor->by_name = message.by_name;
      if (!message.constant.empty()) tensor->name = message.constant;
      found.push_back(std::move(*tensor));
      continue;
    }
    Fields fields(message.bytes);
    for (;;) {
      FATCTX_ASSIGN(const std::optional<Field> field, fields.next());
      if (!field) break;
      const auto* child = std::ranges::find_if(
          kChildren, [&](const Child& row) { return row.parent == message.kind && row.number == field->number; });
      if (child == std::end(kChildren)) continue;
      if (!field->delimited) return not_a_model(fmt::format("field {} is not a message", field->number));
      any_graph = any_graph || child->kind == Kind::kGraph;
      // A node belongs to its graph, and an attribute to its node; a graph in an attribute is a body.
      const bool body = message.kind == Kind::kAttribute && child->kind == Kind::kGraph;
      Waiting next = {child->kind, field->bytes, message.inner || body};
      next.function = message.function || child->kind == Kind::kFunction;
      if (message.kind == Kind::kGraph && child->kind == Kind::kNode) {
        FATCTX_ASSIGN(next.constant, constant_name(field->bytes));
      } else if (message.kind == Kind::kNode || field->number == kAttributeTensor) {
        next.constant = message.constant;
      }
      if (child->kind == Kind::kTensor) {
        const bool named = message.kind == Kind::kGraph || !next.constant.empty();
        next.by_name = named && !next.function;
        next.inner = message.inner || !next.by_name;
      }
      waiting.push_back(std::move(next));
    }
  }
  if (!any_graph) return not_a_model("it has no graph");
  std::stable_partition(found.begin(), found.end(), [](const ModelTensor& tensor) { return !tensor.inner; });
  return found;
}

}  // namespace fatctx::ort
