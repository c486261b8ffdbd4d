#include "runtime/ort/attach/attach_runtime.h"

#include <charconv>
#include <compare>
#include <utility>

#include <fmt/format.h>
#include <onnxruntime_session_options_config_keys.h>

#include "runtime/ort/attach/element_types.h"

namespace fatctx::ort {

namespace {

// The oldest interface that is tested. Function tables only grow at their end, so every newer ONNX Runtime supports it,
// whatever headers this file is compiled with.
constexpr std::uint32_t kOldestInterface = 23;

// Newer than the oldest supported headers, which have no name for it.
constexpr const char* kBorrowFileBuffers = "session.use_external_initializer_file_buffers_directly";

struct MajorMinor {
  std::uint32_t major = 0;
  std::uint32_t minor = 0;
  friend constexpr auto operator<=>(const MajorMinor&, const MajorMinor&) noexcept = default;
};
constexpr MajorMinor kFirstThatBorrows = {1, 31};

// Parses "1.31.1" or "1.32.0-dev". A part that is not a number counts as 0, and such a version does not borrow.
MajorMinor parse(std::string_view version) {
  MajorMinor parsed;
  const char* const end = version.data() + version.size();
  const auto major = std::from_chars(version.data(), end, parsed.major);
  if (major.ec != std::errc() || major.ptr == end) return parsed;
  std::from_chars(major.ptr + 1, end, parsed.minor);
  return parsed;
}

struct ReleaseMemoryInfo {
  const OrtApi* api;
  void operator()(OrtMemoryInfo* info) const noexcept { api->ReleaseMemoryInfo(info); }
};

}  // namespace

Result<AttachRuntime> AttachRuntime::of(const OrtApiBase* base) {
  if (base == nullptr) {
    return Error{ErrorCode::kInvalidArgument, "attach_weights: the OrtApiBase is null; OrtGetApiBase() gives it"};
  }
  const std::string version = base->GetVersionString();
  const OrtApi* api = base->GetApi(kOldestInterface);
  if (api == nullptr) {
    return Error{ErrorCode::kUnsupported,
                 fmt::format("ONNX Runtime {} is too old to attach weights: 1.{} or newer is needed", version,
                             kOldestInterface)};
  }
  return AttachRuntime(api, version, parse(version) >= kFirstThatBorrows);
}

Status AttachRuntime::done(OrtStatus* status, std::string_view what) const {
  if (status == nullptr) return Done{};
  Error error{ErrorCode::kInvalidArgument,
              fmt::format("ONNX Runtime {} refuses {}: {}", version_, what, api_->GetErrorMessage(status))};
  api_->ReleaseStatus(status);
  return error;
}

Result<Environment> AttachRuntime::environment() const {
  OrtEnv* environment = nullptr;
  FATCTX_TRY(done(api_->CreateEnv(ORT_LOGGING_LEVEL_WARNING, "fatctx", &environment), "making an environment"));
  return Environment(environment, ReleaseEnvironment{api_});
}

Result<Value> AttachRuntime::tensor_over(const WeightView& view) const {
  const std::string what = fmt::format("tensor \"{}\"", view.name());
  OrtMemoryInfo* made = nullptr;
  FATCTX_TRY(done(api_->CreateCpuMemoryInfo(OrtDeviceAllocator, OrtMemTypeDefault, &made), what));
  const std::unique_ptr<OrtMemoryInfo, ReleaseMemoryInfo> info(made, ReleaseMemoryInfo{api_});
  const std::vector<std::int64_t> shape(view.shape().begin(), view.shape().end());
  static std::byte nothing;  // for a tensor without elements: its pointer must not be null
  const ByteView bytes = view.bytes();
  void* const data = bytes.empty() ? &nothing : const_cast<std::byte*>(bytes.data());
  OrtValue* value = nullptr;
  FATCTX_TRY(done(
      api_->CreateTensorWithDataAsOrtValue(info.get(), data, bytes.size(), shape.data(), shape.size(),
                                           static_cast<ONNXTensorElementDataType>(onnx_type(view.dtype())), &value),
      what));
  return Value(value, ReleaseValue{api_});
}

Status AttachRuntime::add_files(OrtSessionOptions* options, std::span<const FileBuffer> files) const {
  FATCTX_TRY(done(api_->AddSessionConfigEntry(options, kBorrowFileBuffers, "1"), kBorrowFileBuffers));
  std::vector<const ORTCHAR_T*> names;
  std::vector<char*> buffers;
  std::vector<std::size_t> sizes;
  static char nothing;  // for an empty file
  for (const FileBuffer& file : files) {
    names.push_back(file.location.c_str());
    // Borrowed as constants: the bytes are mapped read-only, so a write would crash the process.
    const auto* bytes = reinterpret_cast<const char*>(file.bytes.data());
    buffers.push_back(file.bytes.empty() ? &nothing : const_cast<char*>(bytes));
    sizes.push_back(file.bytes.size());
  }
  return done(
      api_->AddExternalInitializersFromFilesInMemory(options, names.data(), buffers.data(), sizes.data(), files.size()),
      "external data from memory");
}

Status AttachRuntime::add_initializer(OrtSessionOptions* options, const std::string& name,
                                      const OrtValue* value) const {
  return done(api_->AddInitializer(options, name.c_str(), value), fmt::format("initializer \"{}\"", name));
}

Status AttachRuntime::disable_optimising(OrtSessionOptions* options) const {
  return done(api_->SetSessionGraphOptimizationLevel(options, ORT_DISABLE_ALL), "ORT_DISABLE_ALL");
}

Status AttachRuntime::disable_prepacking(OrtSessionOptions* options) const {
  return done(api_->AddSessionConfigEntry(options, kOrtSessionOptionsConfigDisablePrepacking, "1"),
              kOrtSessionOptionsConfigDisablePrepacking);
}

}  // namespace fatctx::ort
