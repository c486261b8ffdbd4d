// Builds the sectors of the header.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "container/format/disk_format.h"
#include "container/read/parse.h"
#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/record.h"

namespace fatctx::container {

// The values of a generation that its slots hold.
struct GenerationFacts {
  std::uint64_t generation = 1;
  std::uint64_t committed_end = 0;
  std::array<std::uint64_t, 2> toc_offset = {};
  std::uint64_t toc_size = 0;
  std::uint64_t toc_head_size = 0;
  Hash128 toc_hash;           // of the head
  Hash128 previous_toc_hash;  // zero if there is none
  std::optional<SlotSignature> signature = {};
  bool sealed = false;
};

// Returns the number of the generation that follows `generation`.
// Errors: limit_exceeded (no number follows the last one).
[[nodiscard]] Result<std::uint64_t> next_generation(std::uint64_t generation);

using HeaderSector = std::array<std::byte, kSectorSize>;

[[nodiscard]] HeaderSector prologue_sector(const DiskUuid& uuid, std::uint8_t extent_log2, std::uint8_t granule_log2);
[[nodiscard]] HeaderSector slot_sector(std::uint8_t slot_index, const DiskUuid& uuid, const GenerationFacts& facts);
// Returns the sector of a good slot's other mirror.
[[nodiscard]] HeaderSector mirrored_slot(ByteView good_sector, std::uint8_t slot_index, const DiskUuid& uuid);
[[nodiscard]] HeaderSector void_slot_sector(std::uint8_t slot_index, const DiskUuid& uuid, std::uint64_t generation);

// Returns the header of a file that is written as a whole: both prologues, pair A live, pair B VOID.
[[nodiscard]] std::vector<std::byte> first_header(const DiskUuid& uuid, std::uint8_t extent_log2,
                                                  std::uint8_t granule_log2, const GenerationFacts& facts);

}  // namespace fatctx::container
