// A file of a newer version that every version may read, but only that one may change. No operation changes it, or
// rewrites it without the parts that this version does not know.
#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>

#include "container/format/hash.h"
#include "fatctx/appender.h"
#include "fatctx/container.h"
#include "fatctx/keys.h"
#include "fatctx/repair.h"
#include "fatctx/rewrite.h"
#include "fatctx/signature.h"
#include "support/appended.h"
#include "support/result_matchers.h"

namespace fatctx::container {
namespace newer_version_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

class NewerVersion : public ::testing::Test {
 protected:
  NewerVersion() {
    Bytes bytes = support::unsealed_sample();
    support::write_file(ordinary_, bytes);
    for (const std::uint64_t offset : kPrologueOffsets) {
      Prologue prologue;
      std::memcpy(&prologue, bytes.data() + offset, sizeof prologue);
      prologue.ro_compat_features = 4;
      const ByteView page(reinterpret_cast<const std::byte*>(&prologue), offsetof(Prologue, page_hash));
      prologue.page_hash = hash128(page).bytes;
      std::memcpy(bytes.data() + offset, &prologue, sizeof prologue);
    }
    bytes[kSlotOffsets[2] + 40] ^= std::byte{1};  // so that there is something to repair
    support::write_file(path_, bytes);
    before_ = std::move(bytes);
  }

  template <typename T>
  void expect_refused(const char* who, const Result<T>& result) {
    EXPECT_TRUE(fails_with(result, ErrorCode::kUnsupported, "F3")) << who;
    if (result.ok()) return;
    EXPECT_NE(result.error().message.find("only it can change (bits 0x4): update the library"), std::string::npos)
        << who << ": " << result.error().message;
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
  const auto opened = Container::open(path_);
  ASSERT_TRUE(is_ok(opened));
  EXPECT_TRUE(is_ok(opened.value().acquire("weights")));
}

TEST_F(NewerVersion, IsChangedByNobodyElse) {
  const std::string key = make_keys(folder_.file("release")).value().secret_path;

  expect_refused("append", Appender::open(path_));
  expect_refused("repair", repair(path_));
  expect_refused("compact", rewrite_container(path_, path_));
  expect_refused("compact to a new file", rewrite_container(path_, out_));
  expect_refused("merge", merge_containers(std::vector<std::string>{ordinary_, path_}, out_));
  expect_refused("sign", sign_container(path_, key, path_));
  expect_refused("sign to a new file", sign_container(path_, key, out_));
}

}  // namespace newer_version_test
}  // namespace fatctx::container
