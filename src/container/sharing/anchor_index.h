// Finds places in stored bytes by the bytes in front of them.
#pragma once

#include <cstdint>
#include <vector>

#include "container/sharing/record_bytes.h"
#include "fatctx/base/bytes.h"

namespace fatctx::container::sharing {

inline constexpr unsigned kAnchorLog2 = 7;  // an anchor every 2^7 bytes on average
inline constexpr std::uint64_t kAnchorMask = ~std::uint64_t{0} << (64 - kAnchorLog2);
// Distance after which an anchor is set even if no bytes ask for one: data of a short period may never have any.
inline constexpr std::uint64_t kMaxAnchorGap = std::uint64_t{16} << kAnchorLog2;

inline constexpr std::uint64_t kNoPlace = ~std::uint64_t{0};

// An index from the rolling value of 64 bytes to the place behind them, counted through all stored bytes. If several
// places have one value, it keeps the oldest. Equal values never prove that bytes are equal.
//
// Memory: 23 to 46 bytes an anchor, which is at most 0.36 bytes for each stored one.
class AnchorIndex {
 public:
  void add(std::uint64_t rolling, std::uint64_t place);
  // Returns the place behind bytes with this value; kNoPlace if there is none.
  [[nodiscard]] std::uint64_t find(std::uint64_t rolling) const noexcept;

 private:
  struct Slot {
    std::uint64_t rolling = 0;
    std::uint64_t place = kNoPlace;
  };
  void grow();
  [[nodiscard]] std::size_t slot_of(std::uint64_t rolling) const noexcept;

  std::vector<Slot> slots_;  // open addressing, a power of two
  unsigned log2_ = 0;
  std::size_t used_ = 0;
};

// Adds the anchors of `bytes`, whose first byte is at `place` of all stored bytes. Works in units of 4 MiB; each unit
// starts a new count of bytes without an anchor, so the result does not depend on the number of threads.
// Memory: 6 MiB a thread. Errors: those of reading.
[[nodiscard]] Status add_anchors(AnchorIndex& index, const RecordBytes& bytes, std::uint64_t place, unsigned threads);

// Returns whether all bytes are equal. Their rolling value never changes: every place is an anchor, or none.
[[nodiscard]] bool constant(ByteView bytes) noexcept;

}  // namespace fatctx::container::sharing
