#include "container/format/hash.h"

#include <cstring>
#include <new>

#define XXH_STATIC_LINKING_ONLY  // to hold the streaming state by value, aligned
#include <xxhash.h>
#ifdef FATCTX_XXHASH_DISPATCH
#include <xxh_x86dispatch.h>  // the same functions for the widest vectors of the processor
#endif

namespace fatctx::container {
namespace {

Hash128 canonical(XXH128_hash_t hash) noexcept {
  XXH128_canonical_t bytes;
  XXH128_canonicalFromHash(&bytes, hash);
  Hash128 result;
  static_assert(sizeof(bytes.digest) == sizeof(result.bytes));
  std::memcpy(result.bytes.data(), bytes.digest, sizeof(bytes.digest));
  return result;
}

}  // namespace

struct Hasher::State {
  XXH3_state_t xxh;
};

Hash128 hash128(ByteView bytes, std::uint64_t seed) noexcept {
  return canonical(XXH3_128bits_withSeed(bytes.data(), bytes.size(), seed));
}

std::uint64_t slot_seed(const DiskUuid& uuid, std::uint8_t slot_index) noexcept {
  std::array<std::byte, sizeof(DiskUuid) + 1> input;
  std::memcpy(input.data(), uuid.data(), uuid.size());
  input.back() = std::byte{slot_index};
  return XXH3_64bits(input.data(), input.size());
}

std::uint32_t hash32(ByteView bytes) noexcept {
  return static_cast<std::uint32_t>(XXH3_64bits(bytes.data(), bytes.size()));
}

std::uint32_t name_hash(std::string_view name) noexcept { return hash32(std::as_bytes(std::span(name))); }

std::string uuid_text(const DiskUuid& uuid) {
  const std::string hex = to_hex(uuid);
  std::string text;
  std::size_t at = 0;
  for (const std::size_t digits : {8U, 4U, 4U, 4U, 12U}) {
    if (at != 0) text += '-';
    text.append(hex, at, digits);
    at += digits;
  }
  return text;
}

Hasher::Hasher() : state_(std::make_unique<State>()) { (void)XXH3_128bits_reset(&state_->xxh); }
Hasher::~Hasher() = default;

void Hasher::update(ByteView bytes) noexcept { (void)XXH3_128bits_update(&state_->xxh, bytes.data(), bytes.size()); }

Hash128 Hasher::digest() const noexcept { return canonical(XXH3_128bits_digest(&state_->xxh)); }

}  // namespace fatctx::container
