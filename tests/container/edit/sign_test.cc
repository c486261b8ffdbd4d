// The source of a signed copy stays unchanged while the copy is made.
#include "fatctx/signature.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <string>

#include "container/read/opened_file.h"
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
