// Finds the places where the rolling value of the bytes before them begins with zeros.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "container/sharing/gear.h"
#include "fatctx/base/bytes.h"

namespace fatctx::container::sharing {

// Scans of many bytes go in steps of this size, which bounds the memory for places.
inline constexpr std::size_t kGearUnit = std::size_t{64} << 10;

struct GearHit {
  std::uint64_t rolling = 0;  // of the kGearWindow bytes in front of `end`
  std::size_t end = 0;
};

// A search that hashes several stretches of the bytes in turn. A rolling value depends on the one before it, so a
// processor that follows a single stretch mostly waits. The places found do not depend on the stretches.
//
// Memory: 28 bytes a place that is found in one call. Threads: one at a time.
class GearScan {
 public:
  // `zero_bits` is the number of highest bits that are zero; 1 to 63.
  explicit GearScan(unsigned zero_bits) noexcept : limit_(std::uint64_t{1} << (64 - zero_bits)) {}

  // Returns the places from `first` to `last`, both included, ascending. Lifetime: until the next call.
  // Requires: kGearWindow <= first <= last <= bytes.size().
  [[nodiscard]] std::span<const GearHit> find(ByteView bytes, std::size_t first, std::size_t last);

 private:
  static constexpr std::size_t kStretches = 4;

  std::uint64_t limit_;
  std::array<std::vector<GearHit>, kStretches> hits_;
};

// Returns the rolling value of the kGearWindow bytes in front of `end`.
[[nodiscard]] std::uint64_t rolling_before(ByteView bytes, std::size_t end) noexcept;

}  // namespace fatctx::container::sharing
