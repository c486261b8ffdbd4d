// The progress of a pack: every pass over the bytes is reported, from 0 to its total.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <utility>
#include <vector>

#include "container/read/opened_file.h"
#include "container/sharing/work_progress.h"
#include "fatctx/appender.h"
#include "fatctx/packer.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"
#include "support/temp_dir.h"

namespace fatctx {
namespace pack_progress_test {

using support::Bytes;

constexpr std::size_t kMiB = std::size_t{1} << 20;

struct Pass {
  std::uint64_t done = 0;
  std::uint64_t total = 0;
};

// Collects the passes: one begins where the count falls or the total changes.
class Passes {
 public:
  [[nodiscard]] Progress callback() {
    return [this](std::uint64_t done, std::uint64_t total) {
      EXPECT_LE(done, total);
      if (all.empty() || done < all.back().done || total != all.back().total) all.push_back({});
      all.back() = {done, total};
    };
  }
  std::vector<Pass> all;
};

// Three records with much in common at other offsets, and one of equal size and other bytes.
std::vector<PackRecord> records(std::size_t size = 3 * kMiB) {
  const Bytes common = support::pattern(size, 1);
  std::vector<PackRecord> all;
  for (std::uint32_t i = 0; i < 3; ++i) {
    Bytes bytes = support::pattern(40 + i, 10 + i);
    bytes.insert(bytes.end(), common.begin(), common.end() - 50 - i);
    all.push_back(support::plain_record(RecordType::kOpaque, "r" + std::to_string(i), std::move(bytes)));
  }
  all.push_back(support::plain_record(RecordType::kOpaque, "other", support::pattern(all[0].source.bytes.size(), 77)));
  return all;
}

TEST(PackProgress, EveryPassIsReportedToItsEnd) {
  const support::TempDir folder;
  Passes passes;
  PackOptions options;
  options.sharing = Sharing::kBytes;
  options.sha256 = true;
  options.threads = 1;
  options.progress = passes.callback();
  Packer packer(options);
  std::uint64_t all = 0;
  for (PackRecord& record : records()) {
    all += record.source.bytes.size();
    ASSERT_TRUE(support::is_ok(packer.add(std::move(record))));
  }
  ASSERT_TRUE(support::is_ok(packer.publish(folder.file("m.fatctx"))));

  // Hashes of records of equal size, the search, the copy, the comparison with the inputs, SHA-256.
  ASSERT_EQ(passes.all.size(), 5U);
  for (const Pass& pass : passes.all) EXPECT_EQ(pass.done, pass.total);
  EXPECT_EQ(passes.all[0].total, all) << "of records of equal size";
  EXPECT_EQ(passes.all[1].total, all);
  EXPECT_LT(passes.all[2].total, all - 4 * kMiB) << "only what is stored is copied";
  const std::uint64_t size = all / records().size();
  EXPECT_EQ(passes.all[3].total, 2 * size) << "one of the three equal ones stays as it is";
  const container::Opened opened(support::read_file(folder.file("m.fatctx")));
  std::uint64_t hashed = 0;
  for (const container::Segment& segment : opened.toc.toc.segments)
    hashed += segment.holds_payload() ? segment.size : 0;
  for (const RecordInfo& record : opened.toc.toc.records) hashed += record.size_bytes;
  EXPECT_EQ(passes.all[4].total, hashed) << "segments and records";
}

// Records with ranges are searched for these, all for pages, and then those that have no ranges once more.
TEST(PackProgress, EachSearchIsAPass) {
  const support::TempDir folder;
  Passes passes;
  PackOptions options;
  options.threads = 1;
  options.progress = passes.callback();
  Packer packer(options);
  const std::size_t sizes[] = {200'000, 190'000, 100'000};
  for (std::uint32_t i = 0; i < 3; ++i) {
    Bytes bytes = support::pattern(sizes[i] - 90'000, 20 + i);
    const Bytes common = support::pattern(90'000, 7);
    bytes.insert(bytes.end(), common.begin(), common.end());
    PackRecord record = support::plain_record(RecordType::kOpaque, "r" + std::to_string(i), std::move(bytes));
    if (i != 2) record.ranges = {{"common", sizes[i] - 90'000, 90'000}};
    ASSERT_TRUE(support::is_ok(packer.add(std::move(record))));
  }
  ASSERT_TRUE(support::is_ok(packer.publish(folder.file("m.fatctx"))));
  ASSERT_GE(passes.all.size(), 3U);
  EXPECT_EQ(passes.all[0].total, 390'000U);
  EXPECT_EQ(passes.all[1].total, 490'000U);
  EXPECT_EQ(passes.all[2].total, 100'000U);
}

TEST(PackProgress, AnAppendReportsItsPassesToo) {
  const support::TempDir folder;
  {
    Packer packer(PackOptions{});
    ASSERT_TRUE(support::is_ok(packer.add(std::move(records().front()))));
    ASSERT_TRUE(support::is_ok(packer.publish(folder.file("m.fatctx"))));
  }
  Passes passes;
  AppendOptions options;
  options.sharing = Sharing::kBytes;
  options.progress = passes.callback();
  auto appender = Appender::open(folder.file("m.fatctx"), options);
  ASSERT_TRUE(support::is_ok(appender));
  PackRecord record = support::plain_record(RecordType::kOpaque, "new", support::pattern(2 * kMiB, 5));
  ASSERT_TRUE(support::is_ok(appender.value().add(std::move(record))));
  ASSERT_TRUE(support::is_ok(appender.value().commit()));
  ASSERT_EQ(passes.all.size(), 3U);
  EXPECT_GE(passes.all[0].total, 2 * kMiB) << "the search for leaves of the file";
  EXPECT_EQ(passes.all[1].total, 2 * kMiB) << "the search at any offset";
  EXPECT_EQ(passes.all.back().done, passes.all.back().total);
  EXPECT_GE(passes.all.back().total, 2 * kMiB);  // and the new description
}

// Reads beyond the total of a pass, as comparisons make them, do not call for each of them.
TEST(PackProgress, ManySmallAmountsAreFewCalls) {
  std::uint64_t calls = 0;
  const Progress count = [&](std::uint64_t, std::uint64_t) { ++calls; };
  container::WorkProgress progress(count);
  progress.begin(2 * kMiB);
  for (int i = 0; i < 1024; ++i) ASSERT_TRUE(support::is_ok(progress.add_little(4096)));  // 4 MiB
  EXPECT_EQ(calls, 4U);
}

struct Stop : std::runtime_error {
  Stop() : std::runtime_error("stop") {}
};

// The callback may stop the work in any pass, and nothing remains.
TEST(PackProgress, AnExceptionEndsAnyPass) {
  for (std::size_t at = 0;; ++at) {
    const support::TempDir folder;
    std::size_t calls = 0;
    PackOptions options;
    options.sharing = Sharing::kBytes;
    options.sha256 = true;
    options.progress = [&](std::uint64_t, std::uint64_t) {
      if (calls++ == at) throw Stop();
    };
    Packer packer(options);
    for (PackRecord& record : records(kMiB / 2)) ASSERT_TRUE(support::is_ok(packer.add(std::move(record))));
    bool stopped = false;
    try {
      (void)packer.publish(folder.file("m.fatctx"));
    } catch (const Stop&) {
      stopped = true;
    }
    EXPECT_EQ(std::filesystem::exists(folder.file("m.fatctx")), !stopped);
    if (!stopped) {
      EXPECT_GT(at, 8U);
      return;
    }
    EXPECT_TRUE(std::filesystem::is_empty(folder.path())) << at;
  }
}

}  // namespace pack_progress_test
}  // namespace fatctx
