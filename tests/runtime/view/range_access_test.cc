#include "fatctx/range_access.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "fatctx/container.h"
#include "runtime/small_model.h"
#include "support/result_matchers.h"

namespace fatctx {
namespace range_access_test {

using support::fails_with;
using support::is_ok;
using testing::Folder;

class RangeAccessTest : public ::testing::Test {
 protected:
  RangeAccessTest() : path_(folder_ / "m.fatctx") { testing::pack_small_model(path_); }

  [[nodiscard]] RecordView weights() const { return Container::open(path_).value().acquire("weights").value(); }

  Folder folder_;
  std::string path_;
};

TEST_F(RangeAccessTest, ARangeIsThePartOfTheViewAndItsWholePages) {
  const RecordView view = weights();
  const RangeAccess access(view);

  const ProvidedRange range = access.provide(5000, 100).value();

  EXPECT_EQ(range.data, view.data() + 5000);
  EXPECT_EQ(range.size_bytes, 100U);
  EXPECT_EQ(range.aligned.data(), view.data() + 4096);
  EXPECT_EQ(range.aligned.size(), 4096U);
  EXPECT_EQ(range.data_start, 904U);
  const ProvidedRange last = access.provide(access.size_bytes() - 1, 1).value();
  EXPECT_EQ(last.aligned.data() + last.aligned.size(), view.data() + view.size_bytes()) << "no byte behind the record";
}

TEST_F(RangeAccessTest, RangesThatCannotBeAreRefused) {
  const RangeAccess access(weights());
  const std::uint64_t size = access.size_bytes();
  const std::pair<std::uint64_t, std::uint64_t> rows[] = {
      {0, 0}, {0, size + 1}, {size, 1}, {size - 1, 2}, {UINT64_MAX, 2}, {1, UINT64_MAX}, {UINT64_MAX, UINT64_MAX}};
  for (const auto& [offset, bytes] : rows) {
    const auto range = access.provide(offset, bytes);
    ASSERT_FALSE(range.ok()) << offset << " " << bytes;
    EXPECT_EQ(range.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_EQ(access.outstanding(), 0U);
}

TEST_F(RangeAccessTest, RegisterAndReleaseComeInPairs) {
  int registered = 0;
  int released = 0;
  {
    const RangeAccess access(weights(), {.provided = [&](ByteView) -> Status {
                                           ++registered;
                                           return Done{};
                                         },
                                         .released = [&](ByteView) { ++released; }});
    const ProvidedRange first = access.provide(0, 10).value();
    const ProvidedRange second = access.provide(0, 10).value();
    EXPECT_NE(first.id, second.id);
    EXPECT_EQ(access.outstanding(), 2U);

    EXPECT_TRUE(access.release(first.id).ok());
    EXPECT_TRUE(fails_with(access.release(first.id), ErrorCode::kStaleHandle));
    EXPECT_EQ(released, 1);
    EXPECT_EQ(access.outstanding(), 1U);
  }
  EXPECT_EQ(registered, 2);
  EXPECT_EQ(released, 2) << "what was not given back is undone with the last owner";
}

TEST_F(RangeAccessTest, AStaleIdIsToldFromOneThatNeverWas) {
  const RangeAccess access(weights());
  const std::uint64_t first = access.provide(0, 10).value().id;
  const std::uint64_t last = access.provide(0, 10).value().id;
  for (const std::uint64_t id : {first, last}) ASSERT_TRUE(is_ok(access.release(id)));

  const std::pair<std::uint64_t, const char*> rows[] = {{first, "released already"},
                                                        {last, "released already"},
                                                        {0, "never provided"},
                                                        {last + 1, "never provided"},
                                                        {UINT64_MAX, "never provided"}};
  for (const auto& [id, what] : rows) {
    const auto stale = access.release(id);
    ASSERT_TRUE(fails_with(stale, ErrorCode::kStaleHandle)) << id;
    EXPECT_EQ(stale.error().message, "range " + std::to_string(id) + " was " + what);
  }
}

TEST_F(RangeAccessTest, ADeviceReleasesTheBytesThatItRegistered) {
  std::vector<ByteView> registered;
  std::vector<ByteView> released;
  const RangeAccess access(weights(), {.provided = [&](ByteView bytes) -> Status {
                                         registered.push_back(bytes);
                                         return Done{};
                                       },
                                       .released = [&](ByteView bytes) { released.push_back(bytes); }});
  const std::uint64_t id = access.provide(5000, 10).value().id;
  ASSERT_TRUE(is_ok(access.release(id)));
  ASSERT_EQ(registered.size(), 1U);
  ASSERT_EQ(released.size(), 1U);
  EXPECT_EQ(released[0].data(), registered[0].data());
  EXPECT_EQ(released[0].size(), registered[0].size());
}

// Shows S5.15.
TEST_F(RangeAccessTest, AFailedRegistrationProvidesNothing) {
  int released = 0;
  const RangeAccess access(weights(), {.provided = [](ByteView) -> Status {
                                         return Error{ErrorCode::kNoResource, "the device is full"};
                                       },
                                       .released = [&](ByteView) { ++released; }});

  EXPECT_EQ(access.provide(0, 10).error().code, ErrorCode::kNoResource);
  EXPECT_EQ(access.outstanding(), 0U);
  EXPECT_EQ(released, 0);
}

// Shows S5.18.
TEST_F(RangeAccessTest, TheMappingLivesAsLongAsTheLastAccess) {
  std::optional<RangeAccess> access(weights());
  const ProvidedRange range = access->provide(0, 10).value();
  EXPECT_EQ(testing::mappings_of(path_), 1);
  std::optional<RangeAccess> copy(*access);
  access.reset();

  EXPECT_EQ(testing::mappings_of(path_), 1);
  EXPECT_EQ(*range.data, testing::pattern(1, 1)[0]);
  copy.reset();
  EXPECT_EQ(testing::mappings_of(path_), 0);
}

}  // namespace range_access_test
}  // namespace fatctx
