// Leaf hashes above one page of them: each page is checked by the list of pages, and the list by its own hash.
#include "container/read/leaves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "container/format/leaf_range.h"
#include "support/memory_file.h"
#include "support/result_matchers.h"

namespace fatctx::container {
namespace leaves_test {

using support::fails_with;
using support::is_ok;
using support::MemoryFile;
using Bytes = std::vector<std::byte>;

constexpr std::uint64_t kLeaves = 2 * kLeavesPerPage + 100;
constexpr std::uint64_t kFirst = 3;  // the first leaf of the segment in the LEAVES segment
constexpr std::uint64_t kLeavesAt = 4096;
constexpr std::uint64_t kPageBytes = kLeavesPerPage * sizeof(Hash128);
constexpr std::uint64_t kListAt = kLeavesAt + (kFirst + kLeaves) * sizeof(Hash128);

constexpr std::uint64_t page_at(std::uint64_t page) { return kLeavesAt + kFirst * sizeof(Hash128) + page * kPageBytes; }

// A segment of payload, of which only the leaf hashes are in the file.
struct Stored {
  Stored() {
    LeafRangeBuilder<Hash128> builder(kLeaves);
    for (std::uint64_t i = 0; i < kLeaves; ++i) builder.add(hash128(std::as_bytes(std::span(&i, 1))));
    Segment payload;
    payload.size = kLeaves << kLeafLog2;
    payload.leaves_segment = 1;
    payload.first_leaf = kFirst;
    payload.leaves_hash = builder.finish();
    Segment leaves;
    leaves.kind = SegmentKind::kLeaves;
    leaves.offset = kLeavesAt;
    toc.segments = RawArray<Segment>(2);
    toc.segments.make(0, payload);
    toc.segments.make(1, leaves);
    file.bytes().resize(kLeavesAt + kFirst * sizeof(Hash128));
    const Bytes stored = builder.take();
    file.bytes().insert(file.bytes().end(), stored.begin(), stored.end());
  }
  [[nodiscard]] Result<Leaves> page(std::uint64_t page) const {
    const std::uint64_t leaf = page * kLeavesPerPage + 7;
    return read_leaves(file, toc, toc.segments[0], LeafHash::kXxh3, {leaf, leaf + 1});
  }
  void flip(std::uint64_t at) { file.bytes()[static_cast<std::size_t>(at)] ^= std::byte{1}; }
  void clear(std::uint64_t at, std::uint64_t size) {
    std::fill_n(file.bytes().begin() + static_cast<std::ptrdiff_t>(at), size, std::byte{0});
  }

  MemoryFile file;
  Toc toc;
};

TEST(LeafPages, AreReadByThemselves) {
  const Stored stored;
  for (std::uint64_t page = 0; page < 3; ++page) {
    const auto leaves = stored.page(page);
    ASSERT_TRUE(is_ok(leaves));
    EXPECT_EQ(leaves.value().first, page * kLeavesPerPage);
    EXPECT_EQ(leaves.value().xxh3.size(), page == 2 ? 100U : kLeavesPerPage);
  }
}

TEST(LeafPages, ADamagedPageIsRefusedAndItsNeighborsAreRead) {
  Stored stored;
  stored.flip(page_at(1) + kPageBytes - 1);
  EXPECT_TRUE(is_ok(stored.page(0)));
  EXPECT_TRUE(is_ok(stored.page(2)));
  const auto damaged = stored.page(1);
  ASSERT_TRUE(fails_with(damaged, ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_EQ(damaged.error().where.file_offset, page_at(1));
  EXPECT_TRUE(fails_with(read_leaves(stored.file, stored.toc, stored.toc.segments[0], LeafHash::kXxh3),
                         ErrorCode::kChecksumMismatch, "F26"));
}

TEST(LeafPages, ADamagedListOfPagesIsRefusedForEveryPage) {
  Stored stored;
  stored.flip(kListAt + 2 * sizeof(Hash128));
  for (std::uint64_t page = 0; page < 3; ++page) {
    const auto damaged = stored.page(page);
    ASSERT_TRUE(fails_with(damaged, ErrorCode::kChecksumMismatch, "F26")) << page;
    EXPECT_EQ(damaged.error().where.file_offset, kListAt);
  }
}

TEST(LeafPages, APageThatOnlyTheListVouchesForIsRefused) {
  Stored stored;
  stored.flip(page_at(0));
  const ByteView page = ByteView(stored.file.bytes()).subspan(page_at(0), kPageBytes);
  const Hash128 hash = hash128(page);
  std::memcpy(stored.file.bytes().data() + kListAt, &hash, sizeof(hash));
  EXPECT_TRUE(fails_with(stored.page(0), ErrorCode::kChecksumMismatch, "F26"));
}

TEST(LeafPages, ZerosAreHashesThatAreNotPresent) {
  Stored without_page;
  without_page.clear(page_at(1), kPageBytes);
  EXPECT_TRUE(fails_with(without_page.page(1), ErrorCode::kNotPresent, "F26"));
  EXPECT_TRUE(is_ok(without_page.page(0)));
  Stored without_list;
  without_list.clear(kListAt, 3 * sizeof(Hash128));
  EXPECT_TRUE(fails_with(without_list.page(0), ErrorCode::kNotPresent, "F26"));
}

}  // namespace leaves_test
}  // namespace fatctx::container
