// The calls of ONNX Runtime's C interface that attaching needs, with statuses converted to errors.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <onnxruntime_c_api.h>

#include "fatctx/container.h"

namespace fatctx::ort {

struct FileBuffer {
  std::filesystem::path location;  // its characters are ONNX Runtime's ORTCHAR_T on every system
  ByteView bytes;
};

struct ReleaseValue {
  const OrtApi* api;
  void operator()(OrtValue* value) const noexcept { api->ReleaseValue(value); }
};
using Value = std::unique_ptr<OrtValue, ReleaseValue>;

struct ReleaseEnvironment {
  const OrtApi* api;
  void operator()(OrtEnv* environment) const noexcept { api->ReleaseEnv(environment); }
};
using Environment = std::unique_ptr<OrtEnv, ReleaseEnvironment>;

// An ONNX Runtime that the application has loaded. Copies are cheap; the application keeps the library loaded.
class AttachRuntime {
 public:
  // Opens the interface. Errors: invalid_argument (null), unsupported (before 1.23).
  [[nodiscard]] static Result<AttachRuntime> of(const OrtApiBase* base);

  [[nodiscard]] const std::string& version() const noexcept { return version_; }
  // Returns true if this version can borrow external data from memory instead of copying it.
  [[nodiscard]] bool borrows() const noexcept { return borrows_; }

  // Returns a reference to the application's environment, or creates one if there is none. ONNX Runtime logs errors to
  // an environment, and ends the process if none exists. Errors: invalid_argument.
  [[nodiscard]] Result<Environment> environment() const;

  // Returns a tensor over the bytes of the view. They are neither copied nor written to: initializers are constants.
  // Errors: invalid_argument.
  [[nodiscard]] Result<Value> tensor_over(const WeightView& view) const;

  // These functions change the session options. Errors: invalid_argument, with the message of ONNX Runtime.
  [[nodiscard]] Status add_files(OrtSessionOptions* options, std::span<const FileBuffer> files) const;
  [[nodiscard]] Status add_initializer(OrtSessionOptions* options, const std::string& name,
                                       const OrtValue* value) const;
  [[nodiscard]] Status disable_optimising(OrtSessionOptions* options) const;
  [[nodiscard]] Status disable_prepacking(OrtSessionOptions* options) const;

 private:
  AttachRuntime(const OrtApi* api, std::string version, bool borrows)
      : api_(api), version_(std::move(version)), borrows_(borrows) {}
  // Converts and releases the status.
  [[nodiscard]] Status done(OrtStatus* status, std::string_view what) const;

  const OrtApi* api_;
  std::string version_;
  bool borrows_;
};

}  // namespace fatctx::ort
