// Files that were appended to, damaged page by page and byte by byte.
//
// A lost page of metadata may cost only one copy, and the open reports it: the newest generation opens with all its
// records. Any other lost page is detected before a view is handed out. The damage includes an older copy of a page,
// which a disk returns if it lost a write. Shows S5.5, S5.6.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <optional>

#include "container/check/verify.h"
#include "container/read/open.h"
#include "fatctx/container.h"
#include "fatctx/extract.h"
#include "support/appended.h"
#include "support/opened.h"
#include "support/result_matchers.h"
#include "support/sanitized.h"

namespace fatctx::container {
namespace appended_sweep_test {

using support::Bytes;
using support::is_ok;

PackOptions in_form(std::uint8_t extent_log2) {
  PackOptions options;
  options.extent_log2 = extent_log2;
  return options;
}

// Returns generations 1 to n of one file; each is the whole file at that time.
std::vector<Bytes> generations(std::uint8_t extent_log2) {
  std::vector<PackRecord> first = support::cpu_records();
  first.push_back(support::plain_record(RecordType::kSourceModel, "source", Bytes(90'000, std::byte{9})));
  first.back().codec = Codec::kLz4;
  std::vector<Bytes> made = {support::packed_bytes(std::move(first), in_form(extent_log2))};
  const auto append = [&](PackRecord record, const AppendOptions& options = {}) {
    std::vector<PackRecord> records;
    records.push_back(std::move(record));
    support::Appended appended = support::append(made.back(), std::move(records), options);
    EXPECT_TRUE(is_ok(appended.report));
    made.push_back(std::move(appended.bytes));
  };
  PackRecord binary = support::binary_record("added", "armv9", support::pattern(70'000, 61));
  binary.weights = {"weights"};
  append(std::move(binary));
  // Two existing leaves of the weights, and one of its own: a record of several slices.
  Bytes shared = support::pattern(support::kSampleWeightsSize, 11);
  shared.resize(2 * 65'536);
  const Bytes own = support::pattern(65'536, 62);
  shared.insert(shared.end(), own.begin(), own.end());
  append(support::plain_record(RecordType::kWeightBlob, "more weights", std::move(shared)));
  append(support::binary_record("added again", "armv9", support::pattern(5'000, 63)), {.replace = true});
  return made;
}

// A generation of a file of one form.
struct Sample {
  std::uint8_t extent_log2;
  std::size_t generation;
};

const std::vector<Bytes>& all_generations(std::uint8_t extent_log2) {
  static const std::vector<Bytes> large = generations(kExtentLog2);
  static const std::vector<Bytes> small = generations(kSmallExtentLog2);
  return extent_log2 == kSmallExtentLog2 ? small : large;
}

// Returns the bytes of a record, or the error of reading it.
Result<Bytes> bytes_of(const Container& container, const RecordInfo& record) {
  if (record.codec == Codec::kNone) {
    FATCTX_ASSIGN(const RecordView view, container.acquire(record.id));
    return Bytes(view.bytes().begin(), view.bytes().end());
  }
  Bytes bytes;
  FATCTX_TRY(stream_record(container, record.id, [&](ByteView part) -> Status {
    bytes.insert(bytes.end(), part.begin(), part.end());
    return Done{};
  }));
  return bytes;
}

class AppendedSweep : public ::testing::TestWithParam<Sample> {
 protected:
  AppendedSweep()
      : file_(all_generations(GetParam().extent_log2).at(GetParam().generation - 1)),
        older_(all_generations(GetParam().extent_log2).at(GetParam().generation - 2)) {
    const Container container = open().value();
    report_ = support::report_of(container);
    support::MemoryFile memory(file_);
    const OpenedToc opened = read_toc(memory, file_.size()).value();
    toc_ = {ByteRange{opened.header.toc_offset[0], opened.header.toc_size},
            ByteRange{opened.header.toc_offset[1], opened.header.toc_size}};
    for (const Segment& segment : opened.toc.segments) {
      if (segment.kind != SegmentKind::kDead) live_.push_back({segment.offset, segment.size});
    }
    for (const RecordInfo& record : support::records_in(container)) {
      names_.emplace(record.id, record.name);
      expected_.emplace(record.id, bytes_of(container, record).value());
    }
  }

  [[nodiscard]] Result<Container> open() const { return Container::open(Source::of_memory(file_)); }
  static bool meets(ByteRange a, ByteRange b) { return a.offset < b.offset + b.size && b.offset < a.offset + a.size; }
  // An open reads the sectors of the header, and not the padding between them.
  [[nodiscard]] bool meets_sector(ByteRange changed) const {
    const auto is_met = [&](std::uint64_t sector) { return meets(changed, {sector, kSectorSize}); };
    return std::any_of(form_.prologues.begin(), form_.prologues.end(), is_met) ||
           std::any_of(form_.slots.begin(), form_.slots.end(), is_met);
  }
  // Returns true if the newest generation uses a byte of `changed`.
  [[nodiscard]] bool in_live_segment(ByteRange changed) const {
    return std::any_of(live_.begin(), live_.end(), [&](ByteRange live) { return meets(changed, live); });
  }

  // Checks the promises for a loss of any bytes in `changed`. The newest generation opens, and reports the loss if an
  // open reads there. Records give right bytes or an error with record and offset. Returns how many records are
  // refused.
  std::size_t expect_promises(ByteRange changed, const std::string& what) const {
    const auto opened = open();
    EXPECT_TRUE(is_ok(opened)) << what;
    if (!opened.ok()) return 0;
    const OpenReport report = support::report_of(opened.value());
    EXPECT_EQ(report.generation, report_.generation) << what;
    EXPECT_EQ(report.toc_hash, report_.toc_hash) << what;
    EXPECT_EQ(report.committed_end, report_.committed_end) << what;
    const bool read_by_open = changed.size != 0 && (meets_sector(changed) || meets(changed, toc_[0]));
    EXPECT_EQ(report.degraded.empty(), !read_by_open) << what;
    EXPECT_EQ(support::records_in(opened.value()).size(), expected_.size()) << what;
    std::size_t refused = 0;
    for (const RecordInfo& record : support::records_in(opened.value())) {
      EXPECT_EQ(record.name, names_.at(record.id)) << what;
      const auto bytes = bytes_of(opened.value(), record);
      if (bytes.ok()) {
        EXPECT_EQ(bytes.value(), expected_.at(record.id)) << what << ": record " << record.name;
        continue;
      }
      ++refused;
      const ErrorCode code = bytes.error().code;  // a lost page may be a whole leaf of zeros
      EXPECT_TRUE(code == ErrorCode::kChecksumMismatch || code == ErrorCode::kNotPresent)
          << what << ": " << to_text(bytes.error());
      EXPECT_TRUE(bytes.error().where.file_offset.has_value()) << what << ": " << to_text(bytes.error());
      EXPECT_TRUE(bytes.error().where.record_id.has_value() ||
                  bytes.error().message.find("record") != std::string::npos)
          << what << ": " << to_text(bytes.error());
    }
    EXPECT_TRUE(refused == 0 || in_live_segment(changed)) << what;
    return refused;
  }
  [[nodiscard]] bool verify_finds_something() const {
    support::MemoryFile memory(file_);
    return !verify_container(memory, {}).value().findings.empty();
  }

  Bytes file_;
  const Bytes& older_;
  const HeaderForm& form_ = header_form(GetParam().extent_log2);
  OpenReport report_;
  std::array<ByteRange, 2> toc_;
  std::vector<ByteRange> live_;
  std::map<std::uint32_t, std::string> names_;
  std::map<std::uint32_t, Bytes> expected_;
};

INSTANTIATE_TEST_SUITE_P(Generations, AppendedSweep,
                         ::testing::Values(Sample{kExtentLog2, 2}, Sample{kExtentLog2, 3}, Sample{kExtentLog2, 4},
                                           Sample{kSmallExtentLog2, 2}, Sample{kSmallExtentLog2, 3},
                                           Sample{kSmallExtentLog2, 4}),
                         [](const auto& param) {
                           return std::to_string(param.param.generation) +
                                  (param.param.extent_log2 == kSmallExtentLog2 ? "OfSmallForm" : "");
                         });

TEST_P(AppendedSweep, TheFileItselfIsWhole) {
  EXPECT_EQ(report_.generation, GetParam().generation);
  EXPECT_EQ(expect_promises({0, 0}, "nothing"), 0U) << "and no copy is missed";
  EXPECT_FALSE(verify_finds_something());
}

TEST_P(AppendedSweep, EveryLostPageIsSurvivedOrFoundBeforeAViewIsHandedOut) {
  constexpr std::size_t kFills = 4;
  const char* const names[kFills] = {"zeros", "0xff", "junk", "an older copy"};
  std::size_t refused = 0;
  std::size_t lost_metadata = 0;
  for (std::size_t page = 0; page < file_.size(); page += kTocPageSize) {
    const std::size_t size = std::min<std::size_t>(kTocPageSize, file_.size() - page);
    const auto at = file_.begin() + static_cast<std::ptrdiff_t>(page);
    const Bytes before(at, at + static_cast<std::ptrdiff_t>(size));
    // For a new page: the content of an earlier extent at the same offset within its 64 KiB.
    const std::size_t old_page = page < older_.size() ? page : page % older_.size();
    Bytes fills[kFills] = {
        Bytes(size, std::byte{0}), Bytes(size, std::byte{0xff}), support::pattern(size, 77),
        Bytes(older_.begin() + static_cast<std::ptrdiff_t>(old_page),
              older_.begin() + static_cast<std::ptrdiff_t>(std::min(old_page + size, older_.size())))};
    fills[3].resize(size);
    for (std::size_t fill = 0; fill < kFills; ++fill) {
      if (fills[fill] == before) continue;
      const auto first = std::mismatch(before.begin(), before.end(), fills[fill].begin()).first - before.begin();
      const auto last = std::mismatch(before.rbegin(), before.rend(), fills[fill].rbegin()).first - before.rbegin();
      const ByteRange changed{page + static_cast<std::size_t>(first), size - static_cast<std::size_t>(first + last)};
      std::copy(fills[fill].begin(), fills[fill].end(), at);
      const std::size_t now = expect_promises(changed, std::to_string(page) + " is " + names[fill]);
      const bool metadata = changed.offset < form_.size || meets(changed, toc_[0]) || meets(changed, toc_[1]);
      if (metadata) {
        EXPECT_EQ(now, 0U);
        EXPECT_TRUE(verify_finds_something()) << page << " is " << names[fill];
      }
      lost_metadata += metadata ? 1U : 0U;
      refused += now;
      std::copy(before.begin(), before.end(), at);
      if (HasFailure()) return;
    }
  }
  EXPECT_GE(lost_metadata, 3 * (form_.size / kTocPageSize == 4 ? 4 + 2 : 6 + 2)) << "the pages of header and tables";
  EXPECT_GE(refused, expected_.size()) << "payload and leaves were met";
}

TEST_P(AppendedSweep, EveryByteOfHeaderAndTableIsSurvivedAndReported) {
  std::vector<std::size_t> places;
  for (std::size_t at = 0; at < form_.size; ++at) {
    if (meets_sector({at, 1})) places.push_back(at);
  }
  for (std::uint64_t at = 0; at < toc_[0].size; ++at) places.push_back(static_cast<std::size_t>(toc_[0].offset + at));
  support::MemoryFile memory(file_);
  const OpenedToc whole = read_toc(memory, file_.size()).value();
  for (std::size_t i = 0; i < places.size(); i += support::kStride) {
    const std::size_t at = places[i];
    const std::byte bit{static_cast<unsigned char>(1U << (at % 8))};
    memory.bytes()[at] ^= bit;
    const auto opened = read_toc(memory, file_.size());
    memory.bytes()[at] ^= bit;

    ASSERT_TRUE(is_ok(opened)) << at;
    ASSERT_EQ(opened.value().header.generation, GetParam().generation) << at;
    ASSERT_EQ(opened.value().toc.bytes, whole.toc.bytes) << at;
    ASSERT_NE(opened.value().header.degraded, 0U) << at;
  }
}

TEST_P(AppendedSweep, EveryLeafOfPayloadWithOneWrongBitIsFound) {
  support::MemoryFile memory(file_);
  const OpenedToc opened = read_toc(memory, file_.size()).value();
  for (const RecordInfo& record : opened.toc.records) {
    const RecordForm& form = opened.toc.forms[opened.toc.index_of(record)];
    for (std::uint32_t i = 0; i < record.slice_count; ++i) {
      const Slice& slice = opened.toc.slices[form.first_slice + i];
      for (std::uint64_t in_slice = 0; in_slice < slice.range.size; in_slice += 65'536 - 1) {
        const std::uint64_t at = opened.toc.segments[slice.segment].offset + slice.range.offset + in_slice;
        file_[static_cast<std::size_t>(at)] ^= std::byte{0x10};
        const Container container = open().value();
        const auto bytes = bytes_of(container, container.record(record.id).value());
        file_[static_cast<std::size_t>(at)] ^= std::byte{0x10};
        ASSERT_TRUE(support::fails_with(bytes, ErrorCode::kChecksumMismatch, "F26")) << record.name << " at " << at;
        ASSERT_EQ(bytes.error().where.record_id, record.id) << record.name;
      }
    }
  }
}

}  // namespace appended_sweep_test
}  // namespace fatctx::container
