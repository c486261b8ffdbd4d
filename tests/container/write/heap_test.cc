// The memory of an open: at most three times the table of contents and 256 KiB. Every operator new of this program is
// counted for it. Shows S5.5.
#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <new>
#include <string>
#include <vector>

#include "container/format/hash.h"
#include "container/read/open.h"
#include "container/write/header_build.h"
#include "container/write/plan.h"
#include "container/write/toc_build.h"
#include "fatctx/container.h"
#include "runtime/facade/open_container.h"
#include "support/rehash.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace {

std::atomic<std::size_t> live_bytes{0};
std::atomic<std::size_t> peak_bytes{0};

void* counted_new(std::size_t size) {
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  const std::size_t now = live_bytes += ::malloc_usable_size(memory);
  std::size_t peak = peak_bytes;
  while (now > peak && !peak_bytes.compare_exchange_weak(peak, now)) {
  }
  return memory;
}

void counted_delete(void* memory) noexcept {
  if (memory == nullptr) return;
  live_bytes -= ::malloc_usable_size(memory);
  std::free(memory);
}

}  // namespace

void* operator new(std::size_t size) { return counted_new(size); }
void* operator new[](std::size_t size) { return counted_new(size); }
// Stable sorts allocate with this operator; a sanitizer would supply its own.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return counted_new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory, const std::nothrow_t&) noexcept { counted_delete(memory); }
void operator delete(void* memory) noexcept { counted_delete(memory); }
void operator delete[](void* memory) noexcept { counted_delete(memory); }
void operator delete(void* memory, std::size_t) noexcept { counted_delete(memory); }
void operator delete[](void* memory, std::size_t) noexcept { counted_delete(memory); }

namespace fatctx::container {
namespace heap_test {

using support::Bytes;
using support::is_ok;

constexpr std::size_t kSlack = std::size_t{256} << 10;

// Returns the peak of heap bytes that `body` used, in addition to those used before.
template <typename Body>
std::size_t peak_of(const Body& body) {
  const std::size_t before = live_bytes;
  peak_bytes = before;
  body();
  return peak_bytes - before;
}

// A large file with header and tables of contents but without payload: an open reads no more.
class HollowFile final : public mapping::OsFile {
 public:
  HollowFile(Bytes header, Bytes toc, std::array<std::uint64_t, 2> toc_offset)
      : header_(std::move(header)), toc_(std::move(toc)), toc_offset_(toc_offset) {}
  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    ByteView from = toc_;
    if (offset < header_.size()) {
      from = ByteView(header_).subspan(static_cast<std::size_t>(offset));
    } else if (offset != toc_offset_[0] && offset != toc_offset_[1]) {
      return Error{ErrorCode::kInternal, "an open reads no payload"};
    }
    std::memcpy(buffer.data(), from.data(), buffer.size());
    return Done{};
  }
  Status write_at(std::uint64_t, ByteView) override { return Done{}; }
  Status allocate(std::uint64_t) override { return Done{}; }
  Status sync() override { return Done{}; }
  Result<mapping::FileIdentity> identity() const override { return mapping::FileIdentity{}; }
  int descriptor() const noexcept override { return -1; }

 private:
  Bytes header_;
  Bytes toc_;
  std::array<std::uint64_t, 2> toc_offset_;
};

struct Hollow {
  std::unique_ptr<HollowFile> file;
  std::uint64_t size = 0;
  std::uint64_t toc_size = 0;
};

Hollow hollow(std::vector<PackRecord> records) {
  PackOptions options;
  options.extent_log2 = kExtentLog2;
  WorkProgress progress(options.progress);
  Plan plan = make_plan(std::move(records), {}, options, progress).value();
  Bytes toc = build_toc(plan, options, 1).value();
  const DiskUuid uuid = derive_uuid(toc, plan.extent_log2, options.granule_log2);
  put_uuid(toc, uuid);
  const GenerationFacts facts{.committed_end = plan.committed_end,
                              .toc_offset = plan.toc_offset,
                              .toc_size = plan.toc_size.all,
                              .toc_head_size = plan.toc_size.head,
                              .toc_hash = hash128(head_of(toc)),
                              .previous_toc_hash = {}};
  Bytes header = first_header(uuid, plan.extent_log2, options.granule_log2, facts);
  return {std::make_unique<HollowFile>(std::move(header), std::move(toc), plan.toc_offset), plan.committed_end,
          plan.toc_size.all};
}

// Returns as many binaries as a container can hold, each with a segment of its own and two references.
std::vector<PackRecord> many_binaries(std::size_t name_size) {
  std::vector<PackRecord> records;
  for (const char* name : {"weights a", "weights b"}) {
    records.push_back(support::plain_record(RecordType::kWeightBlob, name, support::pattern(9, 1)));
    records.back().key.variant = name;
  }
  while (records.size() < kMaxRecords - 1) {
    const std::string number = std::to_string(10'000 + records.size());
    PackRecord record = support::binary_record("binary " + number, "x86-64-v3", support::pattern(5, 2));
    const auto padded = [&](char letter) {
      return number + std::string(std::max<std::size_t>(name_size, 6) - 5, letter);
    };
    record.source.bytes[0] = static_cast<std::byte>(records.size());
    record.source.bytes[1] = static_cast<std::byte>(records.size() >> 8);
    record.key.unit = padded('u');
    record.key.part = padded('p');
    record.key.arch = padded('a');
    record.key.variant = padded('v');
    record.key.group = padded('g');
    record.key.backend = padded('b');
    record.weights = {"weights a", "weights b"};
    records.push_back(std::move(record));
  }
  return records;
}

void expect_small_and_tell(const char* what, const Hollow& large) {
  Result<OpenedToc> opened = Error{};
  const auto start = std::chrono::steady_clock::now();
  const std::size_t peak = peak_of([&] { opened = read_toc(*large.file, large.size); });
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;

  ASSERT_TRUE(is_ok(opened));
  EXPECT_EQ(opened.value().toc.records.size(), kMaxRecords);
  EXPECT_LE(peak, 3 * large.toc_size + kSlack) << what;
  std::printf("%s: table of contents %.2f MB, peak heap of the open %.2f MB (%.2f of it), %.1f ms\n", what,
              static_cast<double>(large.toc_size) / 1e6, static_cast<double>(peak) / 1e6,
              static_cast<double>(peak) / static_cast<double>(large.toc_size), took.count());
}

TEST(Heap, TheCounterCounts) {
  const std::size_t peak = peak_of([] {
    const std::vector<char> one(100'000);
    const std::vector<char> two(one);
  });
  EXPECT_GE(peak, 200'000U);
  EXPECT_LT(peak, 300'000U);
}

TEST(Heap, OpeningTheMostRecordsStaysWithinThreeTablesOfContents) {
  expect_small_and_tell("65,536 records", hollow(many_binaries(6)));
}

TEST(Heap, OpeningATableOfContentsAtItsLimitStaysWithinThreeOfIt) {
  const Hollow large = hollow(many_binaries(106));
  ASSERT_GT(large.toc_size, kMaxTocSize * 9 / 10) << "meant to be near the limit";
  expect_small_and_tell("the largest table of contents", large);
}

TEST(Heap, OpeningAContainerOfManySmallRecordsStaysWithinThreeTablesOfContents) {
  const support::TempDir folder;
  std::vector<PackRecord> records;
  while (records.size() < kMaxRecords - 1) {
    records.push_back(support::plain_record(RecordType::kOpaque, "r" + std::to_string(records.size()),
                                            support::pattern(3 + records.size() % 997, 1)));
  }
  ASSERT_TRUE(is_ok(support::pack(std::move(records), folder.file("many.fatctx"))));
  Registry registry;

  Result<Container> container = Error{};
  const std::size_t peak = peak_of([&] { container = open_container(registry, folder.file("many.fatctx")); });

  ASSERT_TRUE(is_ok(container));
  support::Bytes header(kHeaderSize);
  std::ifstream(folder.file("many.fatctx"), std::ios::binary)
      .read(reinterpret_cast<char*>(header.data()), static_cast<std::streamsize>(header.size()));
  const auto slot = support::struct_at<Slot>(header, kSlotOffsets[0]);
  EXPECT_GT(slot.toc_size, kMaxRecords) << "the header was not read";
  EXPECT_LE(peak, 3 * slot.toc_size + kSlack);
}

TEST(Heap, ACountThatPromisesTooMuchTakesNoMemory) {
  // Sets every count of the directory to its maximum in turn; the table of contents keeps its small size.
  const support::Bytes file = support::unsealed_sample();
  const auto slot = support::struct_at<Slot>(file, kSlotOffsets[0]);
  const auto header = parse_header(ByteView(file).first(kHeaderSize), file.size());
  ASSERT_TRUE(is_ok(header));
  for (std::size_t table = 0; table < kTableCount; ++table) {
    for (const std::uint64_t count : {kTableMaxCounts[table], std::uint64_t{1} << 32, std::uint64_t{1} << 63}) {
      const auto at = file.begin() + static_cast<std::ptrdiff_t>(slot.toc_offset[0]);
      support::Bytes toc(at, at + static_cast<std::ptrdiff_t>(slot.toc_size));
      const le64 disk(count);
      std::memcpy(toc.data() + sizeof(TocHeader) + table * sizeof(DirectoryEntry) + 8, &disk, sizeof(disk));
      bool refused = false;

      const std::size_t peak = peak_of([&] { refused = !parse_toc(std::move(toc), header.value(), 0).ok(); });

      EXPECT_TRUE(refused);
      EXPECT_LT(peak, kSlack) << "table " << table << " count " << count;
    }
  }
}

}  // namespace heap_test
}  // namespace fatctx::container
