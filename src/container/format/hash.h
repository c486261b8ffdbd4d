// XXH3, the only hash of the format that detects accidents. It does not detect attacks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "container/format/disk_format.h"
#include "fatctx/base/bytes.h"
#include "fatctx/record.h"

namespace fatctx::container {

[[nodiscard]] Hash128 hash128(ByteView bytes, std::uint64_t seed = 0) noexcept;
// Returns the seed of a slot's page hash: XXH3-64 of the uuid followed by the slot index. So a slot that was copied to
// another place, or from another file, does not match.
[[nodiscard]] std::uint64_t slot_seed(const DiskUuid& uuid, std::uint8_t slot_index) noexcept;
// Returns the lowest 32 bits of XXH3-64: for searches, whose finds are compared otherwise.
[[nodiscard]] std::uint32_t hash32(ByteView bytes) noexcept;
// Returns the hash under which a name index lists a name: its hash32.
[[nodiscard]] std::uint32_t name_hash(std::string_view name) noexcept;

// Returns 8-4-4-4-12 hexadecimal digits.
[[nodiscard]] std::string uuid_text(const DiskUuid& uuid);

// A hash of bytes that come in pieces.
class Hasher {
 public:
  Hasher();
  ~Hasher();
  Hasher(const Hasher&) = delete;
  Hasher& operator=(const Hasher&) = delete;
  void update(ByteView bytes) noexcept;
  [[nodiscard]] Hash128 digest() const noexcept;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace fatctx::container
