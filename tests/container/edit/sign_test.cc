// The source of a signed copy stays unchanged while the copy is made.
#include "fatctx/signature.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <filesystem>
#include <fstream>
#include <string>

#include "container/check/verify.h"
#include "container/format/hash.h"
#include "container/read/opened_file.h"
#include "container/read/stored_rows.h"
#include "container/write/header_build.h"
#include "container/write/toc_rows.h"
#include "support/appended.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::container {
namespace sign_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

TEST(Sign, AFileThatIsWrittenToMeanwhileIsNotSigned) {
  const support::TempDir folder;
  const KeyFiles keys = make_keys(folder.file("key")).value();
  const std::string plain = folder.file("plain.fatctx");
  const std::string out = folder.file("out.fatctx");
  const Bytes before = support::unsealed_sample();
  for (const std::string& target : {out, plain}) {
    support::write_file(plain, before);
    bool written = false;
    const auto write = [&](std::uint64_t, std::uint64_t) {
      if (!written) std::ofstream(plain, std::ios::app | std::ios::binary) << "tail";
      written = true;
    };

    const auto made = sign_container(plain, keys.secret_path, target, {.progress = write});

    ASSERT_TRUE(written);
    ASSERT_TRUE(fails_with(made, ErrorCode::kChanged));
    EXPECT_NE(made.error().message.find(plain + ": it was written to while it was being signed"), std::string::npos)
        << made.error().message;
    EXPECT_FALSE(std::filesystem::exists(out));
    EXPECT_EQ(support::read_file(plain).size(), before.size() + 4);
  }
  support::write_file(plain, before);
  EXPECT_TRUE(is_ok(sign_container(plain, keys.secret_path, out)));
}

TEST(Sign, AFileThatIsReplacedMeanwhileIsLeftAlone) {
  const support::TempDir folder;
  const KeyFiles keys = make_keys(folder.file("key")).value();
  const std::string path = folder.file("plain.fatctx");
  support::write_file(path, support::unsealed_sample());
  const Bytes other = support::packed_bytes(support::mixed_records());
  bool replaced = false;
  const auto replace = [&](std::uint64_t, std::uint64_t) {
    if (replaced) return;
    support::write_file(folder.file("other"), other);
    std::filesystem::rename(folder.file("other"), path);
    replaced = true;
  };

  const auto made = sign_container(path, keys.secret_path, path, {.progress = replace});

  ASSERT_TRUE(replaced);
  ASSERT_TRUE(fails_with(made, ErrorCode::kChanged));
  EXPECT_TRUE(support::read_file(path) == other);
}

TEST(Sign, InPlaceTheFileKeepsItsMode) {
  const support::TempDir folder;
  const KeyFiles keys = make_keys(folder.file("key")).value();
  const std::string path = folder.file("plain.fatctx");
  support::write_file(path, support::unsealed_sample());
  const auto mode = std::filesystem::perms::owner_read | std::filesystem::perms::owner_write;
  std::filesystem::permissions(path, mode);

  ASSERT_TRUE(is_ok(sign_container(path, keys.secret_path, path)));

  EXPECT_EQ(std::filesystem::status(path).permissions(), mode);
}

// The record of the damaged leaf is named, and none of those beside it.
TEST(Sign, DamageIsOfTheRecordThatHasTheByte) {
  const support::TempDir folder;
  const KeyFiles keys = make_keys(folder.file("key")).value();
  const std::string path = folder.file("plain.fatctx");
  const Bytes whole =
      support::packed_bytes({support::plain_record(RecordType::kOpaque, "first", support::pattern(70'000, 1)),
                             support::plain_record(RecordType::kOpaque, "second", support::pattern(80'000, 2)),
                             support::plain_record(RecordType::kOpaque, "third", support::pattern(90'000, 3))});
  const Opened opened(whole);
  for (const char* name : {"first", "second", "third"}) {
    Bytes damaged = whole;
    damaged[static_cast<std::size_t>(opened.record(name).file_offset)] ^= std::byte{1};
    support::write_file(path, damaged);

    const auto made = sign_container(path, keys.secret_path, folder.file("out.fatctx"));

    ASSERT_FALSE(made.ok());
    EXPECT_EQ(made.error().code, ErrorCode::kChecksumMismatch);
    EXPECT_NE(made.error().message.find(std::string("\"") + name + "\""), std::string::npos) << made.error().message;
  }
}

TEST(Sign, TheReportSaysWhetherTheFileIsSealed) {
  const support::TempDir folder;
  const KeyFiles keys = make_keys(folder.file("key")).value();
  for (const bool sealed : {false, true}) {
    const std::string path = folder.file(sealed ? "sealed" : "plain");
    support::write_file(path, sealed ? support::sealed_sample() : support::unsealed_sample());
    const auto report = sign_container(path, keys.secret_path, path + ".signed");
    ASSERT_TRUE(is_ok(report));
    EXPECT_EQ(report.value().sealed, sealed);
  }
}

// Bytes that no record uses any more belong to none, and not to the record that uses those beside them.
TEST(Sign, DamageOfBytesThatNobodyUsesIsOfNoRecord) {
  const support::TempDir folder;
  const KeyFiles keys = make_keys(folder.file("key")).value();
  const Bytes old = support::pattern(3 * kLeafSize, 1);
  const Bytes middle(old.begin() + kLeafSize, old.begin() + 2 * kLeafSize);
  Bytes whole = support::packed_bytes({support::binary_record("old", "v73", old)});
  whole = support::append(std::move(whole), {support::binary_record("part", "v75", middle)}).bytes;
  AppendOptions options;
  options.replace = true;
  whole = support::append(std::move(whole), {support::binary_record("old", "v73", support::pattern(500, 2))}, options)
              .bytes;
  const std::uint64_t part = Opened(whole).record("part").file_offset;
  for (const std::uint64_t at : {part - 1, part + kLeafSize, part}) {
    Bytes damaged = whole;
    damaged[static_cast<std::size_t>(at)] ^= std::byte{1};
    support::write_file(folder.file("m"), damaged);

    const auto made = sign_container(folder.file("m"), keys.secret_path, folder.file("out"));

    ASSERT_TRUE(fails_with(made, ErrorCode::kChecksumMismatch, "F26"));
    EXPECT_EQ(made.error().where.record_id.has_value(), at == part) << to_text(made.error());
  }
}

TEST(Sign, ARequestToStopIsMetAtOnce) {
  const support::TempDir folder;
  const KeyFiles keys = make_keys(folder.file("key")).value();
  support::write_file(folder.file("m"), support::unsealed_sample());
  for (const int last : {1, 2, 5}) {
    std::atomic<bool> cancel = false;
    int calls = 0;
    const auto stop = [&](std::uint64_t, std::uint64_t) { cancel = ++calls == last; };

    const auto made =
        sign_container(folder.file("m"), keys.secret_path, folder.file("out"), {.progress = stop, .cancel = &cancel});

    EXPECT_TRUE(fails_with(made, ErrorCode::kCancelled));
    EXPECT_EQ(calls, last);
  }
}

TEST(Sign, ProgressEndsAtTheBytesThatWereAnnounced) {
  const support::TempDir folder;
  const KeyFiles keys = make_keys(folder.file("key")).value();
  const Bytes plain = support::unsealed_sample();
  support::write_file(folder.file("m"), plain);
  const Opened opened(plain);
  std::uint64_t expected = 0;
  for (const Segment& segment : opened.toc.toc.segments) expected += segment.holds_payload() ? segment.size : 0;
  for (const RecordInfo& record : opened.toc.toc.records) expected += record.size_bytes;
  std::uint64_t before = 0;
  const auto look = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_EQ(total, expected);
    EXPECT_GT(done, before);
    EXPECT_LE(done - before, kLeafSize);
    before = done;
  };

  ASSERT_TRUE(is_ok(sign_container(folder.file("m"), keys.secret_path, folder.file("out"), {.progress = look})));

  EXPECT_EQ(before, expected);
}

// The bytes are copied in units of 4 MiB, and the last one is short.
TEST(Sign, ALargeRecordIsCopiedAsItIs) {
  const support::TempDir folder;
  const KeyFiles keys = make_keys(folder.file("key")).value();
  const Bytes large = support::pattern((std::size_t{4} << 20) + kLeafSize + 9, 1);
  ASSERT_TRUE(is_ok(support::pack({support::binary_record("large", "v73", large)}, folder.file("m"))));

  ASSERT_TRUE(is_ok(sign_container(folder.file("m"), keys.secret_path, folder.file("out"))));

  const Opened opened(support::read_file(folder.file("out")));
  EXPECT_TRUE(opened.bytes_of("large").value() == large);
}

// Each generation has leaf hashes of its own. Those of the copy are in one place, one after another.
TEST(Sign, RecordsOfSeveralGenerationsComeOutWhole) {
  const support::TempDir folder;
  const KeyFiles keys = make_keys(folder.file("key")).value();
  const Bytes first = support::pattern(3 * kLeafSize + 5, 1);
  const Bytes second = support::pattern(2 * kLeafSize + 7, 2);
  Bytes plain = support::packed_bytes({support::binary_record("first", "v73", first)});
  plain = support::append(std::move(plain), {support::binary_record("second", "v75", second)}).bytes;
  support::write_file(folder.file("m"), plain);

  ASSERT_TRUE(is_ok(sign_container(folder.file("m"), keys.secret_path, folder.file("out"))));

  const Opened opened(support::read_file(folder.file("out")));
  EXPECT_EQ(opened.bytes_of("first").value(), first);
  EXPECT_EQ(opened.bytes_of("second").value(), second);
  EXPECT_TRUE(verify_container(opened.file, {}).value().findings.empty());
}

// Another writer may have promised more than the segment does, since the record happened to be at such a place.
TEST(Sign, ARecordPromisesNoMoreThanItsNewPlaceKeeps) {
  const support::TempDir folder;
  const KeyFiles keys = make_keys(folder.file("key")).value();
  Bytes plain = support::packed_bytes({support::binary_record("first", "v73", support::pattern(2 * kLeafSize, 1))});
  plain = support::append(std::move(plain), {support::binary_record("second", "v75", support::pattern(kLeafSize, 2))})
              .bytes;
  const Opened before(plain);
  const Toc& toc = before.toc.toc;
  const auto at = static_cast<unsigned>(std::countr_zero(before.record("second").file_offset));
  TocRows rows = rows_of(toc);
  rows.records[toc.index_of(before.record("second"))].entry.alignment_log2 = static_cast<std::uint8_t>(at);
  const Bytes table = toc_bytes(rows).value();
  const Header& header = before.toc.header;
  GenerationFacts facts;
  facts.generation = header.generation;
  facts.committed_end = header.committed_end;
  facts.toc_offset = header.toc_offset;
  facts.toc_size = header.toc_size;
  facts.toc_head_size = header.toc_head_size;
  facts.toc_hash = hash128(head_of(table));
  facts.previous_toc_hash = toc.generations.back().toc_hash;
  for (const std::uint64_t offset : header.toc_offset) {
    std::copy(table.begin(), table.end(), plain.begin() + static_cast<std::ptrdiff_t>(offset));
  }
  for (const std::size_t mirror : {0U, 2U}) {
    const auto index = static_cast<std::uint8_t>(header.pair + mirror);
    const HeaderSector sector = slot_sector(index, header.uuid, facts);
    std::copy(sector.begin(), sector.end(), plain.begin() + static_cast<std::ptrdiff_t>(header.form().slots[index]));
  }
  support::write_file(folder.file("m"), plain);
  ASSERT_EQ(Opened(plain).record("second").file_offset % (std::uint64_t{1} << at), 0U);

  ASSERT_TRUE(is_ok(sign_container(folder.file("m"), keys.secret_path, folder.file("out"))));

  const Opened after(support::read_file(folder.file("out")));
  const std::uint64_t place = after.record("second").file_offset;
  ASSERT_NE(place % (std::uint64_t{1} << at), 0U) << "the test needs a place with less";
  const std::size_t row = after.toc.toc.index_of(after.record("second"));
  EXPECT_EQ(StoredRows(after.toc.toc).record(row).alignment_log2, std::countr_zero(place));
}

// Editors on Windows end a line so.
TEST(Sign, KeysMayEndInACarriageReturn) {
  const support::TempDir folder;
  const KeyFiles keys = make_keys(folder.file("key")).value();
  for (const std::string& path : {keys.secret_path, keys.public_path}) {
    Bytes text = support::read_file(path);
    text.back() = std::byte{'\r'};
    text.push_back(std::byte{'\n'});
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(text.data()), static_cast<std::streamsize>(text.size()));
  }
  support::write_file(folder.file("m"), support::unsealed_sample());

  const auto read = read_public_key(keys.public_path);
  ASSERT_TRUE(is_ok(read));
  EXPECT_EQ(read.value(), keys.public_key);
  const auto made = sign_container(folder.file("m"), keys.secret_path, folder.file("out"));
  ASSERT_TRUE(is_ok(made));
  EXPECT_EQ(made.value().key_id, keys.public_key.id());
}

}  // namespace sign_test
}  // namespace fatctx::container
