// Limits for the cost of an input: processor seconds and bytes of memory, by its size. A higher cost is a broken
// promise, like a crash.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <string>

#include "fuzz/promise.h"
#include "support/sanitized.h"

namespace fatctx::fuzz {

// A target makes several calls with an input, and each may produce a GiB. The bugs to be found cost hours, not seconds.
inline constexpr double kSecondsAlways = 10;
inline constexpr double kSecondsPerMebibyte = 1;
inline constexpr double kSanitizedTimes = 10;  // the slowdown of an instrumented build
inline constexpr std::uint64_t kMemoryAlways = std::uint64_t{160} << 20;
inline constexpr std::uint64_t kMemoryPerByte = 16;

// A measurement of the cost from its construction to require_within_budget(). Only the most recently constructed one
// knows the memory peak.
class Cost {
 public:
  explicit Cost(std::uint64_t input_bytes, double seconds_always = kSecondsAlways)
      : input_bytes_(input_bytes), seconds_always_(seconds_always), began_(std::clock()) {
    std::ofstream("/proc/self/clear_refs") << "5";  // resets the peak, where the system has one
    memory_before_ = peak_memory();
  }
  // Reports a broken promise if the work since construction cost more than an input of this size may.
  void require_within_budget() const {
    const double mebibytes = static_cast<double>(input_bytes_) / (1 << 20);
    const double most =
        (seconds_always_ + kSecondsPerMebibyte * mebibytes) * (support::kSanitized ? kSanitizedTimes : 1);
    const double seconds = static_cast<double>(std::clock() - began_) / CLOCKS_PER_SEC;
    require(seconds <= most, "an input costs time by its size", std::to_string(seconds) + " s");
    if (support::kSanitized) return;  // a sanitizer keeps freed memory
    const std::uint64_t grown = std::max(peak_memory(), memory_before_) - memory_before_;
    require(grown <= kMemoryAlways + kMemoryPerByte * input_bytes_, "an input costs memory by its size",
            std::to_string(grown) + " bytes");
  }

 private:
  // Returns the peak in bytes, or 0 where the system does not report it.
  static std::uint64_t peak_memory() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.starts_with("VmHWM:")) return std::stoull(line.substr(6)) * 1024;
    }
    return 0;
  }

  std::uint64_t input_bytes_;
  double seconds_always_;
  std::clock_t began_;
  std::uint64_t memory_before_ = 0;
};

}  // namespace fatctx::fuzz
