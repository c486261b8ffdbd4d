// The bytes of an update file. docs/update_format.md is the normative text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "container/format/disk_format.h"
#include "fatctx/base/little_endian.h"

namespace fatctx::container {

inline constexpr std::array<std::byte, 8> kUpdateMagic = {std::byte{'F'}, std::byte{'A'}, std::byte{'T'},
                                                          std::byte{'C'}, std::byte{'T'}, std::byte{'X'},
                                                          std::byte{'U'}, std::byte{'\n'}};
inline constexpr std::uint16_t kUpdateVersion = 1;
inline constexpr std::uint64_t kMaxOldFiles = 16;
inline constexpr unsigned kPartLog2 = 24;  // bytes of NEW that one part makes; the last one may make fewer
inline constexpr std::uint64_t kPartSize = std::uint64_t{1} << kPartLog2;

// The most that a part of `size` bytes may hold. Fewer bytes than a step makes on average cost less as a literal.
[[nodiscard]] constexpr std::uint64_t most_steps_of_part(std::uint64_t size) noexcept { return size / 16 + 16; }
[[nodiscard]] constexpr std::uint64_t most_stored_of_part(std::uint64_t size) noexcept {
  return size + size / 8 + 0x1000;
}
// Without a limit of the caller, NEW has at most so many bytes, for so many bytes of OLD and of the update together.
[[nodiscard]] constexpr std::uint64_t most_made(std::uint64_t given) noexcept {
  constexpr std::uint64_t kTimes = 16;
  constexpr std::uint64_t kOnTop = std::uint64_t{64} << 20;
  return given * kTimes + kOnTop;
}

// A flag: the steps make leaf hashes too, and copies follow PartGroups::by_record().
inline constexpr std::uint32_t kForPartial = 1;

// Names one state of a container: OLD or NEW.
struct ContainerName {
  DiskUuid uuid;
  le64 generation;
  le64 size;  // bytes of the file, up to its committed end
  DiskHash toc_hash;

  friend bool operator==(const ContainerName& a, const ContainerName& b) noexcept {
    return a.uuid == b.uuid && a.generation == b.generation && a.size == b.size && a.toc_hash == b.toc_hash;
  }
};
static_assert(sizeof(ContainerName) == 48 && alignof(ContainerName) == 1);

// A ContainerName of each OLD follows, and then the hash of all bytes before it.
struct UpdateHeader {
  std::array<std::byte, 8> magic;
  le16 version;
  le16 old_count;
  le32 flags;
  ContainerName made;  // NEW
};
static_assert(sizeof(UpdateHeader) == 64 && alignof(UpdateHeader) == 1);

// The coded steps follow, and then the raw literals.
struct UpdatePart {
  le32 step_count;
  le32 coded_size;
  le32 raw_size;
  le32 reserved;
  DiskHash made_hash;    // of the bytes that its steps make
  DiskHash stored_hash;  // of the header's hash, the fields above and the bytes that follow
};
static_assert(sizeof(UpdatePart) == 48 && alignof(UpdatePart) == 1);

}  // namespace fatctx::container
