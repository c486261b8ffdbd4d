// An ONNX model for tests: dense layers, each multiplies by a matrix of its own.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fatctx::support {

struct DenseModel {
  std::string graph = "main";
  std::vector<std::uint64_t> sizes = {64, 128, 32};  // of the input, then of each layer's output
  std::uint64_t rows = 0;                            // 0: any number
  unsigned seed = 1;
};

// Returns the model x [rows, sizes.front()] -> y [rows, sizes.back()].
[[nodiscard]] std::string dense_model_bytes(const DenseModel& model);
void write_dense_model(const DenseModel& model, const std::string& path);

}  // namespace fatctx::support
