#include "tools/onnx/onnx_macs.h"

#include <algorithm>
#include <charconv>
#include <span>
#include <string>

#include "fatctx/base/checked.h"

namespace fatctx::tools {

namespace {

using Count = std::optional<std::uint64_t>;

enum class Rule { kConv, kConvTranspose, kMatMul, kGemm, kRecurrent, kPacked };
struct Operator {
  std::string_view name;
  Rule rule;
  std::size_t data;  // its inputs: the data, and the weights or the second factor
  std::size_t weights;
};
constexpr Operator kOperators[] = {
    {"Conv", Rule::kConv, 0, 1},
    {"ConvInteger", Rule::kConv, 0, 1},
    {"QLinearConv", Rule::kConv, 0, 3},
    {"ConvTranspose", Rule::kConvTranspose, 0, 1},
    {"MatMul", Rule::kMatMul, 0, 1},
    {"MatMulInteger", Rule::kMatMul, 0, 1},
    {"QLinearMatMul", Rule::kMatMul, 0, 3},
    {"com.microsoft:FusedMatMul", Rule::kMatMul, 0, 1},
    {"com.microsoft:MatMulIntegerToFloat", Rule::kMatMul, 0, 1},
    {"com.microsoft:DynamicQuantizeMatMul", Rule::kMatMul, 0, 1},
    {"com.microsoft:MatMulNBits", Rule::kPacked, 0, 1},
    {"Gemm", Rule::kGemm, 0, 1},
    {"com.microsoft:QGemm", Rule::kGemm, 0, 3},
    {"LSTM", Rule::kRecurrent, 0, 1},
    {"GRU", Rule::kRecurrent, 0, 1},
    {"RNN", Rule::kRecurrent, 0, 1},
};

const Operator* operator_of(std::string_view op) {
  const auto* found =
      std::find_if(std::begin(kOperators), std::end(kOperators), [&](const Operator& row) { return row.name == op; });
  return found == std::end(kOperators) ? nullptr : found;
}

Count product(std::span<const std::int64_t> sizes) {
  std::uint64_t count = 1;
  for (const std::int64_t size : sizes) {
    if (size < 0) return std::nullopt;
    const auto more = checked_mul(count, static_cast<std::uint64_t>(size));
    if (!more) return std::nullopt;
    count = *more;
  }
  return count;
}

Count times(Count a, Count b) {
  if (!a || !b) return std::nullopt;
  const auto result = checked_mul(*a, *b);
  if (!result) return std::nullopt;
  return *result;
}

// Returns the sizes of an input; empty if they are not known, or if it is a scalar.
std::span<const std::int64_t> sizes_of(const std::vector<OnnxNodeTensor>& tensors, std::size_t at) {
  if (at >= tensors.size() || !tensors[at].shape.sizes) return {};
  return *tensors[at].shape.sizes;
}

std::int64_t parameter(const OnnxNode& node, std::string_view name, std::int64_t otherwise) {
  for (const auto& [key, text] : node.parameters) {
    std::int64_t number = 0;
    if (key == name && std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc()) return number;
  }
  return otherwise;
}

Count size_at(std::span<const std::int64_t> sizes, std::size_t at) {
  if (at >= sizes.size() || sizes[at] < 0) return std::nullopt;
  return static_cast<std::uint64_t>(sizes[at]);
}

// Returns the length of the sums in a product of two matrices: the last size of the first factor.
Count inner_size(const OnnxNode& node, std::span<const std::int64_t> first) {
  if (first.empty()) return std::nullopt;
  const bool transposed = parameter(node, "transA", 0) != 0 && first.size() > 1;
  return size_at(first, first.size() - (transposed ? 2 : 1));
}

// Returns the sum of the work of both weights of each gate, for each step of each sequence.
Count recurrent(const OnnxNode& node) {
  const auto data = sizes_of(node.inputs, 0);
  const auto weights = sizes_of(node.inputs, 1);
  const auto repeated = sizes_of(node.inputs, 2);
  if (data.size() != 3 || weights.size() != 3 || repeated.size() != 3) return std::nullopt;
  const Count steps = product(data.first(2));
  const Count first = times(steps, product(weights));
  const Count second = times(steps, product(repeated));
  if (!first || !second) return std::nullopt;
  const auto sum = checked_add(*first, *second);
  if (!sum) return std::nullopt;
  return *sum;
}

}  // namespace

bool multiplies(std::string_view op) { return operator_of(op) != nullptr; }

Count element_count(const OnnxShape& shape) {
  if (!shape.sizes) return std::nullopt;
  return product(*shape.sizes);
}

Count onnx_macs(const OnnxNode& node) {
  const Operator* const row = operator_of(node.op);
  if (row == nullptr || node.outputs.empty()) return std::nullopt;
  const auto data = sizes_of(node.inputs, row->data);
  const auto weights = sizes_of(node.inputs, row->weights);
  const Count made = element_count(node.outputs.front().shape);
  switch (row->rule) {
    case Rule::kConv:  // of each output element: the weights of its channel
      return weights.size() < 3 ? std::nullopt : times(made, product(weights.subspan(1)));
    case Rule::kConvTranspose:  // of each input element: the weights that spread it
      return weights.size() < 3 || data.empty() ? std::nullopt : times(product(data), product(weights.subspan(1)));
    case Rule::kMatMul:
    case Rule::kGemm:
      return times(made, inner_size(node, data));
    case Rule::kPacked: {  // its weights are packed, so the node states the length of the sums
      const std::int64_t inner = parameter(node, "K", -1);
      return inner < 0 ? std::nullopt : times(made, static_cast<std::uint64_t>(inner));
    }
    case Rule::kRecurrent:
      return recurrent(node);
  }
  return std::nullopt;
}

}  // namespace fatctx::tools
