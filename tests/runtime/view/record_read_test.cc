// Records that are read into memory of the caller: by which way, with what left in the page cache, and what damage
// says.
#include "runtime/view/record_read.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>

#include "container/read/open.h"
#include "mapping/page_advice.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/step_watch.h"
#include "support/aligned_memory.h"
#include "support/mapped_file.h"
#include "support/memory_file.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"
#include "support/sliced_container.h"

namespace fatctx {
namespace record_read_test {

using support::Bytes;
using support::fails_with;
using support::FileCall;
using support::is_ok;
using support::MemoryFile;

constexpr std::uint64_t kPiece = std::uint64_t{2} << 20;
constexpr std::uint64_t kLeaf = container::kLeafSize;
constexpr std::uint64_t kLargeSize = 9 * kPiece + 2 * kLeaf + 1;  // above the least size of direct reads

class ReadRecord : public ::testing::Test {
 protected:
  void SetUp() override {
    large_ = support::pattern(kLargeSize, 41);
    middle_ = support::pattern(2 * kPiece + 77, 42);
    std::vector<PackRecord> records;
    records.push_back(support::plain_record(RecordType::kOpaque, "large", large_));
    records.push_back(support::plain_record(RecordType::kOpaque, "middle", middle_));
    records.push_back(support::plain_record(RecordType::kOpaque, "small", support::pattern(200'000, 43)));
    PackRecord cold = support::plain_record(RecordType::kOpaque, "cold", Bytes(6'000'000, std::byte{5}));
    cold.codec = Codec::kLz4;
    records.push_back(std::move(cold));
    ASSERT_TRUE(is_ok(support::pack(std::move(records), path_)));
    open();
  }
  void open() { container_.emplace(Container::open(path_, {.verify = VerifyPolicy::kNone}).value()); }
  [[nodiscard]] RecordInfo record(std::string_view name) const { return container_->find(name).value(); }
  [[nodiscard]] Result<ReadReport> read(std::string_view name, std::span<std::byte> out,
                                        const ReadOptions& options = {}) const {
    return read_record(*container_, record(name).id, out, options);
  }
  [[nodiscard]] Result<ReadReport> read_on(const ReadHost& host, std::span<std::byte> out,
                                           const ReadOptions& options = {}) const {
    const MappedContainer& mapped = *mapped_of(*container_);
    return read_into(mapped, *mapped.toc().find(record("large").id), out, options, 0, host);
  }
  // Returns how much of a record is in the page cache.
  [[nodiscard]] std::uint64_t cached(std::string_view name, std::uint64_t from = 0, std::uint64_t size = 0) const {
    const RecordInfo info = record(name);
    const ByteRange range{info.file_offset + from, size != 0 ? size : info.size_bytes - from};
    return mapping::cached_bytes(mapped_of(*container_)->file(), range).value_or(0);
  }
  // Empties the page cache of the file. Returns false if the filesystem or the system cannot.
  [[nodiscard]] bool emptied() const {
    support::drop_from_cache(path_);
    const auto known = mapping::cached_bytes(mapped_of(*container_)->file(), {record("large").file_offset, kLargeSize});
    return known && *known == 0;
  }
  void damage(std::string_view name, std::uint64_t at) const {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(record(name).file_offset + at));
    file.put('\x7f');
  }

  support::TempDir folder_;
  std::string path_ = folder_.file("m.fatctx");
  Bytes large_;
  Bytes middle_;
  std::optional<Container> container_;
};

TEST_F(ReadRecord, GivesTheBytesByEveryMethodAndSaysWhich) {
  for (const ReadMethod method : {ReadMethod::kAuto, ReadMethod::kDirect, ReadMethod::kCached}) {
    SCOPED_TRACE(read_method_name(method));
    for (const std::uint32_t threads : {0U, 1U, 3U}) {
      Bytes out(kLargeSize);
      std::uint64_t last = 0;
      const auto report =
          read("large", out, {.method = method, .threads = threads, .progress = [&](auto done, auto all) {
                                EXPECT_GT(done, last);
                                EXPECT_EQ(all, kLargeSize);
                                last = done;
                              }});
      ASSERT_TRUE(is_ok(report));
      EXPECT_TRUE(out == large_);
      EXPECT_EQ(last, kLargeSize);
      EXPECT_EQ(report.value().size_bytes, kLargeSize);
      EXPECT_EQ(report.value().threads, threads == 0 ? 4U : threads);
      EXPECT_NE(report.value().method, ReadMethod::kStreamed);
      EXPECT_EQ(report.value().method == ReadMethod::kDirect, report.value().direct_bytes * 2 > kLargeSize);
      if (method == ReadMethod::kCached) {
        EXPECT_EQ(report.value().direct_bytes, 0U);
        EXPECT_NE(report.value().reason.find("the caller wants it"), std::string::npos);
      }
    }
  }
}

TEST_F(ReadRecord, ReadsIntoMemoryAtAnyAddress) {
  for (const std::size_t skipped : {std::size_t{1}, std::size_t{512}, std::size_t{4096}}) {
    Bytes out(kLargeSize + skipped + 1, std::byte{0xee});
    ASSERT_TRUE(is_ok(read("large", std::span(out).subspan(skipped, kLargeSize), {.method = ReadMethod::kDirect})));
    EXPECT_TRUE(std::ranges::equal(std::span(out).subspan(skipped, kLargeSize), large_));
    EXPECT_EQ(out[skipped - 1], std::byte{0xee});
    EXPECT_EQ(out.back(), std::byte{0xee}) << "a direct read of the last page ends aside";
  }
}

// A page that the system is still reading ahead cannot be dropped, and looks as if it had been there before. One try
// may therefore leave some, more so where the disk is slow.
constexpr int kTries = 20;
void let_read_ahead_end() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

TEST_F(ReadRecord, LeavesNothingInThePageCacheUnlessAsked) {
  for (const ReadMethod method : {ReadMethod::kDirect, ReadMethod::kCached}) {
    std::uint64_t left = 1;
    for (int i = 0; i < kTries && left != 0; ++i, let_read_ahead_end()) {
      if (!emptied()) GTEST_SKIP() << "this system keeps the file in memory, or does not report it";
      Bytes out(kLargeSize);
      const auto report = read("large", out, {.method = method});
      ASSERT_TRUE(is_ok(report));
      EXPECT_TRUE(out == large_);
      EXPECT_EQ(report.value().cached_bytes, 0U);
      left = cached("large") + cached("middle");  // "middle" comes after "large"
    }
    EXPECT_EQ(left, 0U) << read_method_name(method);
  }
  Bytes out(kLargeSize);
  ASSERT_TRUE(is_ok(read("large", out, {.method = ReadMethod::kCached, .keep_cached = true})));
  EXPECT_GE(cached("large"), kLargeSize);
}

TEST_F(ReadRecord, LeavesWhatWasInThePageCacheThere) {
  constexpr std::uint64_t kWhole = 3 * kPiece;
  constexpr std::uint64_t kThere = kWhole + 5 * container::kLeafSize;  // ends inside a piece
  for (const ReadMethod method : {ReadMethod::kAuto, ReadMethod::kCached}) {
    std::uint64_t left = 1;
    std::uint64_t kept = 0;
    bool tried = false;
    for (int i = 0; i < kTries && (left != 0 || kept != kThere); ++i, let_read_ahead_end()) {
      if (!emptied()) GTEST_SKIP() << "this system keeps the file in memory, or does not report it";
      Bytes part(kThere);
      const mapping::OsFile& file = mapped_of(*container_)->file();
      ASSERT_TRUE(is_ok(file.read_at(record("large").file_offset, part)));
      let_read_ahead_end();
      mapping::drop_cache(file, {record("large").file_offset + kThere, kLargeSize - kThere});
      if (cached("large", 0, kThere) != kThere) continue;  // the system has dropped pages already
      tried = true;
      Bytes out(kLargeSize);
      const auto report = read("large", out, {.method = method});
      ASSERT_TRUE(is_ok(report));
      EXPECT_TRUE(out == large_);
      EXPECT_GE(report.value().cached_bytes, kThere);
      EXPECT_LE(report.value().direct_bytes, kLargeSize - kWhole) << "what is in memory is not read from the disk";
      kept = cached("large", 0, kThere);
      left = cached("large", kThere);
    }
    if (!tried) GTEST_SKIP() << "the system drops the pages at once";
    EXPECT_EQ(kept, kThere) << read_method_name(method);
    EXPECT_EQ(left, 0U) << read_method_name(method);
  }
}

class FakeDirect final : public mapping::DirectFile {
 public:
  // `refuses`: for memory at this address and above.
  explicit FakeDirect(const std::byte* refuses) : refuses_(refuses) {}
  [[nodiscard]] std::uint64_t alignment() const noexcept override { return 4096; }
  [[nodiscard]] Status read_at(std::uint64_t, std::span<std::byte> buffer, std::uint64_t) const override {
    ++asked;
    if (buffer.data() >= refuses_) return Error{ErrorCode::kUnsupported, "not here"};
    return Error{ErrorCode::kIo, "a disk that fails"};
  }
  inline static std::atomic<int> asked = 0;

 private:
  const std::byte* refuses_;
};

std::optional<std::uint64_t> nothing_cached(const mapping::OsFile&, ByteRange) noexcept { return 0; }
std::optional<std::uint64_t> not_reported(const mapping::OsFile&, ByteRange) noexcept { return std::nullopt; }

TEST_F(ReadRecord, ReadsThroughTheCacheWhereDirectReadsAreRefused) {
  const ReadHost refusing{.direct = [](const mapping::OsFile&) -> std::unique_ptr<mapping::DirectFile> {
                            return std::make_unique<FakeDirect>(nullptr);
                          },
                          .cached = &nothing_cached};
  FakeDirect::asked = 0;
  Bytes out(kLargeSize);
  const auto refused = read_on(refusing, out);
  ASSERT_TRUE(is_ok(refused));
  EXPECT_TRUE(out == large_);
  EXPECT_EQ(refused.value().direct_bytes, 0U);
  EXPECT_NE(refused.value().reason.find("the filesystem refuses direct reads"), std::string::npos);
  EXPECT_LE(FakeDirect::asked, 8) << "a thread that learns it asks no more";

  const ReadHost without{
      .direct = [](const mapping::OsFile&) -> std::unique_ptr<mapping::DirectFile> { return nullptr; },
      .cached = &not_reported};
  const auto none = read_on(without, out);
  ASSERT_TRUE(is_ok(none));
  EXPECT_TRUE(out == large_);
  EXPECT_NE(none.value().reason.find("the system does not report"), std::string::npos);
  EXPECT_NE(none.value().reason.find("cannot be opened for direct reads"), std::string::npos);
}

TEST_F(ReadRecord, ADiskThatFailsIsAnError) {
  const ReadHost failing{.direct = [](const mapping::OsFile&) -> std::unique_ptr<mapping::DirectFile> {
                           return std::make_unique<FakeDirect>(reinterpret_cast<const std::byte*>(UINTPTR_MAX));
                         },
                         .cached = &nothing_cached};
  Bytes out(kLargeSize);
  const auto failed = read_on(failing, out);
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().code, ErrorCode::kIo);
}

// A direct file that reads through the other one, except into `refused`.
class ReadingDirect final : public mapping::DirectFile {
 public:
  explicit ReadingDirect(const mapping::OsFile& file) : file_(file) {}
  [[nodiscard]] static std::unique_ptr<mapping::DirectFile> open(const mapping::OsFile& file) {
    return std::make_unique<ReadingDirect>(file);
  }
  [[nodiscard]] std::uint64_t alignment() const noexcept override { return 4096; }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> buffer, std::uint64_t needed) const override {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % alignment(), 0U);
    EXPECT_EQ(buffer.size() % alignment(), 0U);
    if (buffer.data() >= refused.data() && buffer.data() < refused.data() + refused.size()) {
      ++refusals;
      return Error{with, "not this memory"};
    }
    return file_.read_at(offset, buffer.first(static_cast<std::size_t>(needed)));
  }
  inline static ByteView refused;
  inline static ErrorCode with = ErrorCode::kUnsupported;
  inline static std::atomic<int> refusals = 0;

 private:
  const mapping::OsFile& file_;
};

TEST_F(ReadRecord, MemoryThatADiskCannotWriteToIsAskedOnceAndAnErrorOfTheDiskIsKept) {
  const ReadHost host{.direct = &ReadingDirect::open, .cached = &nothing_cached};
  struct Free {
    void operator()(std::byte* memory) const { support::free_aligned(memory); }
  };
  const std::unique_ptr<std::byte, Free> memory(
      static_cast<std::byte*>(support::aligned_memory(4096, static_cast<std::size_t>(kLargeSize / 4096 + 1) * 4096)));
  const std::span<std::byte> out(memory.get(), static_cast<std::size_t>(kLargeSize));
  ReadingDirect::refused = out;
  ReadingDirect::refusals = 0;

  const auto aside = read_on(host, out, {.threads = 1});

  ASSERT_TRUE(is_ok(aside));
  EXPECT_TRUE(std::ranges::equal(out, large_));
  EXPECT_EQ(aside.value().direct_bytes, kLargeSize);
  EXPECT_EQ(ReadingDirect::refusals, 1);

  ReadingDirect::with = ErrorCode::kIo;
  EXPECT_TRUE(fails_with(read_on(host, out, {.threads = 1}), ErrorCode::kIo)) << "no second read hides it";
  ReadingDirect::with = ErrorCode::kUnsupported;
  ReadingDirect::refused = {};
  const auto all = read_on(host, out);
  ASSERT_TRUE(is_ok(all));
  EXPECT_TRUE(std::ranges::equal(out, large_));
  EXPECT_EQ(all.value().direct_bytes, kLargeSize);
}

TEST_F(ReadRecord, AReadThatFailsIsItsOwnErrorAndNotDamage) {
  auto memory = std::make_unique<MemoryFile>(support::read_file(path_));
  MemoryFile& file = *memory;
  const mapping::FileIdentity identity = file.identity().value();
  const MappedContainer mapped("m", std::move(memory), container::read_toc(file, identity.size).value(), identity,
                               nullptr);
  const RecordInfo& large = *mapped.find("large").value();
  const ReadHost host{.direct = [](const mapping::OsFile&) -> std::unique_ptr<mapping::DirectFile> { return nullptr; },
                      .cached = &not_reported};
  Bytes out(kLargeSize);
  const std::uint64_t before = file.calls(FileCall::kRead);
  ASSERT_TRUE(is_ok(read_into(mapped, large, out, {.threads = 1}, 0, host)));
  const std::uint64_t after = file.calls(FileCall::kRead);
  ASSERT_GT(after - before, 10U) << "leaves, then ten pieces";
  const ReadHost direct{.direct = &ReadingDirect::open, .cached = &not_reported};
  ASSERT_TRUE(is_ok(read_into(mapped, large, out, {.threads = 1}, 0, direct)));
  EXPECT_EQ(file.calls(FileCall::kRead) - after, after - before) << "what was read directly is not read again";

  file.fail(FileCall::kRead, file.calls(FileCall::kRead) + after - before - 10, false);
  out.assign(out.size(), std::byte{0});
  const auto failed = read_into(mapped, large, out, {.threads = 1}, 0, host);

  ASSERT_TRUE(fails_with(failed, ErrorCode::kIo));
  EXPECT_EQ(failed.error().where.file_offset, large.file_offset);
}

constexpr std::uint64_t kSixteen = std::uint64_t{16} << 20;
std::uint64_t cached_to = 0;
std::optional<std::uint64_t> cached_before_that(const mapping::OsFile&, ByteRange range) noexcept {
  return cached_to <= range.offset ? 0 : std::min(range.size, cached_to - range.offset);
}

TEST_F(ReadRecord, FourMebibytesAreReadInPiecesAndSixteenDirectly) {
  std::vector<PackRecord> records;
  records.push_back(support::plain_record(RecordType::kOpaque, "four", support::pattern(kSixteen / 4, 45)));
  records.push_back(support::plain_record(RecordType::kOpaque, "sixteen", support::pattern(kSixteen, 46)));
  const Bytes one_more = support::pattern(kSixteen / 4 + 1, 47);
  records.push_back(support::plain_record(RecordType::kOpaque, "one more", one_more));
  const std::string path = folder_.file("exact.fatctx");
  PackOptions options;
  options.sharing = Sharing::kOff;
  ASSERT_TRUE(is_ok(support::pack(std::move(records), path, std::move(options))));
  const Container container = Container::open(path, {.verify = VerifyPolicy::kNone}).value();
  Bytes four(kSixteen / 4);
  EXPECT_EQ(read_record(container, container.find("four").value().id, four).value().threads, 2U);
  Bytes last(one_more.size());
  EXPECT_EQ(read_record(container, container.find("one more").value().id, last).value().threads, 3U);
  EXPECT_TRUE(last == one_more);

  const MappedContainer& mapped = *mapped_of(container);
  const RecordInfo& sixteen = *mapped.find("sixteen").value();
  const ReadHost host{.direct = &ReadingDirect::open, .cached = &cached_before_that};
  Bytes out(kSixteen);
  for (const std::uint64_t there : {kSixteen / 2, kSixteen / 2 - kPiece}) {
    cached_to = sixteen.file_offset + there;
    const auto report = read_into(mapped, sixteen, out, {}, 0, host);
    ASSERT_TRUE(is_ok(report));
    EXPECT_EQ(report.value().cached_bytes, there);
    EXPECT_EQ(report.value().direct_bytes, kSixteen - there);
    EXPECT_EQ(report.value().method, there == kSixteen / 2 ? ReadMethod::kCached : ReadMethod::kDirect);
  }
}

TEST_F(ReadRecord, APieceOfWhichOneByteIsMissingInThePageCacheIsReadDirectly) {
  const ReadHost host{.direct = &ReadingDirect::open, .cached = &cached_before_that};
  cached_to = record("large").file_offset + kLargeSize - 1;
  Bytes out(kLargeSize);
  const auto report = read_on(host, out);
  ASSERT_TRUE(is_ok(report));
  EXPECT_TRUE(out == large_);
  EXPECT_EQ(report.value().direct_bytes, 2 * kLeaf + 1);
}

TEST_F(ReadRecord, IsWorkThatALimitCounts) {
  const MappedContainer& mapped = *mapped_of(*container_);
  for (const char* name : {"large", "middle", "small", "cold"}) {
    const RecordInfo& record = *mapped.find(name).value();
    Bytes out(record.size_bytes);
    EXPECT_TRUE(fails_with(read_into(mapped, record, out, {}, record.size_bytes - 1), ErrorCode::kLimitExceeded))
        << name;
    EXPECT_TRUE(is_ok(read_into(mapped, record, out, {}, 2 * record.size_bytes))) << name;
  }
}

TEST_F(ReadRecord, CountsItsBytesForWhoWatches) {
  for (const char* name : {"large", "small"}) {
    const std::atomic<bool> stop = false;
    std::atomic<std::uint64_t> done = 0;
    const StepWatch watch(stop, done);
    Bytes out(record(name).size_bytes);
    ASSERT_TRUE(is_ok(read(name, out)));
    EXPECT_EQ(done, out.size()) << name;
  }
}

TEST_F(ReadRecord, DamageNamesTheFirstBadLeafWhateverThreadFindsIt) {
  damage("large", 8 * kPiece + 5);
  damage("large", 3 * kPiece + 70'000);
  for (int round = 0; round < 20; ++round) {
    Bytes out(kLargeSize);
    const auto found = read("large", out);
    ASSERT_FALSE(found.ok());
    EXPECT_EQ(found.error().code, ErrorCode::kChecksumMismatch);
    EXPECT_EQ(found.error().where.file_offset, record("large").file_offset + 3 * kPiece + 65'536);
    EXPECT_EQ(found.error().where.record_id, record("large").id);
    EXPECT_NE(found.error().message.find(path_), std::string::npos);
  }
}

TEST_F(ReadRecord, AFileThatIsCutIsAnErrorByEveryMethod) {
  const std::uint64_t end = record("large").file_offset + 5 * kPiece + 999;
  ASSERT_EQ(::truncate(path_.c_str(), static_cast<off_t>(end)), 0);
  for (const ReadMethod method : {ReadMethod::kDirect, ReadMethod::kCached}) {
    Bytes out(kLargeSize);
    EXPECT_EQ(read("large", out, {.method = method}).error().code, ErrorCode::kChanged) << "seen before the first read";
    const MappedContainer& mapped = *mapped_of(*container_);
    const auto met = read_into(mapped, *mapped.toc().find(record("large").id), out, {.method = method}, 0);
    EXPECT_EQ(met.error().code, ErrorCode::kTruncated) << to_text(met.error());
  }
}

TEST_F(ReadRecord, AnExceptionOfProgressEndsTheThreads) {
  for (int round = 0; round < 20; ++round) {
    Bytes out(kLargeSize);
    EXPECT_THROW((void)read("large", out, {.progress = [](auto, auto) { throw std::runtime_error("enough"); }}),
                 std::runtime_error);
  }  // a thread that still read would write into freed memory
}

TEST_F(ReadRecord, SmallAndMadeRecordsAreStreamedWithTheReason) {
  Bytes small(200'000);
  const auto few = read("small", small).value();
  EXPECT_TRUE(small == support::pattern(200'000, 43));
  EXPECT_EQ(few.method, ReadMethod::kStreamed);
  EXPECT_EQ(few.threads, 0U);
  EXPECT_NE(few.reason.find("too few"), std::string::npos);

  Bytes cold(6'000'000);
  const auto made = read("cold", cold).value();
  EXPECT_TRUE(cold == Bytes(6'000'000, std::byte{5}));
  EXPECT_EQ(made.method, ReadMethod::kStreamed);
  EXPECT_NE(made.reason.find("made from parts"), std::string::npos);

  Bytes middle(middle_.size());
  const auto pieced = read("middle", middle).value();
  EXPECT_TRUE(middle == middle_);
  EXPECT_EQ(pieced.method, ReadMethod::kCached);
  EXPECT_NE(pieced.reason.find("too few for direct"), std::string::npos);
}

TEST_F(ReadRecord, RefusesAnotherSizeAndTheMethodOfReports) {
  Bytes out(kLargeSize + 1);
  EXPECT_EQ(read("large", out).error().code, ErrorCode::kInvalidArgument);
  out.resize(kLargeSize);
  EXPECT_EQ(read("large", out, {.method = ReadMethod::kStreamed}).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(read_record(*container_, 99, out).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(read_method_from_name("direct"), ReadMethod::kDirect);
  EXPECT_EQ(read_method_from_name("map"), std::nullopt);
}

TEST_F(ReadRecord, SharedCopiesAreReadThatWay) {
  const bool empty = emptied();
  const Container copies =
      Container::open(path_, {.verify = VerifyPolicy::kNone, .file_mapping = FileMapping::kDisabled}).value();
  const RecordView view = copies.acquire("large").value();
  EXPECT_EQ(view.access_path(), AccessPath::kCopied);
  EXPECT_TRUE(std::ranges::equal(view.bytes(), large_));
  if (empty) {
    EXPECT_EQ(cached("large"), 0U);
  }
  damage("large", 123);
  const Container fresh = Container::open(path_, {.file_mapping = FileMapping::kDisabled}).value();
  EXPECT_TRUE(fresh.acquire("large").ok()) << "the copy that lives is shared";
}

TEST_F(ReadRecord, ErrorsOfSharedCopiesNameTheFileAndTheRecordOnce) {
  damage("large", 123);
  const Container copies = Container::open(path_, {.file_mapping = FileMapping::kDisabled}).value();

  const auto refused = copies.acquire("large");

  ASSERT_EQ(refused.error().code, ErrorCode::kChecksumMismatch);
  const std::string& message = refused.error().message;
  EXPECT_TRUE(message.starts_with(path_ + ": record ")) << message;
  EXPECT_EQ(message.find("record "), message.rfind("record ")) << message;
}

}  // namespace record_read_test
}  // namespace fatctx
