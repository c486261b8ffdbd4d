#include "tools/ctx_gen/engine/ort_library.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string>

#include <fmt/format.h>

namespace fatctx::tools {
namespace {

constexpr const char* kVariable = "FATCTX_ONNXRUNTIME";
#ifdef __APPLE__
constexpr const char* kLibrary = "libonnxruntime.1.dylib";
#else
constexpr const char* kLibrary = "libonnxruntime.so.1";
#endif

Error missing(const std::string& why) {
  return {ErrorCode::kBackendLibraryMissing,
          fmt::format("{}; install ONNX Runtime 1.{} or newer (pip install onnxruntime), and name its library "
                      "libonnxruntime.so.* in {}",
                      why, ORT_API_VERSION, kVariable)};
}

Result<const OrtApiBase*> load_once() {
  const char* const named = std::getenv(kVariable);
  const std::string file = named != nullptr && *named != '\0' ? named : kLibrary;
  void* const library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return missing(fmt::format("ONNX Runtime cannot be loaded: {}", ::dlerror()));
  const auto base_of = reinterpret_cast<decltype(&OrtGetApiBase)>(::dlsym(library, "OrtGetApiBase"));
  if (base_of == nullptr) return missing(fmt::format("{} is not ONNX Runtime", file));
  const OrtApiBase* const base = base_of();
  if (base->GetApi(ORT_API_VERSION) == nullptr) {
    return missing(fmt::format("{} is ONNX Runtime {}, which is too old", file, base->GetVersionString()));
  }
  return base;
}

}  // namespace

Result<const OrtApiBase*> onnxruntime_library() {
  static const Result<const OrtApiBase*> kLoaded = load_once();
  return kLoaded;
}

}  // namespace fatctx::tools
