// The source of a signed copy stays unchanged while the copy is made.
#include "fatctx/signature.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "container/read/opened_file.h"
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

}  // namespace sign_test
}  // namespace fatctx::container
