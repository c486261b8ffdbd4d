#include "runtime/ort/graph/graph_weight_file.h"

#include <fmt/format.h>
#include <onnx/onnx_pb.h>

#include "runtime/ort/graph/graph_walk.h"

namespace fatctx::ort {
namespace {

constexpr std::uint64_t kDataAlignment = 64;

}  // namespace

void GraphWeightFile::add(onnx::TensorProto& tensor, std::span<const char> bytes) {
  if (!file_.is_open()) file_.open(path_, std::ios::binary | std::ios::trunc);
  const std::uint64_t gap = (kDataAlignment - at_ % kDataAlignment) % kDataAlignment;
  static constexpr char kZeros[kDataAlignment] = {};
  file_.write(kZeros, static_cast<std::streamsize>(gap));
  file_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  set_outside(tensor, name_, at_ + gap, bytes.size());
  at_ += gap + bytes.size();
}

Status GraphWeightFile::finish() {
  if (!file_.is_open()) return Done{};
  file_.close();
  if (file_.good()) return Done{};
  return Error{ErrorCode::kNoSpace, fmt::format("{}: cannot be written; is the disk full?", path_)};
}

}  // namespace fatctx::ort
