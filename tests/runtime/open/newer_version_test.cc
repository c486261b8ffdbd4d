// Files of a newer version. Every version may read them. Behind a ro_compat bit only that version changes them; behind
// a compat bit an append may, and no copy leaves out the parts that this version does not know.
#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "fatctx/appender.h"
#include "fatctx/container.h"
#include "fatctx/keys.h"
#include "fatctx/repair.h"
#include "fatctx/rewrite.h"
#include "fatctx/signature.h"
#include "support/appended.h"
#include "support/large_form.h"
#include "support/newer_file.h"
#include "support/opened.h"
#include "support/result_matchers.h"

namespace fatctx::container {
namespace newer_version_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

class NewerVersion : public ::testing::Test {
 protected:
  void write_with_bits(std::uint64_t ro_compat, std::uint64_t compat) {
    support::write_file(ordinary_, support::unsealed_sample());
    support::HostileFile file(support::unsealed_sample());
    file.prologue.ro_compat_features = ro_compat;
    file.prologue.compat_features = compat;
    support::fill_reserved(file);
    file.at_last = [](Bytes& bytes) {
      bytes[kSlotOffsets[2] + 40] ^= std::byte{1};  // so that there is something to repair
    };
    before_ = file.bytes();
    support::write_file(path_, before_);
  }

  template <typename T>
  void expect_refused(const char* who, const Result<T>& result,
                      const char* words = "only it can change (bits 0x4): update the library") {
    EXPECT_TRUE(fails_with(result, ErrorCode::kUnsupported, "F3")) << who;
    if (result.ok()) return;
    EXPECT_NE(result.error().message.find(words), std::string::npos) << who << ": " << result.error().message;
    EXPECT_NE(result.error().message.find(path_), std::string::npos) << who << ": " << result.error().message;
    EXPECT_TRUE(support::read_file(path_) == before_) << who;
    EXPECT_FALSE(std::filesystem::exists(out_)) << who;
  }

  support::TempDir folder_;
  std::string path_ = folder_.file("newer.fatctx");
  std::string ordinary_ = folder_.file("ordinary.fatctx");
  std::string out_ = folder_.file("out.fatctx");
  Bytes before_;
};

TEST_F(NewerVersion, IsReadByEverybody) {
  write_with_bits(4, 0);
  const auto opened = Container::open(path_);
  ASSERT_TRUE(is_ok(opened));
  EXPECT_TRUE(is_ok(opened.value().acquire("weights")));
}

TEST_F(NewerVersion, IsChangedByNobodyElse) {
  write_with_bits(4, 0);
  const std::string key = make_keys(folder_.file("release")).value().secret_path;

  expect_refused("append", Appender::open(path_));
  expect_refused("repair", repair(path_));
  expect_refused("compact", rewrite_container(path_, path_));
  expect_refused("compact to a new file", rewrite_container(path_, out_));
  expect_refused("merge", merge_containers(std::vector<std::string>{ordinary_, path_}, out_));
  expect_refused("sign", sign_container(path_, key, path_));
  expect_refused("sign to a new file", sign_container(path_, key, out_));
}

TEST_F(NewerVersion, IsNotCopiedWithoutItsFields) {
  write_with_bits(0, 8);
  const std::string key = make_keys(folder_.file("release")).value().secret_path;
  constexpr const char* kWords = "(bits 0x8), which a new file by this version would lose: update the library";

  expect_refused("compact", rewrite_container(path_, path_), kWords);
  expect_refused("compact to a new file", rewrite_container(path_, out_), kWords);
  expect_refused("merge", merge_containers(std::vector<std::string>{ordinary_, path_}, out_), kWords);
  expect_refused("sign", sign_container(path_, key, path_), kWords);
  expect_refused("sign to a new file", sign_container(path_, key, out_), kWords);
}

TEST_F(NewerVersion, IsRepairedAndAppendedToWithFieldsThatWritersMayIgnore) {
  write_with_bits(0, 8);

  EXPECT_TRUE(is_ok(repair(path_)));
  auto appender = Appender::open(path_);
  ASSERT_TRUE(is_ok(appender));
  ASSERT_TRUE(is_ok(appender.value().add(support::binary_record("added", "v99x", support::pattern(500, 3)))));
  EXPECT_TRUE(is_ok(appender.value().commit()));

  const auto opened = Container::open(path_);
  ASSERT_TRUE(is_ok(opened));
  EXPECT_EQ(support::report_of(opened.value()).newer_features, "compat 0x8");
  EXPECT_TRUE(is_ok(opened.value().acquire("added")));
}

}  // namespace newer_version_test
}  // namespace fatctx::container
