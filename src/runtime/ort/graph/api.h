// The interface of ONNX Runtime, which ONNX Runtime passes to this library when it loads it. The library does not link
// to ONNX Runtime.
#pragma once

#include <onnxruntime_cxx_api.h>

#include <cstdint>
#include <string_view>

namespace fatctx::ort {

inline constexpr std::string_view kProviderName = "FatctxExecutionProvider";
// The value of `source` in EPContext nodes, and of the backend in the keys of records.
inline constexpr std::string_view kNodeSource = "fatctx";
inline constexpr std::string_view kBackend = "ort-cpu";
// The arch in the keys of records: such a graph needs ONNX operators, not an instruction set.
inline constexpr std::string_view kArch = "onnx";

// The version of the ONNX Runtime that has loaded this library, such as "1.31".
struct RuntimeVersion {
  std::uint16_t major = 0;
  std::uint16_t minor = 0;
};
[[nodiscard]] RuntimeVersion runtime_version();

// Sets the interface; must be called before anything else. Returns false if the runtime is older than the one that this
// library was built for.
[[nodiscard]] bool use_runtime(const OrtApiBase* base) noexcept;

}  // namespace fatctx::ort
