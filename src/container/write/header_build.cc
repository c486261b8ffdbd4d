#include "container/write/header_build.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "container/format/hash.h"

namespace fatctx::container {
namespace {

template <typename Sector>
HeaderSector sector_of(const Sector& sector, std::uint64_t seed) {
  static_assert(sizeof(Sector) == kSectorSize);
  HeaderSector bytes;
  std::memcpy(bytes.data(), &sector, sizeof(Sector));
  const Hash128 hash = hash128(ByteView(bytes).first(offsetof(Sector, page_hash)), seed);
  std::copy(hash.bytes.begin(), hash.bytes.end(), bytes.begin() + offsetof(Sector, page_hash));
  return bytes;
}

Slot blank_slot(std::uint8_t index, const DiskUuid& uuid) {
  Slot slot = {};
  slot.magic = kSlotMagic;
  slot.slot_index = index;
  slot.uuid = uuid;
  return slot;
}

}  // namespace

Result<std::uint64_t> next_generation(std::uint64_t generation) {
  if (generation < std::numeric_limits<std::uint64_t>::max()) return generation + 1;
  return Error{ErrorCode::kLimitExceeded,
               fmt::format("generation {} is the last that a container can have; `fatctx extract` its records and pack "
                           "them into a new container",
                           generation)};
}

HeaderSector prologue_sector(const DiskUuid& uuid, std::uint8_t extent_log2, std::uint8_t granule_log2) {
  Prologue prologue = {};
  prologue.magic = kMagic;
  prologue.major_version = kMajorVersion;
  prologue.minor_version = kMinorVersion;
  prologue.extent_log2 = extent_log2;
  prologue.granule_log2 = granule_log2;
  prologue.uuid = uuid;
  return sector_of(prologue, 0);
}

HeaderSector slot_sector(std::uint8_t slot_index, const DiskUuid& uuid, const GenerationFacts& facts) {
  Slot slot = blank_slot(slot_index, uuid);
  slot.flags = facts.sealed ? kSlotSealed : std::uint8_t{0};
  slot.generation = facts.generation;
  slot.committed_end = facts.committed_end;
  slot.toc_offset = {facts.toc_offset[0], facts.toc_offset[1]};
  slot.toc_size = facts.toc_size;
  slot.toc_head_size = facts.toc_head_size;
  slot.toc_hash = facts.toc_hash.bytes;
  slot.previous_toc_hash = facts.previous_toc_hash.bytes;
  if (facts.signature) {
    slot.toc_sha256 = facts.signature->toc_sha256;
    slot.previous_toc_sha256 = facts.signature->previous_toc_sha256;
    slot.key_id = facts.signature->key_id;
    slot.signature = facts.signature->signature;
  }
  return sector_of(slot, slot_seed(uuid, slot_index));
}

HeaderSector mirrored_slot(ByteView good_sector, std::uint8_t slot_index, const DiskUuid& uuid) {
  Slot slot;
  std::memcpy(&slot, good_sector.data(), sizeof(Slot));
  slot.slot_index = slot_index;
  return sector_of(slot, slot_seed(uuid, slot_index));
}

HeaderSector void_slot_sector(std::uint8_t slot_index, const DiskUuid& uuid, std::uint64_t generation) {
  Slot slot = blank_slot(slot_index, uuid);
  slot.generation = generation;
  slot.flags = kSlotVoid;
  return sector_of(slot, slot_seed(uuid, slot_index));
}

std::vector<std::byte> first_header(const DiskUuid& uuid, std::uint8_t extent_log2, std::uint8_t granule_log2,
                                    const GenerationFacts& facts) {
  const HeaderForm& form = header_form(extent_log2);
  std::vector<std::byte> header(static_cast<std::size_t>(form.size));
  const auto put = [&](std::uint64_t offset, const HeaderSector& sector) {
    std::copy(sector.begin(), sector.end(), header.begin() + static_cast<std::ptrdiff_t>(offset));
  };
  for (const std::uint64_t offset : form.prologues) put(offset, prologue_sector(uuid, extent_log2, granule_log2));
  constexpr std::uint8_t kSlotCount = kLargeForm.slots.size();
  for (std::uint8_t index = 0; index < kSlotCount; ++index) {
    put(form.slots[index],
        index % 2 == 0 ? slot_sector(index, uuid, facts) : void_slot_sector(index, uuid, facts.generation - 1));
  }
  return header;
}

}  // namespace fatctx::container
