#include "tools/onnx/onnx_wrapper.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

namespace fatctx::tools {

namespace {

// The oldest versions of ONNX that can express such a model, so that old runtimes read it too. 16-bit
// quantisation came later.
struct OnnxVersion {
  int ir = 8;
  int opset = 13;
};
constexpr OnnxVersion kPlain = {};
constexpr OnnxVersion kWide = {10, 21};
constexpr std::size_t kMaxMessageSize = (std::size_t{1} << 31) - 1;  // of a protobuf message

constexpr std::string_view kRemedy = "write a model for each of them with --graph";

void set_text(onnx::NodeProto& node, const char* name, std::string value) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::STRING);
  attribute.set_s(std::move(value));
}

void set_number(onnx::NodeProto& node, const char* name, std::int64_t value) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx::AttributeProto::INT);
  attribute.set_i(value);
}

void set_value(onnx::ValueInfoProto& value, const std::string& name, DType dtype,
               const std::vector<std::int64_t>& shape) {
  value.set_name(name);
  auto& type = *value.mutable_type()->mutable_tensor_type();
  type.set_elem_type(onnx_element_type(dtype));
  auto& dims = *type.mutable_shape();  // set for a scalar too: otherwise the rank would be unknown
  for (const std::int64_t size : shape) {
    auto& dim = *dims.add_dim();
    if (size >= 0) dim.set_dim_value(size);
  }
}

bool wide(const WrappedTensor& tensor) {
  return tensor.quantisation && (tensor.dtype == DType::kU16 || tensor.dtype == DType::kI16);
}

// A builder that assembles a model tensor by tensor, and tracks the names that are taken.
class Builder {
 public:
  explicit Builder(WrapperModel& model) : wrapped_(model) {}

  Status build(onnx::ModelProto& model) {
    graph_ = model.mutable_graph();
    graph_->set_name("fatctx wrap");
    for (const WrappedGraph& graph : wrapped_.graphs) FATCTX_TRY(check(graph));
    for (const WrappedGraph& graph : wrapped_.graphs) FATCTX_TRY(add(graph));
    return Done{};
  }

 private:
  Status check(const WrappedGraph& graph) {
    if (graph.name.empty()) return invalid_argument("a graph without a name");
    if (!graphs_.insert(graph.name).second)
      return invalid_argument(fmt::format("graph \"{}\" appears twice", graph.name));
    if (graph.outputs.empty()) {
      return invalid_argument(
          fmt::format("graph \"{}\" has no outputs; an EPContext node has at least one", graph.name));
    }
    for (const auto* tensors : {&graph.inputs, &graph.outputs}) {
      for (const WrappedTensor& tensor : *tensors) {
        if (wrappable(tensor.dtype)) continue;
        return invalid_argument(
            fmt::format("graph \"{}\": tensor \"{}\" is {}, which an EPContext node cannot take or give", graph.name,
                        tensor.name, dtype_name(tensor.dtype)));
      }
    }
    for (const WrappedTensor& tensor : graph.outputs) {
      const auto [first, fresh] = givers_.emplace(tensor.name, graph.name);
      if (!fresh && first->second == graph.name) {
        return invalid_argument(fmt::format("graph \"{}\" gives \"{}\" twice", graph.name, tensor.name));
      }
      if (!fresh) {
        return invalid_argument(
            fmt::format("graphs \"{}\" and \"{}\" both give \"{}\", and a model has each name once; {}", first->second,
                        graph.name, tensor.name, kRemedy));
      }
    }
    return Done{};
  }

  // Claims a name that only the model has, such as that of a scale.
  Status claim(const std::string& name, const std::string& graph) {
    if (names_.insert(name).second) return Done{};
    return invalid_argument(
        fmt::format("graph \"{}\": the name \"{}\", needed to convert its inputs and outputs to float32, is taken; "
                    "keep them as they are with --quantized-io",
                    graph, name));
  }

  Status add(const WrappedGraph& graph) {
    std::vector<const WrappedTensor*> fresh;
    std::set<std::string> own;
    for (const WrappedTensor& tensor : graph.inputs) {
      if (!own.insert(tensor.name).second) {
        return invalid_argument(fmt::format("graph \"{}\" takes \"{}\" twice", graph.name, tensor.name));
      }
      const auto giver = givers_.find(tensor.name);
      if (giver != givers_.end()) {
        return invalid_argument(
            fmt::format("graph \"{}\" gives \"{}\" and graph \"{}\" takes it; in one model that would "
                        "connect them; {}",
                        giver->second, tensor.name, graph.name, kRemedy));
      }
      const auto [first, added] = taken_.emplace(tensor.name, &tensor);
      if (!added && *first->second != tensor) {
        return invalid_argument(
            fmt::format("graph \"{}\" takes \"{}\" with another type, shape or scale than a graph before it, "
                        "and a model has each name once; {}",
                        graph.name, tensor.name, kRemedy));
      }
      if (added) fresh.push_back(&tensor);
    }
    for (const WrappedTensor* tensor : fresh) FATCTX_TRY(add_input(*tensor, graph.name));
    add_node(graph);
    for (const WrappedTensor& tensor : graph.outputs) FATCTX_TRY(add_output(tensor, graph.name));
    return Done{};
  }

  Status add_input(const WrappedTensor& tensor, const std::string& graph) {
    FATCTX_TRY(claim(inner_name(tensor), graph));
    if (!tensor.quantisation) {
      set_value(*graph_->add_input(), tensor.name, tensor.dtype, tensor.shape);
      return Done{};
    }
    const std::string outer = outer_name(tensor);
    FATCTX_TRY(claim(outer, graph));
    set_value(*graph_->add_input(), outer, DType::kF32, tensor.shape);
    return convert("QuantizeLinear", outer, inner_name(tensor), tensor, graph);
  }

  Status add_output(const WrappedTensor& tensor, const std::string& graph) {
    FATCTX_TRY(claim(inner_name(tensor), graph));
    if (!tensor.quantisation) {
      set_value(*graph_->add_output(), tensor.name, tensor.dtype, tensor.shape);
      return Done{};
    }
    const std::string outer = outer_name(tensor);
    FATCTX_TRY(claim(outer, graph));
    set_value(*graph_->add_output(), outer, DType::kF32, tensor.shape);
    return convert("DequantizeLinear", inner_name(tensor), outer, tensor, graph);
  }

  Status convert(const char* operation, const std::string& from, const std::string& to, const WrappedTensor& tensor,
                 const std::string& graph) {
    const std::string scale = tensor.name + "_scale";
    const std::string zero_point = tensor.name + "_zp";
    FATCTX_TRY(claim(scale, graph));
    FATCTX_TRY(claim(zero_point, graph));
    auto& node = *graph_->add_node();
    node.set_op_type(operation);
    node.set_name(to);
    for (const std::string& input : {from, scale, zero_point}) node.add_input(input);
    node.add_output(to);
    auto& scale_value = *graph_->add_initializer();
    scale_value.set_name(scale);
    scale_value.set_data_type(onnx::TensorProto::FLOAT);
    scale_value.add_float_data(static_cast<float>(tensor.quantisation->scale));
    auto& zero_point_value = *graph_->add_initializer();
    zero_point_value.set_name(zero_point);
    zero_point_value.set_data_type(onnx_element_type(tensor.dtype));
    zero_point_value.add_int32_data(static_cast<std::int32_t>(tensor.quantisation->zero_point));
    set_value(*graph_->add_value_info(), inner_name(tensor), tensor.dtype, tensor.shape);
    return Done{};
  }

  // Readers differ in their defaults for main_context and embed_mode, so both are always written.
  void add_node(const WrappedGraph& graph) {
    auto& node = *graph_->add_node();
    const bool main = &graph == wrapped_.graphs.data();
    node.set_op_type("EPContext");
    node.set_domain("com.microsoft");
    node.set_name(graph.name);
    std::string overrides;
    const auto named = [&overrides](const WrappedTensor& tensor) {
      std::string inner = inner_name(tensor);
      if (inner != tensor.name) overrides += fmt::format("{}={};", inner, tensor.name);
      return inner;
    };
    for (const WrappedTensor& tensor : graph.inputs) node.add_input(named(tensor));
    for (const WrappedTensor& tensor : graph.outputs) node.add_output(named(tensor));
    set_number(node, "main_context", main ? 1 : 0);
    set_number(node, "embed_mode", wrapped_.cache.empty() ? 1 : 0);
    if (main) {
      set_text(node, "ep_cache_context", wrapped_.cache.empty() ? std::move(wrapped_.payload) : wrapped_.cache);
    }
    if (main && wrapped_.multi_soc) set_number(node, "is_multi_soc_ep_context", 1);
    if (!wrapped_.sdk_version.empty()) set_text(node, "ep_sdk_version", wrapped_.sdk_version);
    if (main && wrapped_.max_size != 0) set_number(node, "max_size", wrapped_.max_size);
    if (!overrides.empty()) set_text(node, "io_name_overrides", overrides);
    set_text(node, "partition_name", graph.name);
    set_text(node, "source", wrapped_.source);
  }

  WrapperModel& wrapped_;
  onnx::GraphProto* graph_ = nullptr;
  std::set<std::string> graphs_;
  std::set<std::string> names_;
  std::map<std::string, std::string> givers_;  // the graph that gives it, by tensor
  std::map<std::string, const WrappedTensor*> taken_;
};

}  // namespace

std::string outer_name(const WrappedTensor& tensor) {
  if (!tensor.quantisation) return tensor.name;
  return tensor.quantisation->outside.empty() ? tensor.name + "_dq" : tensor.quantisation->outside;
}

std::string inner_name(const WrappedTensor& tensor) {
  return tensor.quantisation && outer_name(tensor) == tensor.name ? tensor.name + "_q" : tensor.name;
}

bool wrappable(DType dtype) noexcept { return dtype_bits(dtype) >= 8; }

Status check_embeddable(std::uint64_t payload_bytes) {
  if (payload_bytes < kMaxMessageSize) return Done{};
  return Error{ErrorCode::kLimitExceeded,
               fmt::format("a binary of {} bytes does not fit into an ONNX model, which has at most {}; write it as a "
                           "file beside the model, without --embed",
                           payload_bytes, kMaxMessageSize)};
}

Result<std::string> wrapper_bytes(WrapperModel model) {
  if (model.graphs.empty()) return invalid_argument("there is no graph to write a node for");
  FATCTX_TRY(check_embeddable(model.payload.size()));
  onnx::ModelProto proto;
  const auto any_wide = [](const WrappedGraph& graph) {
    return std::any_of(graph.inputs.begin(), graph.inputs.end(), wide) ||
           std::any_of(graph.outputs.begin(), graph.outputs.end(), wide);
  };
  const OnnxVersion version = std::any_of(model.graphs.begin(), model.graphs.end(), any_wide) ? kWide : kPlain;
  proto.set_ir_version(version.ir);
  proto.set_producer_name("fatctx");
  for (const auto& [domain, number] : {std::pair("", version.opset), std::pair("com.microsoft", 1)}) {
    auto& opset = *proto.add_opset_import();
    opset.set_domain(domain);
    opset.set_version(number);
  }
  for (const auto& [key, value] : model.metadata) {
    auto& entry = *proto.add_metadata_props();
    entry.set_key(key);
    entry.set_value(value);
  }
  FATCTX_TRY(Builder(model).build(proto));
  const std::size_t size = proto.ByteSizeLong();
  FATCTX_TRY(check_embeddable(size));
  std::string bytes;
  if (!proto.SerializeToString(&bytes)) return Error{ErrorCode::kInternal, "the ONNX model cannot be encoded"};
  return bytes;
}

}  // namespace fatctx::tools
