// The calls of ONNX Runtime's C interface that attaching needs, with its statuses as errors.
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
  std::filesystem::path location;  // whose characters are ONNX Runtime's ORTCHAR_T on every system
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

// An ONNX Runtime of the application's. Copies are cheap; the library stays loaded as long as the application says.
class AttachRuntime {
 public:
  // Errors: invalid_argument (null), unsupported (before 1.23).
  [[nodiscard]] static Result<AttachRuntime> of(const OrtApiBase* base);

  [[nodiscard]] const std::string& version() const noexcept { return version_; }
  // Whether external data from memory is borrowed, if asked for, and not copied.
  [[nodiscard]] bool borrows() const noexcept { return borrows_; }

  // A share in the application's environment, or one for now. ONNX Runtime writes what goes wrong to the log of an
  // environment, and ends the process where there is none. Errors: invalid_argument.
  [[nodiscard]] Result<Environment> environment() const;

  // A tensor over bytes that are not copied, and never written: initializers are constants.
  // Errors: invalid_argument.
  [[nodiscard]] Result<Value> tensor_over(const WeightView& view) const;

  // All of these change the session options. Errors: invalid_argument, with ONNX Runtime's own words.
  [[nodiscard]] Status add_files(OrtSessionOptions* options, std::span<const FileBuffer> files) const;
  [[nodiscard]] Status add_initializer(OrtSessionOptions* options, const std::string& name,
                                       const OrtValue* value) const;
  [[nodiscard]] Status disable_optimising(OrtSessionOptions* options) const;
  [[nodiscard]] Status disable_prepacking(OrtSessionOptions* options) const;

 private:
  AttachRuntime(const OrtApi* api, std::string version, bool borrows)
      : api_(api), version_(std::move(version)), borrows_(borrows) {}
  // Takes the status.
  [[nodiscard]] Status done(OrtStatus* status, std::string_view what) const;

  const OrtApi* api_;
  std::string version_;
  bool borrows_;
};

}  // namespace fatctx::ort
