#include "container/format/page_hashes.h"

#include <cstring>

#include "container/format/crypto.h"
#include "container/format/hash.h"

namespace fatctx::container {
namespace {

template <typename HashOf>
void put_hashes(ByteView body, std::span<std::byte> hashes, const HashOf& hash_of) {
  const std::uint64_t pages = toc_pages(body.size());
  for (std::uint64_t page = 0; page < pages; ++page) {
    const ByteRange range = page_range(page, body.size());
    const auto hash =
        hash_of(body.subspan(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size)));
    std::memcpy(hashes.data() + page * sizeof(hash), &hash, sizeof(hash));
  }
}

template <typename Hash>
bool matches(ByteView hashes, std::uint64_t page, const Hash& hash) {
  return std::memcmp(hashes.data() + page * sizeof(hash), &hash, sizeof(hash)) == 0;
}

}  // namespace

void put_page_hashes(ByteView body, std::span<std::byte> hashes) noexcept {
  put_hashes(body, hashes, [](ByteView bytes) { return hash128(bytes).bytes; });
}

void put_page_sha256(ByteView body, std::span<std::byte> hashes) noexcept { put_hashes(body, hashes, sha256); }

bool page_hash_matches(ByteView hashes, std::uint64_t page, ByteView bytes) noexcept {
  return matches(hashes, page, hash128(bytes).bytes);
}

bool page_sha256_matches(ByteView hashes, std::uint64_t page, ByteView bytes) noexcept {
  return matches(hashes, page, sha256(bytes));
}

}  // namespace fatctx::container
