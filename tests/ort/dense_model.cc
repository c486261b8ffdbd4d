#include "ort/dense_model.h"

#include <onnx/onnx_pb.h>

#include <fstream>
#include <random>

namespace fatctx::support {
namespace {

void add_port(onnx::ValueInfoProto& port, const std::string& name, std::int64_t rows, std::int64_t columns) {
  port.set_name(name);
  auto* const type = port.mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx::TensorProto::FLOAT);
  if (rows < 0) {
    type->mutable_shape()->add_dim()->set_dim_param("rows");
  } else {
    type->mutable_shape()->add_dim()->set_dim_value(rows);
  }
  type->mutable_shape()->add_dim()->set_dim_value(columns);
}

}  // namespace

std::string dense_model_bytes(const DenseModel& wanted) {
  onnx::ModelProto model;
  model.set_ir_version(8);
  model.add_opset_import()->set_version(17);
  onnx::GraphProto& graph = *model.mutable_graph();
  graph.set_name(wanted.graph);
  std::mt19937 random(wanted.seed);
  std::uniform_real_distribution<float> value(-0.1F, 0.1F);
  const std::size_t layers = wanted.sizes.size() - 1;
  for (std::size_t i = 0; i < layers; ++i) {
    const std::string number = std::to_string(i);
    auto* const weights = graph.add_initializer();
    weights->set_name("w" + number);
    weights->set_data_type(onnx::TensorProto::FLOAT);
    weights->add_dims(wanted.sizes[i]);
    weights->add_dims(wanted.sizes[i + 1]);
    std::vector<float> values(static_cast<std::size_t>(wanted.sizes[i] * wanted.sizes[i + 1]));
    for (float& v : values) v = value(random);
    weights->set_raw_data(values.data(), values.size() * sizeof(float));
    auto* const node = graph.add_node();
    node->set_op_type("MatMul");
    node->set_name("matmul" + number);
    node->add_input(i == 0 ? "x" : "h" + std::to_string(i - 1));
    node->add_input("w" + number);
    node->add_output(i + 1 == layers ? "y" : "h" + number);
  }
  add_port(*graph.add_input(), "x", wanted.rows, wanted.sizes.front());
  add_port(*graph.add_output(), "y", wanted.rows, wanted.sizes.back());
  return model.SerializeAsString();
}

void write_dense_model(const DenseModel& model, const std::string& path) {
  std::ofstream(path, std::ios::binary) << dense_model_bytes(model);
}

}  // namespace fatctx::support
