#include "ort/dense_model.h"

#include <cstring>
#include <fstream>
#include <random>
#include <utility>

#include "support/onnx_file.h"

namespace fatctx::support {
namespace {

Message matrix(const std::string& name, std::uint64_t rows, std::uint64_t columns, std::mt19937& random) {
  std::uniform_real_distribution<float> value(-0.1F, 0.1F);
  std::string bytes(rows * columns * sizeof(float), '\0');
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(float)) {
    const float element = value(random);
    std::memcpy(&bytes[at], &element, sizeof element);
  }
  return Message().number(1, rows).number(1, columns).number(2, kOnnxFloat).text(8, name).text(9, bytes);
}

}  // namespace

std::string dense_model_bytes(const DenseModel& wanted) {
  OnnxGraph graph;
  graph.name = wanted.graph;
  std::mt19937 random(wanted.seed);
  const std::size_t layers = wanted.sizes.size() - 1;
  for (std::size_t i = 0; i < layers; ++i) {
    const std::string number = std::to_string(i);
    graph.initializers.push_back(matrix("w" + number, wanted.sizes[i], wanted.sizes[i + 1], random));
    graph.nodes.push_back(
        node("MatMul", {i == 0 ? "x" : "h" + std::to_string(i - 1), "w" + number}, i + 1 == layers ? "y" : "h" + number)
            .text(3, "matmul" + number));
  }
  graph.inputs = {value("x", {wanted.rows, wanted.sizes.front()})};
  graph.outputs = {value("y", {wanted.rows, wanted.sizes.back()})};
  return model(graph);
}

void write_dense_model(const DenseModel& model, const std::string& path) {
  std::ofstream(path, std::ios::binary) << dense_model_bytes(model);
}

}  // namespace fatctx::support
