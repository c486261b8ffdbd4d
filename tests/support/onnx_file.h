// ONNX models, written field by field: small graphs with external or embedded weights. Shares no code with the readers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace fatctx::support {

// A protobuf message that grows at its end.
class Message {
 public:
  Message& number(std::uint32_t field, std::uint64_t value) {
    varint(std::uint64_t{field} << 3);
    varint(value);
    return *this;
  }
  Message& text(std::uint32_t field, std::string_view value) {
    varint(std::uint64_t{field} << 3 | 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  Message& message(std::uint32_t field, const Message& value) { return text(field, value.bytes_); }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }

 private:
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }

  std::string bytes_;
};

inline constexpr std::uint64_t kOnnxFloat = 1;
inline constexpr std::uint64_t kOnnxInt64 = 7;
inline constexpr std::uint64_t kOnnxBool = 9;

struct OnnxTensor {  // in external data
  std::string name;
  std::vector<std::uint64_t> shape;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;  // 0: not stated
  std::string location = "w.bin";
  std::uint64_t type = kOnnxFloat;
};

[[nodiscard]] inline Message entry(std::string_view key, std::string_view value) {
  return Message().text(1, key).text(2, value);
}

[[nodiscard]] inline Message tensor(const OnnxTensor& tensor) {
  Message message;
  for (const std::uint64_t dim : tensor.shape) message.number(1, dim);
  message.number(2, tensor.type).text(8, tensor.name).message(13, entry("location", tensor.location));
  message.message(13, entry("offset", std::to_string(tensor.offset)));
  if (tensor.size != 0) message.message(13, entry("length", std::to_string(tensor.size)));
  return message.number(14, 1);
}

[[nodiscard]] inline Message node(std::string_view type, const std::vector<std::string>& inputs,
                                  const std::string& output) {
  Message message;
  for (const std::string& input : inputs) message.text(1, input);
  return message.text(2, output).text(4, type);
}

// Returns a value of this shape. A dimension of 0 may be any number.
[[nodiscard]] inline Message value(std::string_view name, const std::vector<std::uint64_t>& shape,
                                   std::uint64_t type = kOnnxFloat) {
  Message dims;
  for (const std::uint64_t dim : shape) {
    dims.message(1, dim == 0 ? Message().text(2, "any") : Message().number(1, dim));
  }
  const Message tensor_type = Message().number(1, type).message(2, dims);
  return Message().text(1, name).message(2, Message().message(1, tensor_type));
}

struct OnnxGraph {
  std::string name = "net";
  std::vector<Message> nodes;
  std::vector<OnnxTensor> tensors;
  std::vector<Message> initializers;  // embedded in the model
  std::vector<Message> inputs;
  std::vector<Message> outputs;
};

[[nodiscard]] inline Message graph(const OnnxGraph& graph) {
  Message message;
  for (const Message& node : graph.nodes) message.message(1, node);
  message.text(2, graph.name);
  for (const OnnxTensor& one : graph.tensors) message.message(5, tensor(one));
  for (const Message& one : graph.initializers) message.message(5, one);
  for (const Message& input : graph.inputs) message.message(11, input);
  for (const Message& output : graph.outputs) message.message(12, output);
  return message;
}

[[nodiscard]] inline std::string model(const OnnxGraph& main) {
  return Message().number(1, 9).message(7, graph(main)).message(8, Message().text(1, "").number(2, 17)).bytes();
}

// Returns the graph that multiplies x [1, width] by one matrix after another to get y.
[[nodiscard]] inline OnnxGraph matrices(std::uint64_t width, const std::vector<OnnxTensor>& tensors) {
  OnnxGraph net;
  net.tensors = tensors;
  net.inputs = {value("x", {1, width})};
  net.outputs = {value("y", {1, width})};
  std::string last = "x";
  for (const OnnxTensor& one : tensors) {
    const std::string next = &one == &tensors.back() ? "y" : "after " + one.name;
    net.nodes.push_back(node("MatMul", {last, one.name}, next));
    last = next;
  }
  return net;
}

}  // namespace fatctx::support
