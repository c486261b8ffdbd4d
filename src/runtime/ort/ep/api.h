// The interface of ONNX Runtime, which it hands to the library when it loads it; nothing here is linked to it.
#pragma once

#include <onnxruntime_cxx_api.h>

#include <cstdint>
#include <string_view>

namespace fatctx::ort {

inline constexpr std::string_view kProviderName = "FatctxExecutionProvider";
// What EPContext nodes say in `source`, and records in the backend of their key.
inline constexpr std::string_view kNodeSource = "fatctx";
inline constexpr std::string_view kBackend = "ort-cpu";
// What such a graph needs of a device are operators of ONNX, not an instruction set.
inline constexpr std::string_view kArch = "onnx";

// "1.31" of the runtime that has loaded us.
struct RuntimeVersion {
  std::uint16_t major = 0;
  std::uint16_t minor = 0;
};
[[nodiscard]] RuntimeVersion runtime_version();

// Before anything else is called. False: the runtime is older than what this library was built for.
[[nodiscard]] bool use_runtime(const OrtApiBase* base) noexcept;

}  // namespace fatctx::ort
