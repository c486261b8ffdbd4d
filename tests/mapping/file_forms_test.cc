// Parts of files and buffers, read like files.
#include <gtest/gtest.h>

#include <algorithm>

#include "mapping/buffer_file.h"
#include "mapping/mapped_region.h"
#include "mapping/windowed_file.h"
#include "support/memory_file.h"
#include "support/pattern.h"
#include "support/result_matchers.h"
#include "support/temp_dir.h"

namespace fatctx::mapping {
namespace file_forms_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

class WindowedFileTest : public testing::Test {
 protected:
  WindowedFileTest() : content_(support::pattern(10'000, 4)) {
    auto memory = std::make_unique<support::MemoryFile>(content_);
    memory_ = memory.get();
    part_ = std::make_unique<WindowedFile>(std::move(memory), 1000, 500);
  }

  Bytes content_;
  support::MemoryFile* memory_ = nullptr;
  std::unique_ptr<WindowedFile> part_;
};

TEST_F(WindowedFileTest, ReadsItsBytesAndNoneBesideThem) {
  Bytes read(500);
  ASSERT_TRUE(is_ok(part_->read_at(0, read)));
  EXPECT_TRUE(std::equal(read.begin(), read.end(), content_.begin() + 1000));

  Bytes too_many(501);
  EXPECT_TRUE(fails_with(part_->read_at(0, too_many), ErrorCode::kTruncated));
  EXPECT_TRUE(fails_with(part_->read_at(1, read), ErrorCode::kTruncated));
  EXPECT_TRUE(fails_with(part_->read_at(UINT64_MAX, read), ErrorCode::kTruncated)) << "the sum would wrap";
}

TEST_F(WindowedFileTest, ErrorsCountFromItsFirstByte) {
  memory_->fail(support::FileCall::kRead, 0, false);
  Bytes read(10);

  const auto status = part_->read_at(20, read);

  ASSERT_TRUE(fails_with(status, ErrorCode::kIo));
  EXPECT_EQ(status.error().where.file_offset, 20U);
}

TEST_F(WindowedFileTest, ItsIdentityHasItsPlaceAndWhatIsLeftOfItsSize) {
  EXPECT_EQ(part_->identity().value().size, 500U);
  EXPECT_EQ(part_->identity().value().base, 1000U);
  memory_->show_only(1200);
  EXPECT_EQ(part_->identity().value().size, 200U);
  memory_->show_only(900);
  EXPECT_EQ(part_->identity().value().size, 0U);

  FileIdentity file;
  file.size = 3000;
  EXPECT_EQ(window_identity(file, 1000, 0).size, 2000U) << "to the end";
  EXPECT_NE(window_identity(file, 1000, 500), window_identity(file, 1500, 500));
}

TEST_F(WindowedFileTest, IsNotWritten) {
  EXPECT_TRUE(fails_with(part_->write_at(0, content_), ErrorCode::kInternal));
  EXPECT_TRUE(fails_with(part_->allocate(1), ErrorCode::kInternal));
  EXPECT_TRUE(fails_with(part_->sync(), ErrorCode::kInternal));
  EXPECT_EQ(memory_->calls(support::FileCall::kWrite), 0U);
}

TEST(BufferFile, ReadsAndMapsTheBytesThemselves) {
  const Bytes content = support::pattern(1000, 5);
  const BufferFile file(content, nullptr);

  Bytes read(100);
  ASSERT_TRUE(is_ok(file.read_at(900, read)));
  EXPECT_TRUE(std::equal(read.begin(), read.end(), content.begin() + 900));
  EXPECT_TRUE(fails_with(file.read_at(901, read), ErrorCode::kTruncated));
  EXPECT_EQ(file.identity().value().size, 1000U);
  EXPECT_TRUE(file.identity().value().regular);
  const auto region = map_file(file, 700);
  ASSERT_TRUE(is_ok(region));
  EXPECT_EQ(region.value()->bytes().data(), content.data());
  EXPECT_EQ(region.value()->bytes().size(), 700U);
  EXPECT_TRUE(fails_with(map_file(file, 1001), ErrorCode::kTruncated));
}

TEST(BufferFile, IsNotWritten) {
  const Bytes content = support::pattern(1000, 5);
  BufferFile file(content, nullptr);

  EXPECT_TRUE(fails_with(file.write_at(0, content), ErrorCode::kInternal));
  EXPECT_TRUE(fails_with(file.allocate(1), ErrorCode::kInternal));
  EXPECT_TRUE(fails_with(file.sync(), ErrorCode::kInternal));
}

}  // namespace file_forms_test
}  // namespace fatctx::mapping
