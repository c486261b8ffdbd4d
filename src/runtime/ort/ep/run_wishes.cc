#include "runtime/ort/ep/run_wishes.h"

#include <onnxruntime_run_options_config_keys.h>

#include <string_view>

namespace fatctx::ort {
namespace {

constexpr const char* kOfTheCpu = "cpu:0";

// Entries that only QNN's provider knows. Its page calls the first "qnn.perf_mode", ONNX Runtime's header otherwise.
const std::array kOfQnn = {kOrtRunOptionsConfigQnnPerfMode, "qnn.perf_mode", kOrtRunOptionsConfigQnnPerfModePostRun,
                           kOrtRunOptionsConfigQnnRpcControlLatency, "qnn.lora_config"};

const char* entry(const OrtRunOptions& options, const char* key) noexcept {
  return Ort::GetApi().GetRunConfigEntry(&options, key);
}

// The entry lists devices: "cpu:0;gpu:0".
bool asks_to_free(const OrtRunOptions& options) noexcept {
  const char* const devices = entry(options, kOrtRunOptionsConfigEnableMemoryArenaShrinkage);
  return devices != nullptr && std::string_view(devices).find(kOfTheCpu) != std::string_view::npos;
}

}  // namespace

std::string RunWishes::begin(const OrtRunOptions& options) {
  static_assert(std::tuple_size_v<decltype(kOfQnn)> == kForeign);
  std::string foreign;
  for (std::size_t i = 0; i < kOfQnn.size(); ++i) {
    if (entry(options, kOfQnn[i]) == nullptr || seen_[i].exchange(true)) continue;
    foreign += foreign.empty() ? "" : ", ";
    foreign += kOfQnn[i];
  }
  if (asks_to_free(options)) ++freeing_;
  return foreign;
}

void RunWishes::end(const OrtRunOptions& options) noexcept {
  if (asks_to_free(options)) --freeing_;
}

Ort::RunOptions run_that_frees_memory() {
  Ort::RunOptions options;
  options.AddConfigEntry(kOrtRunOptionsConfigEnableMemoryArenaShrinkage, kOfTheCpu);
  return options;
}

}  // namespace fatctx::ort
