// The resident memory of a piece of work at its peak.
#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <stdexcept>
#include <string>

namespace fatctx::support {

// A measurement from its construction on. Only one at a time: the system keeps one peak for the whole process.
class PeakMemory {
 public:
  PeakMemory() {
    std::ofstream("/proc/self/clear_refs") << "5";  // resets the peak
    before_ = peak();
  }
  [[nodiscard]] std::uint64_t grown_bytes() const { return std::max(peak(), before_) - before_; }

 private:
  [[nodiscard]] static std::uint64_t peak() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
    }
    throw std::runtime_error("the system does not say how much memory this process has had");
  }
  std::uint64_t before_ = 0;
};

}  // namespace fatctx::support
