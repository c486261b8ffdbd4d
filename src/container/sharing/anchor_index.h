// Places of stored bytes, found by what stands in front of them.
#pragma once

#include <cstdint>
#include <vector>

#include "container/sharing/record_bytes.h"
#include "fatctx/base/bytes.h"

namespace fatctx::container::sharing {

inline constexpr unsigned kAnchorLog2 = 7;  // an anchor every 2^7 bytes on average
inline constexpr std::uint64_t kAnchorMask = ~std::uint64_t{0} << (64 - kAnchorLog2);
// Bytes without an anchor behind which one is set by force: data of a short period may never have any.
inline constexpr std::uint64_t kMaxAnchorGap = std::uint64_t{16} << kAnchorLog2;

inline constexpr std::uint64_t kNoPlace = ~std::uint64_t{0};

// Holds a place in all stored bytes, counted through, for the rolling value of the 64 bytes in front of it; of equal
// values the oldest place. A value is never proof that bytes are equal.
//
// Memory: 23 to 46 bytes an anchor, which is at most 0.36 bytes for each stored one.
class AnchorIndex {
 public:
  void add(std::uint64_t rolling, std::uint64_t place);
  // kNoPlace if there is none.
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

// Adds the anchors of `bytes`, whose first byte is at `place` of all stored bytes. Bytes are looked at in units of 4
// MiB, in each of which the count of bytes without an anchor begins anew; so the number of threads changes nothing.
// Memory: 5 MiB a thread. Errors: those of reading.
[[nodiscard]] Status add_anchors(AnchorIndex& index, const RecordBytes& bytes, std::uint64_t place, unsigned threads);

// Equal bytes have a rolling value of their own, which may be that of an anchor at every place or at none.
[[nodiscard]] bool constant(ByteView bytes) noexcept;

}  // namespace fatctx::container::sharing
