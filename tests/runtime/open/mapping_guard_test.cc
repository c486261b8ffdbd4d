// A file that is cut under a live mapping: the effect of the guard, up to the end of a session.
#include "fatctx/mapping_guard.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "fatctx/extract.h"
#include "fatctx/model.h"
#include "fatctx/range_access.h"
#include "runtime/large_model.h"
#include "support/opened.h"

namespace fatctx {
namespace mapping_guard_test {

using testing::Folder;

class GuardedModel : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(install_mapping_guard().ok());
    EXPECT_TRUE(mapping_guard_installed());
    path_ = folder_ / "large.fatctx";
    testing::pack_large_model(path_);
    std::ifstream file(path_, std::ios::binary);
    whole_.assign(std::istreambuf_iterator<char>(file), {});
    options_.device = testing::cpu("x86-64-v3");
    options_.open = testing::unverified();
  }
  void cut_to(std::uint64_t size) const { ASSERT_EQ(::truncate(path_.c_str(), static_cast<off_t>(size)), 0); }
  // Writes the same bytes in place, as a careless updater does.
  void write_again() const { std::ofstream(path_, std::ios::binary) << whole_; }
  // A consumer that does not check before it reads.
  static unsigned last_byte(const RecordView& view) {
    return *reinterpret_cast<const volatile unsigned char*>(view.data() + view.size_bytes() - 1);
  }

  Folder folder_;
  std::string path_;
  std::string whole_;
  ModelOptions options_;
};

TEST_F(GuardedModel, EverythingAskedOfALostMappingSaysSo) {
  const Model model = Model::open(path_, options_).value();
  Session session = model.begin_session().value();
  const Container& container = *model.container();
  const std::uint32_t weights = container.find("weights").value().id;
  const std::uint64_t before = lost_mappings();

  cut_to(128 * 1024);
  EXPECT_EQ(last_byte(session.weights().front().view), 0U) << "a zero in place of a signal";
  EXPECT_EQ(lost_mappings(), before + 1);

  const auto code = [](const auto& result) { return result.ok() ? ErrorCode{} : result.error().code; };
  EXPECT_EQ(code(container.check()), ErrorCode::kMappingLost);
  EXPECT_EQ(code(container.acquire(weights)), ErrorCode::kMappingLost);
  EXPECT_EQ(code(container.prefetch(weights)), ErrorCode::kMappingLost);
  EXPECT_EQ(code(container.release(weights)), ErrorCode::kMappingLost);
  EXPECT_EQ(code(container.lock(weights)), ErrorCode::kMappingLost);
  EXPECT_EQ(code(container.describe()), ErrorCode::kMappingLost);
  EXPECT_EQ(code(container.verify()), ErrorCode::kMappingLost);
  EXPECT_EQ(code(container.verify_record(weights)), ErrorCode::kMappingLost);
  EXPECT_EQ(code(stream_record(container, weights, [](ByteView) -> Status { return Done{}; })),
            ErrorCode::kMappingLost);
  EXPECT_EQ(code(model.begin_session()), ErrorCode::kMappingLost);
  EXPECT_EQ(code(session.end()), ErrorCode::kMappingLost);
  EXPECT_EQ(code(session.end()), ErrorCode::kMappingLost) << "sticky";
}

TEST_F(GuardedModel, AFileThatWasMadeWholeAgainStaysLostForThoseWhoSawZeros) {
  const Model model = Model::open(path_, options_).value();
  Session session = model.begin_session().value();
  cut_to(128 * 1024);
  EXPECT_EQ(last_byte(session.weights().front().view), 0U);
  write_again();

  const Container fresh = Container::open(path_).value();
  EXPECT_FALSE(support::report_of(fresh).already_live) << "nobody joins a mapping with zeros in it";
  const RecordView view = fresh.acquire("weights").value();
  EXPECT_TRUE(std::ranges::equal(view.bytes(), testing::large_pattern(testing::kLargeWeightsSize, 1)));

  const auto ended = session.end();
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().code, ErrorCode::kMappingLost);
  EXPECT_NE(ended.error().message.find(path_), std::string::npos);
  EXPECT_NE(ended.error().message.find("open the file again"), std::string::npos);
  EXPECT_TRUE(model.container()->reopen().ok());
}

TEST_F(GuardedModel, ACutThatNobodyReadIsAChange) {
  const Model model = Model::open(path_, options_).value();
  Session session = model.begin_session().value();
  EXPECT_TRUE(model.container()->check().ok());
  cut_to(128 * 1024);
  const std::uint64_t before = lost_mappings();

  EXPECT_EQ(model.container()->check().error().code, ErrorCode::kChanged);
  EXPECT_EQ(session.end().error().code, ErrorCode::kChanged);
  EXPECT_EQ(lost_mappings(), before) << "asking reads nothing through the mapping";
}

TEST_F(GuardedModel, ASessionOfAGoodFileEndsWell) {
  Session session = Model::open(path_, options_).value().begin_session().value();
  const RecordView kept = session.weights().front().view;

  EXPECT_TRUE(session.end().ok());
  EXPECT_TRUE(session.weights().empty());
  EXPECT_FALSE(session.binary().ok());
  EXPECT_NE(last_byte(kept) + 1, 0U) << "a view that the caller copied is his";
}

TEST_F(GuardedModel, ARenameUnderASessionEndsWell) {
  Session session = Model::open(path_, options_).value().begin_session().value();
  testing::pack_small_model(folder_ / "new.fatctx");
  ASSERT_EQ(::rename((folder_ / "new.fatctx").c_str(), path_.c_str()), 0);

  EXPECT_TRUE(session.end().ok()) << "old bytes stay whole behind the new name";
}

TEST_F(GuardedModel, CopiesDoNotCareWhatBecomesOfTheFile) {
  options_.open.file_mapping = FileMapping::kDisabled;
  const Model model = Model::open(path_, options_).value();
  Session session = model.begin_session().value();
  const RecordView weights = session.weights().front().view;
  cut_to(0);

  EXPECT_TRUE(std::ranges::equal(weights.bytes(), testing::large_pattern(testing::kLargeWeightsSize, 1)));
  EXPECT_TRUE(session.end().ok());
}

}  // namespace mapping_guard_test
}  // namespace fatctx
