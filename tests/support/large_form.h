// The places of the header's sectors in files of the large form, which most tests pack: only the tests of the small
// form itself need the other one.
#pragma once

#include "container/format/disk_format.h"

namespace fatctx::container {

inline constexpr auto kPrologueOffsets = kLargeForm.prologues;
inline constexpr auto kSlotOffsets = kLargeForm.slots;
inline constexpr std::uint64_t kHeaderSize = kLargeForm.size;

// Returns whether a range meets a sector of the header: an open reads these and not the padding between them.
[[nodiscard]] constexpr bool meets_header_sector(std::uint64_t offset, std::uint64_t size) noexcept {
  for (const std::uint64_t sector :
       {kPrologueOffsets[0], kPrologueOffsets[1], kSlotOffsets[0], kSlotOffsets[1], kSlotOffsets[2], kSlotOffsets[3]}) {
    if (offset < sector + kSectorSize && sector < offset + size) return true;
  }
  return false;
}

}  // namespace fatctx::container
