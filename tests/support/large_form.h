// The places of the header's sectors in files of the large form, which most tests pack: only the tests of the small
// form itself need the other one.
#pragma once

#include "container/format/disk_format.h"

namespace fatctx::container {

inline constexpr auto kPrologueOffsets = kLargeForm.prologues;
inline constexpr auto kSlotOffsets = kLargeForm.slots;
inline constexpr std::uint64_t kHeaderSize = kLargeForm.size;

}  // namespace fatctx::container
