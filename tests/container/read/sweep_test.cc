// Sweeps over two small files: every length they may be cut to, and every bit of everything except payload.
//
// Promise 3 of the format: with any single bit of header or table of contents changed, the newest generation opens with
// the same records. The open reports the loss, if it read that bit; otherwise verify finds it. Everything happens in
// memory, through the functions that an open consists of. A sample of real files is in tests/runtime. Shows S5.5,
// S3.70.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "container/check/verify.h"
#include "container/read/leaves.h"
#include "container/read/open.h"
#include "support/appended.h"
#include "support/memory_file.h"
#include "support/rehash.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"
#include "support/sanitized.h"

namespace fatctx::container {
namespace sweep_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::MemoryFile;

class Sweep : public testing::TestWithParam<const char*> {
 protected:
  Sweep() : file_(sample(GetParam())), opened_(read_toc(file_, file_.size()).value()) {}

  // The appended files have three generations, a table that supersedes others, and the remains of a crashed append.
  static const Bytes& sample(const std::string& name) {
    if (name == "sealed") return support::sealed_sample();
    if (name == "unsealed") return support::unsealed_sample();
    static const Bytes small = [] {
      PackOptions options;
      options.extent_log2 = kSmallExtentLog2;
      options.model_name = "small sample";
      return support::packed_bytes(support::cpu_records(), std::move(options));
    }();
    if (name == "small") return small;
    static const Bytes appended = appended_to(support::unsealed_sample());
    static const Bytes small_appended = appended_to(small);
    return name == "small_appended" ? small_appended : appended;
  }

  static Bytes appended_to(const Bytes& first) {
    Bytes bytes =
        support::append(first, {support::binary_record("cpu-riscv", "riscv64", support::pattern(5'000, 99))}).bytes;
    const Bytes tail = support::pattern(3'000, 98);
    bytes.insert(bytes.end(), tail.begin(), tail.end());
    return support::append(std::move(bytes),
                           {support::binary_record("new v3", "x86-64-v3", support::pattern(4'000, 97))},
                           {.replace = true})
        .bytes;
  }

  [[nodiscard]] ByteView header_bytes() { return ByteView(file_.bytes()).first(form_.size); }
  void flip(std::uint64_t offset, unsigned bit) {
    file_.bytes()[static_cast<std::size_t>(offset)] ^= static_cast<std::byte>(1U << bit);
  }
  [[nodiscard]] VerifyReport verify() {
    auto report = verify_container(file_, {});
    EXPECT_TRUE(is_ok(report));
    return std::move(report).value();
  }
  // Compares the parts of a header that an open uses; equal parts and equal TOC bytes give equal records.
  static bool same_facts(const Header& a, const Header& b) {
    return a.uuid == b.uuid && a.extent_log2 == b.extent_log2 && a.granule_log2 == b.granule_log2 &&
           a.generation == b.generation && a.committed_end == b.committed_end && a.toc_offset == b.toc_offset &&
           a.toc_size == b.toc_size && a.toc_hash == b.toc_hash && a.sealed == b.sealed && a.pair == b.pair &&
           a.tail_bytes == b.tail_bytes;
  }
  static bool same_records(const Toc& a, const Toc& b) {
    return a.bytes == b.bytes && std::equal(a.records.begin(), a.records.end(), b.records.begin(), b.records.end(),
                                            [](const RecordInfo& x, const RecordInfo& y) {
                                              return x.id == y.id && x.name == y.name && x.size_bytes == y.size_bytes &&
                                                     x.hash == y.hash && x.file_offset == y.file_offset &&
                                                     compare_keys(x.key, y.key) == 0;
                                            });
  }
  // Returns the loss that an open must report when bytes in this range of the header are damaged.
  [[nodiscard]] std::uint32_t expected_loss(ByteRange damaged) const {
    std::uint32_t loss = 0;  // none for padding, which an open does not read
    const auto add = [&](std::uint64_t sector, std::uint32_t bit) {
      if (sector < damaged.offset + damaged.size && damaged.offset < sector + kSectorSize) loss |= bit;
    };
    for (std::size_t i = 0; i < form_.prologues.size(); ++i)
      add(form_.prologues[i], std::uint32_t{kDegradedPrologue0} << i);
    for (std::size_t i = 0; i < form_.slots.size(); ++i) add(form_.slots[i], std::uint32_t{kDegradedSlotA0} << i);
    return loss;
  }
  // Returns unused ranges between header and end: behind extents, and between small records.
  [[nodiscard]] std::vector<ByteRange> gaps() const {
    std::vector<ByteRange> used = {{opened_.header.toc_offset[0], opened_.header.toc_size},
                                   {opened_.header.toc_offset[1], opened_.header.toc_size}};
    for (std::uint32_t i = 0; i < opened_.toc.segments.size(); ++i) {
      const Segment& segment = opened_.toc.segments[i];
      // Earlier generations do not use all packed bytes, but leaves cover these bytes.
      const bool old = segment.generation < opened_.header.generation;
      if (segment.kind != SegmentKind::kPacked || old) used.push_back({segment.offset, segment.size});
      for (const Slice& slice : opened_.toc.slices) {
        if (slice.segment == i) used.push_back({segment.offset + slice.range.offset, slice.range.size});
      }
    }
    std::sort(used.begin(), used.end(), [](ByteRange a, ByteRange b) { return a.offset < b.offset; });
    std::vector<ByteRange> gaps;
    std::uint64_t end = form_.size;
    for (const ByteRange range : used) {
      if (range.offset > end) gaps.push_back({end, range.offset - end});
      end = std::max(end, range.offset + range.size);
    }
    return gaps;
  }
  // Does the checks that acquire does before it hands a record out.
  [[nodiscard]] Status check_leaves_of(const RecordInfo& record) {
    const Slice& slice = opened_.toc.slices[opened_.toc.forms[opened_.toc.index_of(record)].first_slice];
    const Segment& segment = opened_.toc.segments[slice.segment];
    FATCTX_ASSIGN(const Leaves leaves, read_leaves(file_, opened_.toc, segment, LeafHash::kXxh3));
    return walk_leaves(file_, segment, leaves, leaves_touched(slice.range),
                       [](std::uint64_t, ByteView, bool good) -> Status {
                         if (!good) return Error{ErrorCode::kChecksumMismatch, "a leaf is damaged"};
                         return Done{};
                       });
  }

  MemoryFile file_;
  OpenedToc opened_;
  HeaderForm form_ = opened_.header.form();
};

INSTANTIATE_TEST_SUITE_P(Samples, Sweep, testing::Values("unsealed", "sealed", "appended", "small", "small_appended"),
                         [](const auto& param) { return std::string(param.param); });

TEST_P(Sweep, TheSampleItselfIsWhole) {
  EXPECT_EQ(opened_.header.degraded, 0U);
  const VerifyReport report = verify();
  EXPECT_TRUE(report.findings.empty()) << to_text(report.findings.front().error);
}

TEST_P(Sweep, NoPrefixOpens) {
  const std::uint64_t whole = file_.bytes().size();
  for (std::uint64_t size = 0; size < whole; size += support::kStride) {
    const ByteView head =
        ByteView(file_.bytes()).first(static_cast<std::size_t>(std::min<std::uint64_t>(size, form_.size)));
    const auto header = parse_header(head, size);
    ASSERT_FALSE(header.ok()) << size;
    const ErrorCode expected = size > 0 && size < kMagic.size() ? ErrorCode::kBadMagic : ErrorCode::kTruncated;
    ASSERT_EQ(header.error().code, expected) << size << ": " << to_text(header.error());
  }
  EXPECT_TRUE(is_ok(parse_header(header_bytes(), whole)));
}

TEST_P(Sweep, NoPrefixOpensThroughAFileEither) {
  const std::uint64_t whole = file_.bytes().size();
  for (std::uint64_t boundary = 0; boundary <= whole; boundary += kTocPageSize) {
    for (const std::uint64_t size : {boundary - 1, boundary, boundary + 1}) {
      if (size >= whole) continue;  // also true for the size below zero
      file_.show_only(size);
      const auto opened = read_toc(file_, size);
      ASSERT_FALSE(opened.ok()) << size;
      ASSERT_TRUE(opened.error().code == ErrorCode::kTruncated || opened.error().code == ErrorCode::kBadMagic) << size;
      file_.show_only(UINT64_MAX);
    }
  }
}

TEST_P(Sweep, EveryBitOfTheHeaderIsSurvivedAndReported) {
  for (std::uint64_t offset = 0; offset < form_.size; offset += support::kStride) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      flip(offset, bit);
      const auto header = parse_header(header_bytes(), file_.size());
      flip(offset, bit);
      ASSERT_TRUE(is_ok(header)) << offset << " bit " << bit;
      ASSERT_TRUE(same_facts(header.value(), opened_.header)) << offset << " bit " << bit;
      ASSERT_EQ(header.value().degraded, expected_loss({offset, 1})) << offset << " bit " << bit;
    }
  }
}

TEST_P(Sweep, EveryByteOfTheHeaderIsSurvivedWithAnyValue) {
  // All values of the significant bytes, in one page of each kind. For the others, testing one bit is enough.
  for (const std::uint64_t page : {form_.prologues[0], form_.slots[0], form_.slots[3]}) {
    for (std::uint64_t offset = page; offset < page + 260; ++offset) {
      for (unsigned change = 1; change < 256; change += support::kStride) {
        file_.bytes()[static_cast<std::size_t>(offset)] ^= static_cast<std::byte>(change);
        const auto header = parse_header(header_bytes(), file_.size());
        file_.bytes()[static_cast<std::size_t>(offset)] ^= static_cast<std::byte>(change);
        ASSERT_TRUE(is_ok(header)) << offset << " value " << change;
        ASSERT_TRUE(same_facts(header.value(), opened_.header)) << offset << " value " << change;
        ASSERT_EQ(header.value().degraded, expected_loss({offset, 1})) << offset << " value " << change;
      }
    }
  }
}

TEST_P(Sweep, EveryLostPageOfTheHeaderIsSurvivedAndReported) {
  const Bytes junk = support::pattern(kTocPageSize, 77);
  const Bytes fills[] = {Bytes(kTocPageSize, std::byte{0}), Bytes(kTocPageSize, std::byte{0xff}), junk};
  for (std::uint64_t page = 0; page < form_.size; page += kTocPageSize) {
    for (const Bytes& fill : fills) {
      const auto at = file_.bytes().begin() + static_cast<std::ptrdiff_t>(page);
      const Bytes before(at, at + static_cast<std::ptrdiff_t>(kTocPageSize));
      std::copy(fill.begin(), fill.end(), at);
      const auto opened = read_toc(file_, file_.size());
      const std::uint32_t loss = before == fill ? 0 : expected_loss({page, kTocPageSize});
      std::copy(before.begin(), before.end(), at);

      ASSERT_TRUE(is_ok(opened)) << page;
      EXPECT_TRUE(same_facts(opened.value().header, opened_.header)) << page;
      EXPECT_TRUE(same_records(opened.value().toc, opened_.toc)) << page;
      EXPECT_EQ(opened.value().header.degraded, loss) << page;
    }
  }
}

// A block has 16 KiB in the large form: a quarter of the header, like a page of the small form.
TEST_P(Sweep, EveryLostBlockOf16KiBOfTheHeaderIsSurvived) {
  const auto block_size = static_cast<std::size_t>(form_.size / 4);
  for (std::size_t block = 0; block < form_.size; block += block_size) {
    const Bytes before = file_.bytes();
    std::fill_n(file_.bytes().begin() + static_cast<std::ptrdiff_t>(block), block_size, std::byte{0xff});

    const auto opened = read_toc(file_, file_.size());

    ASSERT_TRUE(is_ok(opened)) << block;
    EXPECT_TRUE(same_facts(opened.value().header, opened_.header)) << block;
    EXPECT_NE(opened.value().header.degraded, 0U);
    file_.bytes() = before;
  }
}

TEST_P(Sweep, EveryBitOfTocCopy0IsSurvivedByCopy1AndReported) {
  const std::uint64_t at = opened_.header.toc_offset[0];
  for (std::uint64_t offset = at; offset < at + opened_.header.toc_size; offset += support::kStride) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      flip(offset, bit);
      const auto opened = read_toc(file_, file_.size());
      flip(offset, bit);
      ASSERT_TRUE(is_ok(opened)) << offset << " bit " << bit;
      ASSERT_TRUE(same_records(opened.value().toc, opened_.toc)) << offset << " bit " << bit;
      ASSERT_EQ(opened.value().header.degraded, kDegradedToc0) << offset << " bit " << bit;
    }
  }
}

TEST_P(Sweep, EveryBitOfTocCopy1IsUnseenByOpenAndFoundByVerify) {
  const std::uint64_t at = opened_.header.toc_offset[1];
  for (std::uint64_t offset = at; offset < at + opened_.header.toc_size; offset += support::kStride) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      flip(offset, bit);
      const auto opened = read_toc(file_, file_.size());
      const VerifyReport report = verify();
      flip(offset, bit);
      ASSERT_TRUE(is_ok(opened));
      ASSERT_EQ(opened.value().header.degraded, 0U) << "an open reads one copy only";
      ASSERT_EQ(report.findings.size(), 1U) << offset;
      ASSERT_TRUE(support::is_error(report.findings[0].error, ErrorCode::kChecksumMismatch, "F14")) << offset;
      ASSERT_EQ(report.findings[0].error.where.file_offset, at);
    }
  }
}

TEST_P(Sweep, EveryBitOfTheLeavesIsFoundByVerifyAndByAcquire) {
  const auto leaves = std::find_if(opened_.toc.segments.begin(), opened_.toc.segments.end(),
                                   [](const Segment& segment) { return segment.kind == SegmentKind::kLeaves; });
  ASSERT_NE(leaves, opened_.toc.segments.end());
  for (std::uint64_t offset = leaves->offset; offset < leaves->offset + leaves->size; offset += support::kStride) {
    const std::uint64_t leaf = (offset - leaves->offset) / sizeof(DiskHash);
    for (unsigned bit = 0; bit < 8; ++bit) {
      flip(offset, bit);
      const VerifyReport report = verify();
      std::size_t refused = 0;
      bool dead = opened_.header.generation > 1;  // true for a leaf that only superseded records use
      for (const RecordInfo& record : opened_.toc.records) {
        if (record.slice_count == 0) continue;
        const Slice& slice = opened_.toc.slices[opened_.toc.forms[opened_.toc.index_of(record)].first_slice];
        const Segment& segment = opened_.toc.segments[slice.segment];
        const bool its_leaves =
            segment.leaves_segment == static_cast<std::size_t>(leaves - opened_.toc.segments.begin()) &&
            leaf >= segment.first_leaf && leaf < segment.first_leaf + segment.leaf_count();
        const Status status = check_leaves_of(record);
        dead = dead && !its_leaves;
        ASSERT_EQ(status.ok(), !its_leaves) << offset << " record " << record.id;
        if (status.ok()) continue;
        ASSERT_TRUE(fails_with(status, ErrorCode::kChecksumMismatch, "F26"));
        ++refused;
      }
      flip(offset, bit);
      ASSERT_TRUE(dead || refused != 0) << offset;
      ASSERT_TRUE(std::any_of(report.findings.begin(), report.findings.end(), [&](const VerifyFinding& finding) {
        return finding.error.where.rule == "F26" && finding.error.where.file_offset == leaves->offset;
      })) << offset;
    }
  }
}

TEST_P(Sweep, EveryByteOfPaddingIsFoundByVerify) {
  const std::vector<ByteRange> gaps = this->gaps();
  ASSERT_GE(gaps.size(), 4U);
  const std::uint64_t longest =
      std::max_element(gaps.begin(), gaps.end(), [](ByteRange a, ByteRange b) { return a.size < b.size; })->size;
  // verify names the first bad byte of each gap, so that one run tries a byte of every gap.
  const std::uint64_t step = opened_.header.generation > 1 ? 11 : 1;  // its gaps are the same, and it is larger
  for (std::uint64_t at = 0; at < longest; at += step * support::kStride) {
    std::vector<std::uint64_t> damaged;
    const auto bit = static_cast<unsigned>(at * 5 % 8);
    for (const ByteRange gap : gaps) {
      if (at < gap.size) damaged.push_back(gap.offset + at);
    }
    for (const std::uint64_t offset : damaged) flip(offset, bit);
    const VerifyReport report = verify();
    for (const std::uint64_t offset : damaged) flip(offset, bit);
    std::vector<std::uint64_t> found;
    for (const VerifyFinding& finding : report.findings) {
      if (finding.error.where.rule == "F35") found.push_back(finding.error.where.file_offset.value());
    }
    ASSERT_EQ(found, damaged) << "byte " << at << " of every gap";
  }
}

// Returns the significant bytes of payload: all of a small segment; the edges of leaves and every 499th byte of a large
// one.
std::vector<std::uint64_t> telling_offsets(const Segment& segment) {
  std::vector<std::uint64_t> offsets;
  for (std::uint64_t at = 0; at < segment.size; ++at) {
    const std::uint64_t in_leaf = at % kLeafSize;
    if (segment.size < 3000 || in_leaf < 2 || in_leaf > kLeafSize - 3 || at + 2 > segment.size || at % 499 == 0) {
      offsets.push_back(at);
    }
  }
  return offsets;
}

TEST_P(Sweep, PayloadDamageIsFoundByVerifyWithRecordAndPlaceAndByAcquire) {
  for (std::uint32_t i = 0; i < opened_.toc.segments.size(); ++i) {
    const Segment& segment = opened_.toc.segments[i];
    if (segment.kind != SegmentKind::kPayload && segment.kind != SegmentKind::kPacked) continue;
    const std::vector<std::uint64_t> offsets = telling_offsets(segment);
    for (std::size_t place = 0; place < offsets.size(); place += support::kStride) {
      const std::uint64_t at = offsets[place];
      const std::uint64_t offset = segment.offset + at;
      const auto bit = static_cast<unsigned>((at * 3 + at / 8) % 8);
      flip(offset, bit);
      const auto opened = read_toc(file_, file_.size());
      const VerifyReport report = verify();
      bool handed_out = false;
      std::uint32_t owner = 0;
      for (const RecordInfo& record : opened_.toc.records) {
        const bool inside = within({offset - record.file_offset, 1}, record.size_bytes);
        if (!inside) continue;
        owner = record.id;
        handed_out = handed_out || check_leaves_of(record).ok();
      }
      flip(offset, bit);

      ASSERT_TRUE(is_ok(opened));
      ASSERT_EQ(opened.value().header.degraded, 0U) << "an open reads no payload";
      ASSERT_FALSE(handed_out) << offset;
      ASSERT_FALSE(report.findings.empty()) << offset;
      const ErrorContext& where = report.findings[0].error.where;
      const std::string message = report.findings[0].error.message;
      if (owner == 0) {  // zeros between small records are covered by leaves, too
        ASSERT_EQ(segment.kind, SegmentKind::kPacked);
        continue;
      }
      ASSERT_EQ(report.findings[0].error.code, ErrorCode::kChecksumMismatch) << offset;
      ASSERT_TRUE(where.record_id.has_value()) << message;
      ASSERT_EQ(where.file_offset, segment.offset + at / kLeafSize * kLeafSize) << message;
      ASSERT_NE(message.find("record " + std::to_string(owner) + " "), std::string::npos) << message;
      if (segment.kind == SegmentKind::kPayload) {
        ASSERT_EQ(report.findings.size(), 1U) << message;
      }
    }
  }
}

TEST_P(Sweep, VerifySaysHowMuchItChecked) {
  const VerifyReport report = verify();
  std::uint64_t payload = 0;
  for (const Segment& segment : opened_.toc.segments) payload += segment.kind == SegmentKind::kDead ? 0 : segment.size;
  EXPECT_EQ(report.checked_bytes, payload);
}

TEST_P(Sweep, VerifyGoesThroughAnyReadErrorWithoutCallingItDamage) {
  const std::uint64_t before = file_.calls(support::FileCall::kRead);
  (void)verify();
  const std::uint64_t reads = file_.calls(support::FileCall::kRead) - before;
  for (std::uint64_t nth = 0; nth < reads; ++nth) {
    MemoryFile broken(file_.bytes());
    broken.fail(support::FileCall::kRead, nth, true);
    const auto report = verify_container(broken, {});
    ASSERT_TRUE(fails_with(report, ErrorCode::kIo)) << "read " << nth;
  }
}

}  // namespace sweep_test
}  // namespace fatctx::container
