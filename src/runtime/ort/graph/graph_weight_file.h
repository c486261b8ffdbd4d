// A file that receives weights of a model.
#pragma once

#include <cstdint>
#include <fstream>
#include <span>
#include <string>

#include "fatctx/base/result.h"

namespace onnx {
class TensorProto;
}

namespace fatctx::ort {

// A writer that begins the file with the first weight.
class GraphWeightFile {
 public:
  // `folder` ends with '/'; `name` is what models call the file.
  GraphWeightFile(const std::string& folder, std::string name) : name_(std::move(name)), path_(folder + name_) {}

  // Writes the bytes, and lets the tensor point to them.
  void add(onnx::TensorProto& tensor, std::span<const char> bytes);
  // Closes the file. Errors: no_space, for any of the weights.
  [[nodiscard]] Status finish();

 private:
  std::string name_;
  std::string path_;
  std::ofstream file_;
  std::uint64_t at_ = 0;
};

}  // namespace fatctx::ort
