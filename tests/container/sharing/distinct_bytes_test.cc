// The number of different bytes, by pages and by chunks.
#include <gtest/gtest.h>

#include <random>

#include "container/sharing/distinct_bytes.h"
#include "support/chip_corpus.h"

namespace fatctx::container::sharing {
namespace distinct_bytes_test {

using support::Bytes;

class BytesInMemory final : public RecordBytes {
 public:
  explicit BytesInMemory(const Bytes& bytes) : bytes_(bytes) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return bytes_.size(); }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    FATCTX_ASSIGN(const ByteView from, slice(bytes_, {offset, buffer.size()}));
    std::copy(from.begin(), from.end(), buffer.begin());
    return Done{};
  }
  void close() const noexcept override {}

 private:
  const Bytes& bytes_;
};

ContentScan scan_of(const Bytes& bytes) {
  return scan_content(BytesInMemory(bytes), kSmallestPageLog2, granule_hash).value();
}

std::uint64_t distinct_pages(const std::vector<Bytes>& records, unsigned page_log2) {
  std::vector<ContentScan> scans;
  for (const Bytes& bytes : records) scans.push_back(scan_of(bytes));
  std::vector<GroupInput> inputs;
  for (std::size_t i = 0; i < records.size(); ++i) inputs.push_back({records[i].size(), &scans[i]});
  return distinct_page_bytes(inputs, page_log2);
}

TEST(DistinctBytes, APageCountsOnceWhereverItLies) {
  std::mt19937_64 random(1);
  const Bytes first = support::random_bytes(random, 64 * 4096);
  Bytes turned(first.begin() + 16 * 4096, first.end());  // rotated by four pages of 16 KiB, a quarter of one of 256 KiB
  turned.insert(turned.end(), first.begin(), first.begin() + 16 * 4096);

  for (const unsigned log2 : {12U, 14U, 16U}) {
    EXPECT_EQ(distinct_pages({first, turned}, log2), first.size()) << log2;
    EXPECT_EQ(distinct_pages({first, first}, log2), first.size()) << log2;
  }
}

TEST(DistinctBytes, LargerPagesAreEqualOnlyAsAWhole) {
  std::mt19937_64 random(2);
  const Bytes first = support::random_bytes(random, 64 * 4096);
  Bytes changed = first;
  changed[5 * 4096] ^= std::byte{1};

  EXPECT_EQ(distinct_pages({first, changed}, 12), 65U * 4096);
  EXPECT_EQ(distinct_pages({first, changed}, 14), 68U * 4096);
  EXPECT_EQ(distinct_pages({first, changed}, 16), 80U * 4096);
}

TEST(DistinctBytes, TheEndOfARecordCountsWithItsOwnBytesAndAsTheZerosBehindIt) {
  std::mt19937_64 random(3);
  const Bytes short_one = support::random_bytes(random, 3 * 4096 + 10);
  Bytes longer = short_one;
  longer.resize(3 * 4096 + 50);  // with zeros

  EXPECT_EQ(distinct_pages({short_one}, 12), short_one.size());
  EXPECT_EQ(distinct_pages({short_one, longer}, 12), longer.size());
  EXPECT_EQ(distinct_pages({short_one, longer}, 16), longer.size());
  EXPECT_EQ(distinct_pages({}, 12), 0U);
}

TEST(DistinctBytes, ChunksAreFoundAtShiftedPlacesWherePagesAreNot) {
  std::mt19937_64 random(4);
  const Bytes first = support::random_bytes(random, 1'000'000);
  Bytes shifted = support::random_bytes(random, 256);
  shifted.insert(shifted.end(), first.begin(), first.end());
  const ContentScan scans[] = {scan_of(first), scan_of(shifted)};
  const ContentScan* const both[] = {&scans[0], &scans[1]};

  const std::uint64_t by_chunks = distinct_chunk_bytes(both);

  EXPECT_EQ(distinct_pages({first, shifted}, 12), first.size() + shifted.size());
  EXPECT_GE(by_chunks, shifted.size());
  EXPECT_LT(by_chunks, shifted.size() + 2 * kMaxChunk);
}

}  // namespace distinct_bytes_test
}  // namespace fatctx::container::sharing
