// A large table of contents is read page by page: records are found with few reads, and bad rows and pages are refused.
#include "container/read/partial_toc.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "container/format/crypto.h"
#include "container/read/lies_toc.h"
#include "container/read/open.h"
#include "support/memory_file.h"
#include "support/pattern.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"
#include "support/signed_file.h"

namespace fatctx::container {
namespace partial_toc_test {

using support::Bytes;
using support::HostileFile;
using support::is_error;
using support::is_ok;
using support::MemoryFile;

// Binaries for many devices, some with weights of their own in a blob with tensors, and other records between.
std::vector<PackRecord> many_records(std::uint32_t count) {
  std::vector<PackRecord> records;
  for (std::uint32_t i = 0; i < count; ++i) {
    PackRecord record = support::binary_record("binary " + std::to_string(i), "x86-64-v3", support::pattern(70 + i, i));
    record.key.unit = "unit " + std::to_string(i);
    if (i % 5 == 0) record.key.features = {"avx512f", "amx_tile"};
    if (i % 7 == 3) {
      const std::string blob = "weights " + std::to_string(i);
      record.weights = {blob};
      PackRecord weights = support::plain_record(RecordType::kWeightBlob, blob, support::pattern(400 + i, i + 9));
      weights.tensors = {
          {.name = "a", .dtype = DType::kF32, .shape = {5, 10}, .offset_in_blob = 64, .size_bytes = 200}};
      records.push_back(std::move(weights));
    }
    records.push_back(std::move(record));
  }
  for (PackRecord& record : support::mixed_records()) records.push_back(std::move(record));
  return records;
}

const Bytes& large_sample() {
  static const Bytes bytes = support::packed_bytes(many_records(600));
  return bytes;
}

// An opened head and its reader.
struct Head {
  explicit Head(Bytes bytes, const Trust& trust = {}, TocPart part = TocPart::kHead) : file(std::move(bytes)) {
    auto read = read_generation(file, file.size(), 0, trust, part);
    if (!read.ok()) {
      error = std::move(read).error();
      return;
    }
    opened = std::move(read).value();
    if (!opened.whole) toc.emplace(file, opened.header, opened.toc);
  }
  MemoryFile file;
  OpenedToc opened;
  std::optional<PartialToc> toc;
  std::optional<Error> error;
};

void expect_equal(const RecordInfo& a, const RecordInfo& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.type, b.type);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.ignorable, b.ignorable);
  EXPECT_EQ(a.must_map, b.must_map);
  EXPECT_EQ(a.supported, b.supported);
  EXPECT_EQ(a.recipe, b.recipe);
  EXPECT_EQ(a.codec, b.codec);
  EXPECT_EQ(a.size_bytes, b.size_bytes);
  EXPECT_EQ(a.stored_bytes, b.stored_bytes);
  EXPECT_EQ(a.slice_count, b.slice_count);
  EXPECT_EQ(a.file_offset, b.file_offset);
  EXPECT_EQ(a.hash, b.hash);
  EXPECT_EQ(compare_keys(a.key, b.key), std::strong_ordering::equal);
  EXPECT_EQ(a.key.generic, b.key.generic);
  EXPECT_TRUE(std::ranges::equal(a.weights, b.weights));
}

// Compares everything that a view of the record needs.
void expect_equal_rows(const Toc& a, const RecordInfo& of_a, const Toc& b, const RecordInfo& of_b) {
  SCOPED_TRACE(of_b.name);
  expect_equal(of_a, of_b);
  const RecordForm& form = a.forms[a.index_of(of_a)];
  const RecordForm& same = b.forms[b.index_of(of_b)];
  ASSERT_EQ(form.first_slice, same.first_slice);
  EXPECT_EQ(form.link, same.link);
  for (std::uint32_t i = form.first_slice; i < form.first_slice + of_a.slice_count; ++i) {
    EXPECT_EQ(a.slices[i].segment, b.slices[i].segment);
    EXPECT_EQ(a.slices[i].range, b.slices[i].range);
    const Segment& segment = a.segments[a.slices[i].segment];
    EXPECT_EQ(segment.offset, b.segments[a.slices[i].segment].offset);
    EXPECT_EQ(segment.leaves_hash, b.segments[a.slices[i].segment].leaves_hash);
    if (segment.leaves_segment != kNoSegment) {
      EXPECT_EQ(a.segments[segment.leaves_segment].offset, b.segments[segment.leaves_segment].offset);
    }
  }
  if (of_a.type != RecordType::kWeightBlob || form.link == kNoRow) return;
  const Reference& reference = a.references[a.forms[form.link].link];
  EXPECT_EQ(reference.to_record, of_a.id);
  EXPECT_EQ(reference.table_hash, b.references[b.forms[form.link].link].table_hash);
}

TEST(PartialToc, FindsEveryRecordByNameAndByIdAsAWholeTableHasIt) {
  MemoryFile file(large_sample());
  const auto whole = read_toc(file, file.size());
  ASSERT_TRUE(is_ok(whole));
  std::vector<std::size_t> order(whole.value().toc.records.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  for (const std::uint32_t seed : {1U, 2U}) {
    std::shuffle(order.begin(), order.end(), std::mt19937(seed));
    Head head(large_sample());
    for (const std::size_t i : order) {
      const RecordInfo& expected = whole.value().toc.records[i];
      const auto found = i % 2 == 0 ? head.toc->find(expected.name) : head.toc->find(expected.id);
      ASSERT_TRUE(is_ok(found)) << expected.name;
      ASSERT_NE(found.value(), nullptr) << expected.name;
      expect_equal_rows(head.opened.toc, *found.value(), whole.value().toc, expected);
    }
    EXPECT_FALSE(head.toc->whole());
    EXPECT_EQ(head.toc->known().size(), order.size());
    ASSERT_TRUE(is_ok(head.toc->need_all()));
    for (std::size_t i = 0; i < order.size(); ++i) {
      expect_equal_rows(head.opened.toc, head.opened.toc.records[i], whole.value().toc, whole.value().toc.records[i]);
    }
    EXPECT_EQ(head.opened.toc.bytes, whole.value().toc.bytes);
  }
}

TEST(PartialToc, FindsNoNameAndNoIdThatIsNotThere) {
  Head head(large_sample());
  for (const char* name : {"", "binary", "binary 600", "weights 4", "zz"}) {
    const auto found = head.toc->find(name);
    ASSERT_TRUE(is_ok(found)) << name;
    EXPECT_EQ(found.value(), nullptr) << name;
  }
  for (const std::uint32_t id : {0U, 100'000U, UINT32_MAX}) {
    const auto found = head.toc->find(id);
    ASSERT_TRUE(is_ok(found)) << id;
    EXPECT_EQ(found.value(), nullptr) << id;
  }
}

TEST(PartialToc, ReadsAFewPagesForOneRecordAndNothingTwice) {
  for (const std::uint32_t count : {1'000U, 4'000U}) {
    Head head(support::packed_bytes(many_records(count)));
    const std::uint64_t before = head.file.bytes_read();

    const auto found = head.toc->find("binary 777");
    const std::uint64_t read = head.file.bytes_read() - before;
    ASSERT_TRUE(is_ok(head.toc->find("binary 777")));

    ASSERT_TRUE(is_ok(found));
    EXPECT_LE(read, 12 * kTocPageSize) << count << " records in " << head.opened.header.toc_size << " bytes";
    EXPECT_EQ(head.file.bytes_read() - before, read) << "the second time reads nothing";
  }
}

TEST(PartialToc, SurvivesMoreNamesAfterTheWholeTableIsThere) {
  Head head(large_sample());
  const auto early = head.toc->find("weights 3");
  ASSERT_TRUE(is_ok(early));
  ASSERT_TRUE(is_ok(head.toc->need_all()));
  EXPECT_TRUE(head.toc->whole());
  const RecordInfo* later = head.opened.toc.find(early.value()->id);
  EXPECT_EQ(later, early.value()) << "a record keeps its place";
}

// Damages a byte of one page in the copies.
Bytes damaged_page(const Header& header, std::uint64_t page, bool first, bool second) {
  Bytes bytes = large_sample();
  const std::uint64_t at = header.toc_head_size + page * kTocPageSize + 100;
  if (first) bytes[static_cast<std::size_t>(header.toc_offset[0] + at)] ^= std::byte{4};
  if (second) bytes[static_cast<std::size_t>(header.toc_offset[1] + at)] ^= std::byte{4};
  return bytes;
}

TEST(PartialToc, TakesAPageThatIsDamagedInOneCopyFromTheOtherAndSaysSo) {
  const Head good(large_sample());
  const std::uint64_t pages = good.opened.toc.head.page_count;
  ASSERT_GT(pages, 16U);
  for (std::uint64_t page = 0; page < pages; ++page) {
    Head head(damaged_page(good.opened.header, page, true, false));
    ASSERT_TRUE(is_ok(head.toc->need_all())) << page;
    EXPECT_EQ(head.toc->degraded(), kDegradedToc0) << page;
    EXPECT_EQ(head.opened.toc.bytes.size(), head.opened.header.toc_size);
    Head second(damaged_page(good.opened.header, page, false, true));
    ASSERT_TRUE(is_ok(second.toc->need_all())) << page;
    EXPECT_EQ(second.toc->degraded(), 0U) << "nobody looks at the second copy of a good page";
  }
}

TEST(PartialToc, RefusesOnlyWhatNeedsAPageThatIsDamagedInBothCopies) {
  const Head good(large_sample());
  constexpr std::size_t kAsked = 15;
  std::size_t refused_somewhere = 0;
  std::size_t needed_by_all = 0;
  for (std::uint64_t page = 0; page < good.opened.toc.head.page_count; ++page) {
    Head head(damaged_page(good.opened.header, page, true, true));
    std::size_t refused = 0;
    for (int i = 0; i < 600; i += 40) {
      const auto found = head.toc->find("binary " + std::to_string(i));
      if (found.ok()) {
        ASSERT_NE(found.value(), nullptr);
        continue;
      }
      EXPECT_TRUE(is_error(found.error(), ErrorCode::kChecksumMismatch, "F13"));
      EXPECT_NE(found.error().message.find("page " + std::to_string(page) + " "), std::string::npos);
      ++refused;
    }
    if (refused != 0) ++refused_somewhere;
    if (refused == kAsked) ++needed_by_all;
    EXPECT_TRUE(is_error(head.toc->need_all().error(), ErrorCode::kChecksumMismatch, "F13")) << page;
    EXPECT_FALSE(head.toc->whole());
  }
  EXPECT_GT(refused_somewhere, 10U);
  EXPECT_LE(needed_by_all, 4U) << "words that all keys have, and the segment of all leaves";
}

TEST(PartialToc, AHeadThatIsDamagedInBothCopiesIsRefused) {
  const Head good(large_sample());
  for (const std::size_t at : {std::size_t{5}, static_cast<std::size_t>(kPageHashesStart) + 3}) {
    Bytes bytes = large_sample();
    for (const std::uint64_t copy : good.opened.header.toc_offset) {
      bytes[static_cast<std::size_t>(copy) + at] ^= std::byte{4};
    }
    const Head head(bytes);
    ASSERT_TRUE(head.error) << at;
    EXPECT_TRUE(is_error(*head.error, ErrorCode::kChecksumMismatch, "F13")) << at;
  }
}

TEST(PartialToc, ReadsTheSecondCopyWhereTheFirstCannotBeRead) {
  Head head(large_sample());
  head.file.fail(support::FileCall::kRead, head.file.calls(support::FileCall::kRead), false);
  const auto found = head.toc->find("binary 5");
  ASSERT_TRUE(is_ok(found));
  EXPECT_EQ(head.toc->degraded(), 0U) << "the page itself was good at the second try";
  head.file.fail(support::FileCall::kRead, head.file.calls(support::FileCall::kRead), true);
  EXPECT_FALSE(head.toc->need_all().ok());
  EXPECT_TRUE(is_ok(head.toc->find("binary 5"))) << "what is there stays";
}

// Each broken rule of the table: the whole refuses it by name. Records are refused as well, or the rule is one about
// all rows together.
TEST(PartialToc, EveryLieIsRefusedByTheRowsThatTellItOrByTheWhole) {
  std::set<std::string> only_whole;
  std::size_t by_rows = 0;
  for (const Lie& lie : kTocLies) {
    SCOPED_TRACE(lie.name);
    HostileFile hostile(support::unsealed_sample());
    lie.damage(hostile);
    const Bytes bytes = hostile.bytes();
    const MemoryFile file(bytes);
    const auto expected = read_toc(file, bytes.size());
    ASSERT_FALSE(expected.ok());

    Head head(bytes);
    if (head.error) {
      EXPECT_EQ(to_text(*head.error), to_text(expected.error()));
      continue;
    }
    bool refused = false;
    for (std::uint32_t id = 0; id < 10; ++id) {
      const auto found = head.toc->find(id);
      if (found.ok()) continue;
      refused = true;
      EXPECT_FALSE(found.error().where.rule.empty()) << to_text(found.error());
      EXPECT_TRUE(found.error().where.file_offset.has_value()) << to_text(found.error());
    }
    for (const char* name : {"cpu-x86-64-v2", "cpu-aarch64", "weights", "nothing"}) {
      const auto found = head.toc->find(name);
      if (!found.ok()) refused = true;
    }
    const auto all = head.toc->need_all();
    ASSERT_FALSE(all.ok());
    EXPECT_TRUE(is_error(all.error(), lie.code, lie.rule));
    if (refused) ++by_rows;
    if (!refused) only_whole.insert(std::string(lie.rule));
  }
  EXPECT_GT(by_rows, 60U);
  // Order, places, completeness; and rows that belong to no record: dead segments, generations, keys and references of
  // records that do not exist.
  const std::set<std::string> about_all_rows = {"F11", "F15", "F16", "F17", "F18", "F20", "F26", "F27",
                                                "F28", "F30", "F31", "F36", "F37", "F38", "F45"};
  EXPECT_EQ(only_whole, about_all_rows);
}

// The rows that a record names are checked before they are used.
TEST(PartialToc, ARecordIsRefusedForTheRowsThatItNames) {
  struct Row {
    std::uint32_t id;
    std::string_view name;
    void (*damage)(HostileFile& file);
    std::string_view rule;
    std::string_view words;
  };
  const Row rows[] = {
      {5, "weights",
       [](auto& f) {
         f.in_toc = [](auto& t) {
           for (std::uint64_t i = 0; i < 7; ++i) edit_index(t, i, [](auto& e) { e.record = 7; });
         };
       },
       "F45", "the name index names record 7 of 7"},
      {3, {}, [](auto& f) { f.keep_links = true, f.records[2].key = 7; }, "F45", "a key that is not there"},
      {3, {}, [](auto& f) { f.keep_links = true, f.records[2].key = 0; }, "F45", "another key than its own"},
      {3, {}, [](auto& f) { f.keys[2].type = 7; }, "F37", "disagree about the type"},
      {2,
       {},
       [](auto& f) { f.keep_links = true, f.records[1].link = f.records[1].link + 1; },
       "F45",
       "links another reference"},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.words);
    HostileFile hostile(support::unsealed_sample());
    row.damage(hostile);
    Head head(hostile.bytes());
    ASSERT_FALSE(head.error) << to_text(*head.error);

    const auto found = row.name.empty() ? head.toc->find(row.id) : head.toc->find(row.name);

    ASSERT_FALSE(found.ok());
    EXPECT_TRUE(is_error(found.error(), ErrorCode::kMalformed, row.rule));
    EXPECT_NE(found.error().message.find(row.words), std::string::npos) << to_text(found.error());
  }
}

// If the whole table is accepted, each record of it is accepted and equal. The changes are random, the hashes right.
TEST(PartialToc, AgreesWithTheWholeOnRandomTables) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const Head good(support::unsealed_sample());
  std::size_t accepted = 0;
  for (int round = 0; round < 1'000; ++round) {
    HostileFile hostile(support::unsealed_sample());
    static thread_local std::uint64_t at;
    static thread_local std::byte with;
    at = random();
    with = static_cast<std::byte>(1U << (random() % 8));
    hostile.in_toc = [](auto& toc) {
      const std::size_t head = kPageHashesStart + sizeof(DiskHash);
      toc[head + at % (toc.size() - head)] ^= with;
    };
    const Bytes bytes = hostile.bytes();
    const MemoryFile file(bytes);
    const auto whole = read_toc(file, bytes.size());
    Head head(bytes);
    ASSERT_FALSE(head.error) << to_text(*head.error);
    for (std::uint32_t id = 1; id <= 7; ++id) {
      const auto found = head.toc->find(id);
      if (!whole.ok()) continue;
      ASSERT_TRUE(is_ok(found));
      const RecordInfo* expected = whole.value().toc.find(id);
      ASSERT_EQ(found.value() == nullptr, expected == nullptr);
      if (expected != nullptr) expect_equal_rows(head.opened.toc, *found.value(), whole.value().toc, *expected);
    }
    const auto all = head.toc->need_all();
    ASSERT_EQ(all.ok(), whole.ok());
    if (!all.ok()) {
      EXPECT_EQ(to_text(all.error()), to_text(whole.error()));
    }
    if (whole.ok()) ++accepted;
  }
  EXPECT_GT(accepted, 30U);
}

TEST(PartialToc, OfASignedTableBelievesPagesByTheirSha256Only) {
  PackOptions options;
  options.sha256 = true;
  Bytes bytes = support::packed_bytes(many_records(600), options);
  const SigningKey key = SigningKey::generate().value();
  const MemoryFile file(bytes);
  auto opened = read_toc(file, bytes.size());
  ASSERT_TRUE(is_ok(opened));
  // A slot with a signature over the head, as the command writes it.
  Header& header = opened.value().header;
  const ByteView head = opened.value().toc.bytes_view().first(static_cast<std::size_t>(header.toc_head_size));
  const SlotSignature made = sign_generation(header, head, {}, key);
  for (const std::uint64_t offset : {header.form().slots[0], header.form().slots[2]}) {
    auto slot = support::struct_at<Slot>(bytes, offset);
    slot.toc_sha256 = made.toc_sha256;
    slot.previous_toc_sha256 = made.previous_toc_sha256;
    slot.key_id = made.key_id;
    slot.signature = made.signature;
    support::put_struct(bytes, offset, slot);
  }
  support::rehash_header(bytes, header.form());
  const PublicKey keys[] = {key.public_key()};
  const Trust trust{.keys = keys};
  {
    Head trusted(bytes, trust);
    ASSERT_FALSE(trusted.error) << to_text(*trusted.error);
    EXPECT_TRUE(trusted.opened.toc.authenticated);
    EXPECT_TRUE(is_ok(trusted.toc->find("binary 99")));
    EXPECT_TRUE(is_ok(trusted.toc->need_all()));
  }
  const SigningKey other = SigningKey::generate().value();
  const PublicKey others[] = {other.public_key()};
  EXPECT_EQ(Head(bytes, {.keys = others}).error->code, ErrorCode::kSignatureBad);

  // Another page with the right XXH3 in the head needs another head, whose SHA-256 is not the signed one.
  Head forged(bytes, trust);
  const ByteRange page{header.toc_head_size + 5 * kTocPageSize, kTocPageSize};
  for (const std::uint64_t copy : header.toc_offset) {
    forged.file.bytes()[static_cast<std::size_t>(copy + page.offset) + 7] ^= std::byte{1};
  }
  EXPECT_TRUE(is_error(forged.toc->need_all().error(), ErrorCode::kChecksumMismatch, "F13"));
}

TEST(PartialToc, OpensReadSmallTablesWholeAndTheHeadOfLargeOnes) {
  const Head small(support::unsealed_sample(), {}, TocPart::kHeadIfLarge);
  EXPECT_TRUE(small.opened.whole);
  const Head large(large_sample(), {}, TocPart::kHeadIfLarge);
  ASSERT_GT(large.opened.header.toc_size, kSmallTocSize);
  EXPECT_FALSE(large.opened.whole);
}

}  // namespace partial_toc_test
}  // namespace fatctx::container
