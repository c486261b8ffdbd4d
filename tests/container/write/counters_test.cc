// Numbers of a container at their last value: a writer goes up to it and not beyond, and leaves the file unchanged.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

#include "container/read/opened_file.h"
#include "container/write/header_build.h"
#include "container/write/toc_rows.h"
#include "fatctx/rewrite.h"
#include "fatctx/signature.h"
#include "support/appended.h"
#include "support/hostile_file.h"
#include "support/result_matchers.h"

namespace fatctx::container {
namespace counters_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();

Bytes of_generation(std::uint64_t generation) {
  support::HostileFile file(support::packed_bytes(support::cpu_records()));
  file.head.generation = generation;
  file.live.generation = generation;
  file.other.generation = generation - 1;
  for (SegmentEntry& segment : file.segments) segment.generation = generation;
  return file.bytes();
}

PackRecord one_more() { return support::binary_record("cpu-riscv", "riscv", support::pattern(900, 5)); }

// An operation that gives a file the next generation.
struct Writer {
  const char* name;
  std::function<Status(const std::string& path)> write;
};

class Counters : public testing::Test {
 protected:
  template <typename T>
  static Status status(const Result<T>& result) {
    return result.ok() ? Status(Done{}) : Status(result.error());
  }
  [[nodiscard]] std::vector<Writer> writers() const {
    return {
        {"compact", [](const std::string& path) { return status(rewrite_container(path, path)); }},
        {"seal", [](const std::string& path) { return status(rewrite_container(path, path, {.seal = true})); }},
        {"remove",
         [](const std::string& path) {
           const std::uint32_t weights = Opened(support::read_file(path)).record("weights").id;
           return status(rewrite_container(path, path, {.keep = std::vector{weights}}));
         }},
        {"append",
         [](const std::string& path) -> Status {
           FATCTX_ASSIGN(Appender appender, Appender::open(path));
           FATCTX_TRY(appender.add(one_more()));
           return status(appender.commit());
         }},
        {"sign", [this](const std::string& path) { return status(sign_container(path, keys_.secret_path, path)); }}};
  }

  const support::TempDir folder_;
  const std::string path_ = folder_.file("m.fatctx");
  const KeyFiles keys_ = make_keys(folder_.file("key")).value();
};

TEST_F(Counters, TheLastGenerationIsMadeAndNoneBehindIt) {
  const Bytes before_last = of_generation(kLast - 1);
  const Bytes last = of_generation(kLast);
  for (const Writer& writer : writers()) {
    support::write_file(path_, before_last);
    ASSERT_TRUE(is_ok(writer.write(path_))) << writer.name;
    const Bytes made = support::read_file(path_);
    EXPECT_EQ(Opened(made).toc.header.generation, kLast) << writer.name;
    std::filesystem::remove(path_);

    for (const Bytes& file : {last, made}) {
      // A file that an append has made has the record already.
      if (file == made && writer.name == std::string_view("append")) continue;
      support::write_file(path_, file);
      const auto refused = writer.write(path_);
      ASSERT_TRUE(fails_with(refused, ErrorCode::kLimitExceeded)) << writer.name;
      EXPECT_NE(refused.error().message.find("18446744073709551615"), std::string::npos) << refused.error().message;
      EXPECT_EQ(support::read_file(path_), file) << writer.name;
      std::filesystem::remove(path_);
    }
  }
}

TEST_F(Counters, TheLastIdOfARecordIsGivenAndNoneBehindIt) {
  for (const std::uint32_t left : {2U, 1U, 0U}) {  // ids left; an append of one record needs two, with its description
    support::HostileFile file(support::packed_bytes(support::cpu_records()));
    const std::uint32_t highest = std::numeric_limits<std::uint32_t>::max() - left;
    for (KeyEntry& key : file.keys) {
      if (key.record_id == file.records.back().record_id) key.record_id = highest;
    }
    file.records.back().record_id = highest;  // the description, which nothing refers to
    const Bytes start = file.bytes();
    const support::Appended done = support::append(start, {one_more()});
    if (left < 2) {
      ASSERT_TRUE(fails_with(done.report, ErrorCode::kLimitExceeded)) << left;
      EXPECT_NE(done.report.error().message.find("fatctx compact"), std::string::npos);
      EXPECT_EQ(done.bytes, start) << left;
      support::write_file(path_, start);
      ASSERT_TRUE(is_ok(rewrite_container(path_, path_)));
      EXPECT_TRUE(is_ok(support::append(support::read_file(path_), {one_more()}).report)) << "the remedy helps";
      continue;
    }
    ASSERT_TRUE(is_ok(done.report));
    EXPECT_EQ(Opened(done.bytes).toc.toc.records.back().id, std::numeric_limits<std::uint32_t>::max());
  }
}

// Fills each table to the permitted number of rows, then adds one more. Keys are limited to one a record, and names
// have a test below.
TEST_F(Counters, EveryTableTakesItsLastRowAndNoneBehindIt) {
  const TocRows start = rows_of(Opened(support::packed_bytes({})).toc.toc);
  const std::pair<Table, std::function<void(TocRows&, std::size_t)>> tables[] = {
      {Table::kSegments, [](TocRows& rows, std::size_t count) { rows.segments.resize(count); }},
      {Table::kRecords, [](TocRows& rows, std::size_t count) { rows.records.resize(count); }},
      {Table::kSlices, [](TocRows& rows, std::size_t count) { rows.records.front().slices.resize(count); }},
      {Table::kReferences, [](TocRows& rows, std::size_t count) { rows.references.resize(count); }},
      {Table::kGenerations, [](TocRows& rows, std::size_t count) { rows.generations.resize(count); }},
  };
  for (const auto& [table, resize] : tables) {
    const auto index = static_cast<std::size_t>(table);
    TocRows rows = start;
    resize(rows, static_cast<std::size_t>(kTableMaxCounts[index]));
    EXPECT_TRUE(is_ok(toc_size_of(rows))) << index;
    EXPECT_TRUE(is_ok(toc_bytes(rows))) << index;
    resize(rows, static_cast<std::size_t>(kTableMaxCounts[index]) + 1);
    EXPECT_TRUE(fails_with(toc_size_of(rows), ErrorCode::kLimitExceeded)) << index;
    EXPECT_TRUE(fails_with(toc_bytes(rows), ErrorCode::kLimitExceeded)) << index;
  }
}

// Adds keys with long names, until the table of contents has no room for another byte.
TEST_F(Counters, TheTableOfContentsTakesItsLastByteAndNoneBehindIt) {
  TocRows rows = rows_of(Opened(support::packed_bytes({})).toc.toc);
  rows.records.resize(kMaxRecords);
  for (std::size_t i = 1; i < rows.records.size(); ++i) {
    rows.records[i].name = "record " + std::to_string(i);
    rows.records[i].name.resize(150, 'm');
  }
  constexpr std::size_t kLong = 250;
  constexpr std::uint64_t kBytesOfKey = sizeof(KeyEntry) + 7 * (sizeof(le16) + kLong);
  const TocSize now = toc_size_of(rows).value();
  std::uint64_t pages = kMaxTocSize / (kTocPageSize + sizeof(DiskHash));
  while (toc_pages(kMaxTocSize - toc_head_size(pages, false)) > pages) ++pages;
  const std::uint64_t room = kMaxTocSize - toc_head_size(pages, false) - (now.all - now.head);
  ASSERT_LT(room / kBytesOfKey, kMaxRecords - 1);
  for (std::size_t i = 1; i <= room / kBytesOfKey; ++i) {
    KeyRow key;
    std::size_t number = 7 * i;
    for (std::string KeyRow::*name : {&KeyRow::group, &KeyRow::unit, &KeyRow::backend, &KeyRow::part, &KeyRow::arch,
                                      &KeyRow::features, &KeyRow::variant}) {
      key.*name = std::to_string(number++);
      (key.*name).resize(kLong, 'n');
    }
    rows.records[i].key = std::move(key);
  }
  std::uint64_t left = room % kBytesOfKey;
  for (std::size_t i = 1; left != 0; ++i) {
    const std::uint64_t more = std::min<std::uint64_t>(left, 100);
    rows.records[i].name.append(static_cast<std::size_t>(more), 'n');
    left -= more;
  }
  EXPECT_EQ(toc_size_of(rows).value().all, kMaxTocSize);
  EXPECT_EQ(toc_bytes(rows).value().size(), kMaxTocSize);
  rows.records.back().name += "n";
  EXPECT_TRUE(fails_with(toc_size_of(rows), ErrorCode::kLimitExceeded));
  EXPECT_TRUE(fails_with(toc_bytes(rows), ErrorCode::kLimitExceeded));
}

// A file of any size that stores only its first bytes.
class LongFile final : public mapping::OsFile {
 public:
  LongFile(Bytes bytes, std::uint64_t size) : file_(std::move(bytes)), size_(size) {}
  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    std::fill(buffer.begin(), buffer.end(), std::byte{0});
    if (offset >= file_.size()) return Done{};
    return file_.read_at(
        offset, buffer.first(static_cast<std::size_t>(std::min<std::uint64_t>(buffer.size(), file_.size() - offset))));
  }
  Status write_at(std::uint64_t, ByteView) override { return Error{ErrorCode::kInternal, "it wrote"}; }
  Status allocate(std::uint64_t) override { return Error{ErrorCode::kInternal, "it asked for room"}; }
  Status sync() override { return Error{ErrorCode::kInternal, "it synced"}; }
  Result<mapping::FileIdentity> identity() const override {
    FATCTX_ASSIGN(mapping::FileIdentity identity, file_.identity());
    identity.size = size_;
    return identity;
  }
  int descriptor() const noexcept override { return -1; }

 private:
  support::MemoryFile file_;
  std::uint64_t size_;
};

TEST_F(Counters, AFileGrowsToItsLargestSizeAndNotBeyond) {
  constexpr std::uint64_t kExtent = std::uint64_t{1} << kExtentLog2;
  // An append of one small record: packed segment and two tables.
  for (const std::uint64_t size :
       {kLast, kLast - kExtent, kMaxFileSize + 1, kMaxFileSize, kMaxFileSize - kExtent, kMaxFileSize - 2 * kExtent}) {
    auto appender = appender_over(std::make_unique<LongFile>(support::unsealed_sample(), size), "m", {});
    ASSERT_TRUE(is_ok(appender)) << size;
    ASSERT_TRUE(is_ok(appender.value().add(one_more())));
    EXPECT_TRUE(fails_with(appender.value().commit(), ErrorCode::kLimitExceeded)) << size;
  }
  auto appender =
      appender_over(std::make_unique<LongFile>(support::unsealed_sample(), kMaxFileSize - 8 * kExtent), "m", {});
  ASSERT_TRUE(is_ok(appender.value().add(one_more())));
  EXPECT_TRUE(fails_with(appender.value().commit(), ErrorCode::kInternal)) << "it fits, and would have been written";
}

// In the small form a table may end where the file does, if it fills its last page.
TEST_F(Counters, TheLastTableMayEndAtTheLargestSize) {
  constexpr std::uint64_t kPage = std::uint64_t{1} << kSmallExtentLog2;
  PackOptions options;
  options.extent_log2 = kSmallExtentLog2;
  const Bytes small = support::packed_bytes(support::cpu_records(), std::move(options));
  Bytes longer = small;  // the tail has a row in the table
  longer.resize((small.size() / kPage + 2) * kPage);
  const auto named = [](std::size_t more) {
    std::vector<PackRecord> records;
    for (std::size_t i = 0; i < 20; ++i) {
      const std::size_t now = std::min<std::size_t>(more, 240);
      more -= now;
      records.push_back(support::plain_record(RecordType::kOpaque, "n" + std::to_string(i) + std::string(now, 'n'),
                                              support::pattern(9, 70 + static_cast<std::uint32_t>(i))));
    }
    return records;
  };
  const auto size_of_table = [&](std::size_t more) {
    return Opened(support::append(longer, named(more)).bytes).toc.header.toc_size;
  };
  const std::uint64_t shortest = size_of_table(0);
  const std::size_t more = static_cast<std::size_t>((kPage - shortest % kPage) % kPage);
  const Bytes grown = support::append(longer, named(more)).bytes;
  ASSERT_EQ(Opened(grown).toc.header.toc_size % kPage, 0U);
  const std::uint64_t added = grown.size() - longer.size();
  for (const std::uint64_t beyond : {std::uint64_t{0}, kPage}) {
    auto appender = appender_over(std::make_unique<LongFile>(small, kMaxFileSize - added + beyond), "m", {}).value();
    for (PackRecord& record : named(more)) ASSERT_TRUE(is_ok(appender.add(std::move(record))));
    EXPECT_TRUE(fails_with(appender.commit(), beyond == 0 ? ErrorCode::kInternal : ErrorCode::kLimitExceeded));
  }
}

}  // namespace counters_test
}  // namespace fatctx::container
