// The leaf hashes of one segment as they are stored: the leaves, and above 4,096 of them also a hash of each page of
// leaves (docs/format.md, section 5.1).
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "container/format/crypto.h"
#include "container/format/hash.h"

namespace fatctx::container {

template <typename Hash>
[[nodiscard]] Hash leaf_hash(ByteView bytes) noexcept {
  if constexpr (std::is_same_v<Hash, Hash128>) {
    return hash128(bytes);
  } else {
    static_assert(std::is_same_v<Hash, DiskSha256>);
    return sha256(bytes);
  }
}

// Builds a range from its leaves in order. `Hash` is Hash128 or DiskSha256.
template <typename Hash>
class LeafRangeBuilder {
 public:
  explicit LeafRangeBuilder(std::uint64_t leaves) : leaves_(leaves) {}

  void add(const Hash& leaf) {
    const auto bytes = std::as_bytes(std::span(&leaf, 1));
    page_.insert(page_.end(), bytes.begin(), bytes.end());
    if (page_.size() == kLeavesPerPage * sizeof(Hash)) end_page();
  }
  // Returns the bytes that are complete and were not taken yet; they follow those taken before.
  [[nodiscard]] std::vector<std::byte> take() { return std::exchange(out_, {}); }
  // Returns the value of `leaves_hash`. take() then returns the last bytes. Requires: all leaves were added.
  [[nodiscard]] Hash finish() {
    if (leaves_ == 1) return from_bytes(page_);
    if (!page_.empty()) end_page();
    if (leaves_ <= kLeavesPerPage) return from_bytes(pages_);
    out_.insert(out_.end(), pages_.begin(), pages_.end());
    return leaf_hash<Hash>(pages_);
  }

 private:
  static Hash from_bytes(const std::vector<std::byte>& bytes) {
    Hash hash;
    std::memcpy(&hash, bytes.data(), sizeof(Hash));
    return hash;
  }
  void end_page() {
    const Hash hash = leaf_hash<Hash>(page_);
    const auto bytes = std::as_bytes(std::span(&hash, 1));
    pages_.insert(pages_.end(), bytes.begin(), bytes.end());
    out_.insert(out_.end(), page_.begin(), page_.end());
    page_.clear();
  }

  std::uint64_t leaves_;
  std::vector<std::byte> page_;   // leaves of the page that is being filled
  std::vector<std::byte> pages_;  // hashes of the pages before it
  std::vector<std::byte> out_;
};

}  // namespace fatctx::container
