// A small network whose weights are in a container, and ONNX Runtime sessions of it.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include <onnxruntime_cxx_api.h>

#include "fatctx/onnxruntime.h"
#include "fatctx/packer.h"
#include "support/onnx_file.h"
#include "support/temp_dir.h"

namespace fatctx::ort_tests {

inline constexpr std::uint64_t kWidth = 24;
inline constexpr std::uint64_t kMatrixSize = kWidth * kWidth * sizeof(float);

// Returns true if the runtime that was loaded borrows what it reads from memory. Before 1.31 it copies, so it has no
// route kFileBuffers; a test that needs that route is skipped with kNoBorrowing.
[[nodiscard]] inline bool runtime_borrows() {
  constexpr int kFirstMinor = 31;
  const std::string version = OrtGetApiBase()->GetVersionString();
  return version.rfind("1.", 0) != 0 || std::stoi(version.substr(2)) >= kFirstMinor;
}
inline constexpr const char* kNoBorrowing =
    "this ONNX Runtime has no route file_buffers: it copies what it reads; 1.31 does not";

// Returns the routes that the runtime has.
[[nodiscard]] inline std::vector<AttachRoute> routes() {
  if (runtime_borrows()) return {AttachRoute::kFileBuffers, AttachRoute::kInitializers};
  return {AttachRoute::kInitializers};
}

// Returns matrices whose elements all differ, scaled so that products keep their magnitude.
[[nodiscard]] inline support::Bytes matrix_bytes(std::uint64_t width, std::uint64_t count, std::uint32_t seed) {
  support::Bytes bytes(static_cast<std::size_t>(width * width * count * sizeof(float)));
  std::uint32_t state = 2463534242U + seed;
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(float)) {
    state = state * 1664525U + 1013904223U;
    const float element = (static_cast<float>(state >> 8) / 16777216.0F - 0.5F) * 3.4F / std::sqrt(float(width));
    std::memcpy(&bytes[at], &element, sizeof(float));
  }
  return bytes;
}

[[nodiscard]] inline std::vector<support::OnnxTensor> matrix_tensors(std::uint64_t width, std::uint64_t count,
                                                                     std::uint64_t first_offset = 0) {
  std::vector<support::OnnxTensor> tensors;
  const std::uint64_t size = width * width * sizeof(float);
  for (std::uint64_t i = 0; i < count; ++i) {
    tensors.push_back(
        {.name = "w" + std::to_string(i), .shape = {width, width}, .offset = first_offset + i * size, .size = size});
  }
  return tensors;
}

// Returns the weight blob that replaces external data, as `fatctx pack --weights MODEL.onnx` makes it.
[[nodiscard]] inline PackRecord weight_blob(const std::string& name, const std::vector<support::OnnxTensor>& tensors,
                                            const std::string& location = "w.bin") {
  PackRecord blob;
  blob.type = RecordType::kWeightBlob;
  blob.name = name;
  blob.key.group = "net";
  blob.key.variant = name;
  for (const support::OnnxTensor& tensor : tensors) {
    blob.tensors.push_back({.name = tensor.name,
                            .dtype = DType::kF32,
                            .shape = tensor.shape,
                            .offset_in_blob = tensor.offset,
                            .size_bytes = tensor.size});
  }
  if (!location.empty()) blob.description.options = {{"onnx.location", location, "onnx"}};
  return blob;
}

inline std::string pack(const std::string& path, std::vector<PackRecord> records) {
  PackOptions options;
  options.model_name = "net";
  Packer packer(std::move(options));
  for (PackRecord& record : records) {
    if (const auto added = packer.add(std::move(record)); !added.ok()) throw std::runtime_error(to_text(added.error()));
  }
  const auto report = packer.publish(path);
  if (!report.ok()) throw std::runtime_error(to_text(report.error()));
  return path;
}

inline Ort::Env& environment() {
  static Ort::Env env(ORT_LOGGING_LEVEL_FATAL, "fatctx");
  return env;
}

[[nodiscard]] inline ByteView view_of(const std::string& text) { return std::as_bytes(std::span(text)); }

[[nodiscard]] inline Ort::SessionOptions session_options() {
  Ort::SessionOptions options;
  options.SetIntraOpNumThreads(1);
  return options;
}

[[nodiscard]] inline Ort::Session session_of(const std::string& model_path, const Ort::SessionOptions& options) {
  return {environment(), model_path.c_str(), options};
}

// Returns y for an x whose elements all differ.
[[nodiscard]] inline std::vector<float> run(Ort::Session& session, std::uint64_t width = kWidth) {
  std::vector<float> x(width);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = 0.25F + 0.001F * static_cast<float>(i);
  const std::int64_t shape[] = {1, static_cast<std::int64_t>(width)};
  const auto memory = Ort::MemoryInfo::CreateCpu(OrtDeviceAllocator, OrtMemTypeDefault);
  const auto input = Ort::Value::CreateTensor<float>(memory, x.data(), x.size(), shape, 2);
  const char* inputs[] = {"x"};
  const char* outputs[] = {"y"};
  const auto results = session.Run(Ort::RunOptions(), inputs, &input, 1, outputs, 1);
  const float* y = results[0].GetTensorData<float>();
  return {y, y + results[0].GetTensorTypeAndShapeInfo().GetElementCount()};
}

// Models may be optimized differently, and then add up in another order.
[[nodiscard]] inline float greatest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size() || a.empty()) return INFINITY;
  float greatest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) greatest = std::max(greatest, std::abs(a[i] - b[i]));
  return greatest;
}

}  // namespace fatctx::ort_tests
