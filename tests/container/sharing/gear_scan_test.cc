// The places of rolling values: several stretches at once find exactly those that one pass over all bytes finds.
#include "container/sharing/gear_scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <vector>

#include "container/sharing/content_scan.h"
#include "container/sharing/record_bytes.h"
#include "support/chip_corpus.h"
#include "support/result_matchers.h"

namespace fatctx::container::sharing {
namespace gear_scan_test {

using support::Bytes;
using support::is_ok;

std::vector<GearHit> by_one_pass(ByteView bytes, std::size_t first, std::size_t last, unsigned zero_bits) {
  std::vector<GearHit> hits;
  std::uint64_t rolling = 0;
  for (std::size_t end = 1; end <= last; ++end) {
    rolling = roll(rolling, bytes[end - 1]);
    if (end >= first && rolling >> (64 - zero_bits) == 0) hits.push_back({rolling, end});
  }
  return hits;
}

void expect_same(std::span<const GearHit> found, const std::vector<GearHit>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(found[i].end, expected[i].end);
    EXPECT_EQ(found[i].rolling, expected[i].rolling);
  }
}

// Returns the byte of which 64 in a row have a rolling value with seven leading zeros: there every place is a hit.
std::byte byte_with_hits() {
  for (unsigned value = 0; value < 256; ++value) {
    const Bytes bytes(kGearWindow, static_cast<std::byte>(value));
    if (rolling_before(bytes, kGearWindow) >> (64 - 7) == 0) return static_cast<std::byte>(value);
  }
  ADD_FAILURE() << "no byte has such a value";
  return {};
}

TEST(GearScan, FindsWhatOnePassFinds) {
  std::mt19937_64 random(1);
  Bytes bytes = support::random_bytes(random, 40'000);
  std::fill_n(bytes.begin() + 20'000, 3'000, byte_with_hits());
  GearScan scan(7);

  for (const std::size_t first : {std::size_t{64}, std::size_t{65}, std::size_t{1'000}, std::size_t{21'000}}) {
    for (const std::size_t size : {1U, 2U, 3U, 4U, 5U, 63U, 64U, 4'099U, 18'000U}) {
      const std::size_t last = first + size - 1;
      expect_same(scan.find(bytes, first, last), by_one_pass(bytes, first, last, 7));
    }
  }
  const auto all = by_one_pass(bytes, 64, bytes.size(), 7);
  EXPECT_GT(all.size(), 3'000U) << "the test would find nothing in vain";
  expect_same(scan.find(bytes, 64, bytes.size()), all);
}

class BytesInMemory final : public RecordBytes {
 public:
  explicit BytesInMemory(const Bytes& bytes) : bytes_(bytes) {}
  std::uint64_t size() const noexcept override { return bytes_.size(); }
  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    std::copy_n(bytes_.begin() + static_cast<std::ptrdiff_t>(offset), buffer.size(), buffer.begin());
    return Done{};
  }
  void close() const noexcept override {}

 private:
  const Bytes& bytes_;
};

// Cuts as docs/format.md, 11.1, says, byte by byte.
std::vector<std::uint32_t> sizes_by_the_rule(ByteView bytes) {
  std::vector<std::uint32_t> sizes;
  while (!bytes.empty()) {
    std::size_t size = std::min(bytes.size(), kMaxChunk);
    for (std::size_t at = kMinChunk; at < size; ++at) {
      if (rolling_before(bytes, at) >> (64 - kChunkLog2) == 0) size = at;
    }
    sizes.push_back(static_cast<std::uint32_t>(size));
    bytes = bytes.subspan(size);
  }
  std::sort(sizes.begin(), sizes.end());
  return sizes;
}

TEST(GearScan, ChunksEndWhereTheRuleSays) {
  std::mt19937_64 random(2);
  for (const std::size_t size : {1U, 4'096U, 4'097U, 131'072U, 131'073U, 1'048'576U, 2'300'000U}) {
    Bytes bytes = support::random_bytes(random, size);
    if (size > 2'000'000) std::fill_n(bytes.begin() + 1'000'000, 400'000, std::byte{0});  // cut by the largest size
    const BytesInMemory record(bytes);

    const auto scan = scan_chunks(record);

    ASSERT_TRUE(is_ok(scan));
    std::vector<std::uint32_t> sizes;
    for (const Chunk& chunk : scan.value().chunks) sizes.push_back(chunk.size);
    std::sort(sizes.begin(), sizes.end());
    auto expected = sizes_by_the_rule(bytes);
    if (size > 2'000'000) {  // equal chunks of zeros count once
      expected.erase(std::unique(expected.begin(), expected.end()), expected.end());
      sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    }
    EXPECT_EQ(sizes, expected) << size;
  }
}

}  // namespace gear_scan_test
}  // namespace fatctx::container::sharing
