#include "runtime/ort/graph/graph_file.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include <fstream>

#include "runtime/ort/graph/graph_tensors.h"

namespace fatctx::ort {

Status read_model(const std::string& path, onnx::ModelProto& model) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ErrorCode::kNotFound, fmt::format("{}: cannot be read", path)};
  if (model.ParseFromIstream(&file)) return Done{};
  return Error{ErrorCode::kMalformed, fmt::format("{}: not an ONNX model", path)};
}

Status write_model(const onnx::ModelProto& model, const std::string& path) {
  FATCTX_TRY(check_model_size(model.ByteSizeLong()));
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  const bool written = model.SerializeToOstream(&out);
  out.close();
  if (written && out.good()) return Done{};
  return Error{ErrorCode::kNoSpace, fmt::format("{}: cannot be written; is the disk full?", path)};
}

}  // namespace fatctx::ort
