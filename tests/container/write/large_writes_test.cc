// The packer's write sizes: the page cache uses large pages for files that are written in large calls.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "container/write/copy_payload.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::container {
namespace large_writes_test {

constexpr std::uint64_t kMiB = 1 << 20;

class WriteLog final : public mapping::OsFile {
 public:
  Status read_at(std::uint64_t, std::span<std::byte>) const override { return Done{}; }
  Status write_at(std::uint64_t offset, ByteView bytes) override {
    writes.push_back({offset, bytes.size()});
    return Done{};
  }
  Status allocate(std::uint64_t) override { return Done{}; }
  Status sync() override { return Done{}; }
  Result<mapping::FileIdentity> identity() const override { return mapping::FileIdentity{}; }
  int descriptor() const noexcept override { return -1; }

  std::vector<ByteRange> writes;
};

TEST(LargeWrites, ASegmentIsWrittenFrontToBackInCallsOf4MiB) {
  std::vector<PackRecord> records;
  records.push_back(support::plain_record(RecordType::kOpaque, "large", support::pattern(13 * kMiB + 5, 1)));
  records.push_back(support::plain_record(RecordType::kWeightBlob, "exact", support::pattern(8 * kMiB, 2)));
  for (std::uint32_t i = 0; i < 200; ++i) {  // packed together, 6 MB in all
    records.push_back(
        support::plain_record(RecordType::kOpaque, "small" + std::to_string(i), support::pattern(30'000 + i, 10 + i)));
  }
  PackOptions options;
  WorkProgress progress(options.progress);
  auto plan = make_plan(std::move(records), {}, options, progress);
  ASSERT_TRUE(support::is_ok(plan));
  WriteLog file;

  ASSERT_TRUE(support::is_ok(copy_payload(plan.value(), file, progress)));

  std::vector<std::size_t> calls;
  for (const PlannedSegment& segment : plan.value().segments) {
    std::uint64_t at = segment.offset;
    std::size_t count = 0;
    for (const ByteRange& write : file.writes) {
      if (write.offset < segment.offset || write.offset >= segment.offset + segment.size) continue;
      EXPECT_EQ(write.offset, at) << "front to back, without holes";
      EXPECT_EQ(write.offset % 65'536, 0U);
      at += write.size;
      ++count;
      if (at < segment.offset + segment.size) {
        EXPECT_GE(write.size, 4 * kMiB) << "only the end is smaller";
      }
    }
    EXPECT_EQ(at, segment.offset + segment.size);
    calls.push_back(count);
  }
  EXPECT_EQ(std::count(calls.begin(), calls.end(), 4U), 1) << "13 MiB and a rest";
  EXPECT_EQ(std::count(calls.begin(), calls.end(), 2U), 2) << "8 MiB, and the small ones together";
  EXPECT_EQ(file.writes.size(), 4U + 2U + 2U + 1U) << "and the leaf hashes";
}

}  // namespace large_writes_test
}  // namespace fatctx::container
