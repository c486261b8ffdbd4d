#include <utility>

#include "fatctx/device.h"
#include "runtime/probe.h"

namespace fatctx {

Detection detect_device() {
  runtime::CpuProbe probe = runtime::probe_cpu();
  Detection detection;
  if (!probe.target.arch.empty()) {
    detection.device.arch = std::move(probe.target.arch);
    detection.device.features = std::move(probe.target.features);
  }
  detection.sources = std::move(probe.sources);
  return detection;
}

}  // namespace fatctx
