// Hashes of the pages behind the head of a table of contents or of a tensor table.
#pragma once

#include <cstdint>
#include <span>

#include "container/format/disk_format.h"
#include "fatctx/base/bytes.h"

namespace fatctx::container {

// Returns the range of a page in a body of `body_size` bytes. Requires: page < toc_pages(body_size).
[[nodiscard]] constexpr ByteRange page_range(std::uint64_t page, std::uint64_t body_size) noexcept {
  const std::uint64_t offset = page * kTocPageSize;
  const std::uint64_t rest = body_size - offset;
  return {offset, rest < kTocPageSize ? rest : kTocPageSize};
}
// Fills `hashes` with the XXH3 of each page of `body`. Requires: it has 16 bytes for each.
void put_page_hashes(ByteView body, std::span<std::byte> hashes) noexcept;
// The same with the SHA-256 of each page, of 32 bytes.
void put_page_sha256(ByteView body, std::span<std::byte> hashes) noexcept;
// Returns whether `bytes` match hash number `page`.
[[nodiscard]] bool page_hash_matches(ByteView hashes, std::uint64_t page, ByteView bytes) noexcept;
[[nodiscard]] bool page_sha256_matches(ByteView hashes, std::uint64_t page, ByteView bytes) noexcept;

}  // namespace fatctx::container
