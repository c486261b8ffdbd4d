// A container of more than 4 GiB: sparse on the disk, with its weights behind the range of 32-bit offsets.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "fatctx/extract.h"
#include "fatctx/model.h"
#include "fatctx/range_access.h"
#include "support/hostile_file.h"
#include "support/mapped_file.h"
#include "support/process_files.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx {
namespace above_4gib_test {

using support::Bytes;
using support::is_ok;
using support::TempDir;

constexpr std::uint64_t kFar = std::uint64_t{5} << 30;

// Writes the sample with 5 GiB of dead bytes before its last payload segment, its LEAVES and TOC copy 1.
void write_large_sample(const std::string& path) {
  support::HostileFile sample(support::unsealed_sample());
  const std::size_t moved = sample.segments.size() - 2;
  const std::uint64_t from = sample.segments[moved].offset;
  container::SegmentEntry dead = sample.segments[moved];
  dead.kind = static_cast<std::uint16_t>(container::SegmentKind::kDead);
  dead.size = kFar;
  dead.leaves_segment = container::kNoSegment;
  dead.first_leaf = 0;
  dead.leaves_hash = {};
  sample.segments.insert(sample.segments.begin() + static_cast<std::ptrdiff_t>(moved), dead);
  for (std::size_t i = 0; i < sample.segments.size(); ++i) {
    container::SegmentEntry& segment = sample.segments[i];
    if (i > moved) segment.offset = segment.offset + kFar;
    if (segment.leaves_segment != container::kNoSegment) segment.leaves_segment = segment.leaves_segment + 1;
  }
  for (container::SliceEntry& slice : sample.slices) {
    if (slice.segment >= moved) slice.segment = slice.segment + 1;
  }
  sample.in_header = [&](Bytes& file) {
    for (std::uint8_t index = 0; index < container::kSlotOffsets.size(); ++index) {
      container::Slot slot = index % 2 == 0 ? sample.live : sample.other;
      slot.slot_index = index;
      if (index % 2 == 0) {
        slot.toc_offset[1] = slot.toc_offset[1] + kFar;
        slot.committed_end = slot.committed_end + kFar;
      }
      support::put_struct(file, container::kSlotOffsets[index], slot);
    }
  };
  const Bytes bytes = sample.bytes();
  std::ofstream file(path, std::ios::binary);
  const auto* data = reinterpret_cast<const char*>(bytes.data());
  file.write(data, static_cast<std::streamsize>(from));
  file.seekp(static_cast<std::streamoff>(from + kFar));
  file.write(data + from, static_cast<std::streamsize>(bytes.size() - from));
}

// Shows S5.7.
TEST(Above4GiB, RecordsBehindTheBorderAreMappedCheckedPrefetchedAndLocked) {
  const TempDir folder;
  const std::string path = folder.file("large.fatctx");
  write_large_sample(path);
  ASSERT_GT(std::filesystem::file_size(path), kFar);

  auto opened = Container::open(path);
  ASSERT_TRUE(is_ok(opened));
  const Container container = opened.value();
  const RecordInfo weights = container.find("weights").value();
  EXPECT_GT(weights.file_offset, kFar);
  auto acquired = container.acquire(weights.id);
  ASSERT_TRUE(is_ok(acquired));
  const RecordView view = acquired.value();
  const Bytes expected = support::cpu_records()[4].source.bytes;
  EXPECT_TRUE(std::ranges::equal(view.bytes(), expected));
  EXPECT_EQ(support::maps_of(path), 1U);

  const auto prefetched = container.prefetch(weights.id);
  ASSERT_TRUE(is_ok(prefetched));
  EXPECT_EQ(prefetched.value().done_bytes, weights.size_bytes);
  if (support::locking_works()) {
    EXPECT_TRUE(is_ok(container.lock(weights.id)));
  }
  const auto range = RangeAccess(view).provide(100, 1'000);
  ASSERT_TRUE(is_ok(range));
  EXPECT_EQ(range.value().data, view.data() + 100);
  EXPECT_TRUE(is_ok(container.tensors(weights.id)));
  ASSERT_TRUE(is_ok(extract_record(container, weights.id, folder.file("out"), false)));
  EXPECT_EQ(std::filesystem::file_size(folder.file("out")), weights.size_bytes);
  const auto report = container.verify_record(weights.id);
  ASSERT_TRUE(is_ok(report));
  EXPECT_TRUE(report.value().findings.empty());
}

TEST(Above4GiB, DamageIsToldAtItsPlace) {
  const TempDir folder;
  const std::string path = folder.file("large.fatctx");
  write_large_sample(path);
  const Container container = Container::open(path).value();
  const RecordInfo weights = container.find("weights").value();
  {
    std::fstream file(path, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(weights.file_offset));
    file.put('\0');
  }
  const auto view = container.acquire(weights.id);
  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.error().code, ErrorCode::kChecksumMismatch);
  EXPECT_EQ(view.error().where.file_offset, weights.file_offset);
}

}  // namespace above_4gib_test
}  // namespace fatctx
