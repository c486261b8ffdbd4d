// The reports of the writers agree with the file, and every writer keeps every word of a key.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "container/format/hash.h"
#include "container/read/opened_file.h"
#include "container/write/every_word.h"
#include "container/write/header_build.h"
#include "fatctx/appender.h"
#include "fatctx/repair.h"
#include "fatctx/rewrite.h"
#include "fatctx/signature.h"
#include "support/chip_corpus.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::container {
namespace reports_test {

using support::Bytes;
using support::is_ok;

// Compares a report of pack, append, rewrite, sign or repair with the file at `path`.
template <typename Report>
void expect_of(const Report& report, const std::string& path) {
  const Opened opened(support::read_file(path));
  EXPECT_EQ(report.path, path);
  EXPECT_EQ(report.uuid, uuid_text(opened.toc.header.uuid));
  if constexpr (requires { report.generation; }) {
    EXPECT_EQ(report.generation, opened.toc.header.generation);
  }
  if constexpr (requires { report.file_size; }) {
    EXPECT_EQ(report.file_size, std::filesystem::file_size(path));
  }
  if constexpr (requires { report.sealed; }) {
    EXPECT_EQ(report.sealed, opened.toc.header.sealed);
  }
  if constexpr (requires { report.record_count; }) {
    EXPECT_EQ(report.record_count, opened.toc.toc.records.size());
    EXPECT_EQ(report.records.size(), opened.toc.toc.records.size());
  }
  if constexpr (requires { report.records; }) {
    for (const PackedRecordReport& record : report.records) {
      const RecordInfo& there = opened.record(record.name);
      EXPECT_EQ(record.id, there.id) << record.name;
      EXPECT_EQ(record.size_bytes, there.size_bytes) << record.name;
      EXPECT_EQ(record.recipe_steps != 0, there.recipe) << record.name;
      if (there.recipe) {
        EXPECT_EQ(record.pieces, 0U) << record.name;
        EXPECT_GT(record.recipe_bytes, 0U) << record.name;
        EXPECT_LE(record.recipe_bytes, record.stored_bytes) << record.name;
        EXPECT_LE(record.mappable_bytes, record.size_bytes) << record.name;
        EXPECT_EQ(record.shared_bytes, record.size_bytes - record.stored_bytes) << record.name;
      } else {
        EXPECT_EQ(record.pieces, there.slice_count) << record.name;
        EXPECT_EQ(record.recipe_bytes, 0U) << record.name;
      }
    }
  }
}

// The third record has the pages of the first behind two of its own; the second has half of its bytes between pages.
std::vector<PackRecord> sharing_records() {
  const Bytes a = support::pattern(200'000, 31);
  Bytes moved = support::pattern(8'192 + 41, 32);
  moved.insert(moved.end(), a.begin(), a.begin() + 100'000);
  Bytes paged = support::pattern(8'192, 33);
  paged.insert(paged.end(), a.begin(), a.end());
  std::vector<PackRecord> records = {support::binary_record("one", "v73", a),
                                     support::binary_record("two", "v75", moved),
                                     support::binary_record("three", "v79", paged)};
  records.push_back(support::plain_record(RecordType::kOpaque, "same", support::pattern(90'000, 5)));
  records.push_back(support::plain_record(RecordType::kOpaque, "the same", support::pattern(90'000, 5)));
  records[0].description.options = {{"cache", "/var/cache", "tool"}};
  return records;
}

TEST(Reports, SayWhatTheFileSays) {
  const support::TempDir folder;
  const KeyFiles keys = make_keys(folder.file("key")).value();
  std::string path = folder.file("m.fatctx");
  for (const Sharing sharing : {Sharing::kBytes, Sharing::kPages, Sharing::kOff}) {
    for (const bool seal : {false, true}) {
      PackOptions options;
      options.sharing = sharing;
      options.seal = seal;
      options.overwrite = true;
      options.options = {{"folder", "/opt/model", "tool"}};
      const auto packed = support::pack(sharing_records(), path, options);
      ASSERT_TRUE(is_ok(packed));
      expect_of(packed.value(), path);
      EXPECT_EQ(packed.value().shared_records, 1U);
      std::uint64_t mappable = 0;
      for (const PackedRecordReport& record : packed.value().records) mappable += record.mappable_bytes;
      EXPECT_EQ(mappable != 0, sharing == Sharing::kBytes) << "pages of the third record are those of the first";
      EXPECT_EQ(packed.value().warnings.size(), 2U) << "a path of a record and one of the container";

      const auto rewritten = rewrite_container(path, folder.file("rewritten"), {.overwrite = true});
      ASSERT_TRUE(is_ok(rewritten));
      expect_of(rewritten.value().pack, folder.file("rewritten"));
      EXPECT_EQ(rewritten.value().generation, 2U);

      const auto merged = merge_containers(std::vector<std::string>{path}, folder.file("merged"), {.overwrite = true});
      if (merged.ok()) {
        expect_of(merged.value().pack, folder.file("merged"));
        EXPECT_EQ(merged.value().generation, 1U);
      }
      const auto is_signed = sign_container(path, keys.secret_path, folder.file("signed"), {.overwrite = true});
      ASSERT_TRUE(is_ok(is_signed));
      expect_of(is_signed.value(), folder.file("signed"));
      EXPECT_EQ(is_signed.value().key_id, keys.public_key.id());

      const auto repaired = repair(path, {.dry_run = true});
      ASSERT_TRUE(is_ok(repaired));
      expect_of(repaired.value(), path);
    }
  }
  path = folder.file("unsealed");
  support::write_file(path, support::unsealed_sample());
  Appender appender = Appender::open(path).value();
  PackRecord record = support::plain_record(RecordType::kOpaque, "more", support::pattern(300, 1));
  record.description.options = {{"cache", "/var/cache", "tool"}};
  ASSERT_TRUE(is_ok(appender.add(std::move(record))));
  const auto appended = appender.commit();
  ASSERT_TRUE(is_ok(appended));
  expect_of(appended.value(), path);
  EXPECT_EQ(appended.value().warnings.size(), 1U);
}

TEST(Reports, SayWhyBytesWereNotShared) {
  const support::TempDir folder;
  const support::ChipCorpus corpus = support::make_chip_corpus(1, {.tensors = 4});
  PackOptions options;
  options.explain_sharing = true;
  const auto packed = support::pack(
      {support::binary_record("first", "v73", corpus.chips[0]),
       support::binary_record("shifted", "v75", corpus.chips[2]),
       support::binary_record("twin", "v79", corpus.chips[2]), support::binary_record("tiles", "v81", corpus.chips[3])},
      folder.file("m.fatctx"), options);
  ASSERT_TRUE(is_ok(packed));
  const auto of = [&](const std::string& name) {
    for (const PackedRecordReport& record : packed.value().records) {
      if (record.name == name) return record;
    }
    return PackedRecordReport{};
  };
  constexpr std::uint64_t kTensors = std::uint64_t{4} * 128 * 1024;
  EXPECT_EQ(of("twin").stored_bytes, 0U);
  EXPECT_EQ(of("twin").shifted_bytes, 0U);
  EXPECT_EQ(of("twin").reordered_bytes, 0U);
  const std::uint64_t shifted = of("first").shifted_bytes + of("shifted").shifted_bytes;
  EXPECT_GT(shifted, kTensors / 2) << "the tensors of one of them, except for some in the same place";
  EXPECT_LE(shifted, kTensors + 2 * 20'480);
  EXPECT_GT(of("tiles").reordered_bytes, kTensors / 2);
  for (const PackedRecordReport& record : packed.value().records) {
    EXPECT_LE(record.shifted_bytes + record.reordered_bytes, record.stored_bytes) << record.name;
    EXPECT_EQ(record.sharing_order == 0, record.name == "description") << record.name;
  }
  EXPECT_EQ(of("twin").sharing_order, of("shifted").sharing_order);
  EXPECT_NE(of("first").sharing_order, of("shifted").sharing_order);
}

TEST(Reports, EveryWordOfAKeyStaysWhoeverWritesTheFile) {
  const support::TempDir folder;
  const KeyFiles keys = make_keys(folder.file("key")).value();
  const std::string packed = folder.file("packed");
  PackRecord record = support::binary_record("binary", "v75", support::pattern(5'000, 3));
  record.key = every_word_of_a_key();
  ASSERT_TRUE(is_ok(support::pack({std::move(record)}, packed)));
  ASSERT_TRUE(is_ok(rewrite_container(packed, folder.file("rewritten"))));
  ASSERT_TRUE(is_ok(sign_container(packed, keys.secret_path, folder.file("signed"))));
  std::filesystem::copy_file(packed, folder.file("appended"));
  Appender appender = Appender::open(folder.file("appended")).value();
  ASSERT_TRUE(is_ok(appender.add(support::plain_record(RecordType::kOpaque, "more", {}))));
  ASSERT_TRUE(is_ok(appender.commit()));
  for (const char* file : {"packed", "rewritten", "signed", "appended"}) {
    const Opened opened(support::read_file(folder.file(file)));
    const SelectionKey& key = opened.record("binary").key;
    EXPECT_EQ(key.group, "group") << file;
    EXPECT_EQ(key.unit, "unit") << file;
    EXPECT_EQ(key.backend, "htp") << file;
    EXPECT_EQ(key.qnn_soc, 57U) << file;
    EXPECT_EQ(key.part, "SM8650") << file;
    EXPECT_EQ(key.arch, "v75") << file;
    EXPECT_EQ(key.features, "dual,fp16") << file;
    EXPECT_EQ(key.vtcm_mb, 8U) << file;
    EXPECT_EQ(key.sdk, (Version{2, 31, 5, 250'130})) << file;
    EXPECT_EQ(key.variant, "variant") << file;
    EXPECT_EQ(key.api, (Version{2, 7, 1, 4})) << file;
    EXPECT_EQ(key.blob, (Version{3, 2, 9, 6})) << file;
    EXPECT_TRUE(key.generic) << file;
  }
}

TEST(Keys, TakeDigitsOfBothCasesAndSayWhichKeyIsWanted) {
  const std::string digits = "0123456789abcdefABCDEF0099aaffAAFF00112233445566778899aabbccddeeff";
  const std::string hex = digits.substr(0, 64);
  const auto key = parse_public_key("fatctx-public-key-v1 " + hex + "\r\n");
  ASSERT_TRUE(is_ok(key));
  std::string lower = hex;
  for (char& c : lower) c = static_cast<char>(c >= 'A' && c <= 'F' ? c - 'A' + 'a' : c);
  EXPECT_EQ(to_text(key.value()), "fatctx-public-key-v1 " + lower);
  for (const char other : {'/', ':', '@', 'G', '`', 'g'}) {
    std::string wrong = hex;
    wrong[7] = other;
    EXPECT_FALSE(parse_public_key("fatctx-public-key-v1 " + wrong).ok()) << other;
  }
  const auto secret = parse_public_key("fatctx-secret-key-v1 " + hex);
  ASSERT_FALSE(secret.ok());
  EXPECT_EQ(secret.error().message, "this is a secret key; the public one is required");

  const support::TempDir folder;
  const KeyFiles keys = make_keys(folder.file("key")).value();
  const std::string path = folder.file("m.fatctx");
  support::write_file(path, support::unsealed_sample());
  std::filesystem::permissions(keys.public_path,
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  const auto made = sign_container(path, keys.public_path, folder.file("out"));
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.error().message.find("this is a public key; the secret one is required"), std::string::npos)
      << made.error().message;
}

}  // namespace reports_test
}  // namespace fatctx::container
