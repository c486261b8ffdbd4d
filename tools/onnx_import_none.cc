// In place of onnx_import.cc where the build found no ONNX library: the same questions, answered by an error.
#include "tools/onnx_import.h"

namespace fatctx::tools {
namespace {

Error without_onnx() {
  return Error{ErrorCode::kUnsupported, "this build of fatctx reads no ONNX models; use one that was built with ONNX"};
}

}  // namespace

Result<OnnxModel> read_onnx(const std::string& /*path*/) { return without_onnx(); }

Result<std::uint64_t> give_shapes(const OnnxModel& /*model*/, const std::string& /*model_name*/,
                                  std::vector<PackTensor>& /*tensors*/) {
  return without_onnx();
}

Result<std::uint64_t> write_onnx_pointing_into(const std::string& /*model_path*/, const std::string& /*file*/,
                                               const std::map<std::string, OnnxPlace>& /*places*/,
                                               const std::string& /*output*/) {
  return without_onnx();
}

}  // namespace fatctx::tools
