// The packer's write sizes: the page cache uses large pages for files that are written in large calls. Each may fail.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "container/write/copy_payload.h"
#include "support/memory_file.h"
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

// Plans small records of about 4 MiB together. The last of them is the program of a recipe. The one before it has
// `last_small` bytes.
Plan plan_across_a_border(std::uint64_t last_small, WorkProgress& progress) {
  std::vector<PackRecord> records;
  for (std::uint32_t i = 0; i < 64; ++i) {
    const std::size_t size = i < 63 ? std::size_t{kLeafSize} : static_cast<std::size_t>(last_small);
    records.push_back(
        support::plain_record(RecordType::kOpaque, "a" + std::to_string(i + 10), support::pattern(size, i)));
  }
  const support::Bytes large = support::pattern(200'000, 100);
  support::Bytes reordered;
  for (std::size_t at = 0; at < large.size(); at += 2'000) {
    const support::Bytes between = support::pattern(30, static_cast<std::uint32_t>(101 + at));
    const auto from = large.end() - static_cast<std::ptrdiff_t>(at) - 2'000;
    reordered.insert(reordered.end(), between.begin(), between.end());
    reordered.insert(reordered.end(), from, from + 2'000);
  }
  records.push_back(support::plain_record(RecordType::kOpaque, "x", large));
  records.push_back(support::plain_record(RecordType::kOpaque, "y", reordered));
  for (PackRecord& record : records) record.key.variant = record.name;
  PackOptions options;
  options.sharing = Sharing::kBytes;
  return make_plan(std::move(records), {}, options, progress).value();
}

const PlannedRecord& recipe_of(const Plan& plan) {
  return *std::find_if(plan.records.begin(), plan.records.end(),
                       [](const PlannedRecord& planned) { return planned.recipe.has_value(); });
}

TEST(LargeWrites, EachThatFailsEndsTheCopy) {
  const Progress none;
  WorkProgress progress(none);
  constexpr std::uint64_t kBorder = 4 * kMiB - 64;
  const std::uint64_t begins = recipe_of(plan_across_a_border(64, progress)).slices[0].range.offset;
  ASSERT_LT(begins, kBorder);
  const Plan plan = plan_across_a_border(64 + kBorder - begins, progress);
  const ByteRange program = recipe_of(plan).slices[0].range;
  ASSERT_EQ(program.offset, kBorder);
  ASSERT_GT(program.size, 64U) << "it is written in two calls";

  for (std::uint64_t failing = 0;; ++failing) {
    Plan copied = plan_across_a_border(64 + kBorder - begins, progress);
    support::MemoryFile file(support::Bytes(static_cast<std::size_t>(copied.committed_end)));
    file.fail(support::FileCall::kWrite, failing, false);
    const Status status = copy_payload(copied, file, progress);
    if (file.calls(support::FileCall::kWrite) <= failing) {
      EXPECT_TRUE(support::is_ok(status));
      EXPECT_GE(failing, 4U) << "two of the small records, one of each large one, and the leaf hashes";
      break;
    }
    EXPECT_TRUE(support::fails_with(status, ErrorCode::kIo)) << failing;
  }
}

}  // namespace large_writes_test
}  // namespace fatctx::container
