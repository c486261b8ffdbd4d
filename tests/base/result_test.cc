#include "fatctx/base/result.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace fatctx {
namespace result_test {

Result<std::unique_ptr<int>> make_box(int value) {
  if (value < 0) return Error{ErrorCode::kInvalidArgument, "value is negative"};
  return std::make_unique<int>(value);
}

Result<int> twice(int value, int& reached) {
  FATCTX_ASSIGN(const std::unique_ptr<int> box, make_box(value));
  ++reached;
  return *box * 2;
}

Status check(int value, int& reached) {
  FATCTX_TRY(make_box(value));
  ++reached;
  return Done{};
}

TEST(Result, HoldsAValueThatOnlyMoves) {
  auto result = make_box(7);

  ASSERT_TRUE(result.ok());
  const std::unique_ptr<int> box = std::move(result).value();
  EXPECT_EQ(*box, 7);
}

TEST(Result, HoldsTheErrorWithItsContext) {
  const Result<int> result = Error{ErrorCode::kMalformed, "no", {.file_offset = 12, .rule = "F3"}};

  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().code, ErrorCode::kMalformed);
  EXPECT_EQ(result.error().where.file_offset, 12u);
  EXPECT_EQ(result.error().where.rule, "F3");
}

TEST(Result, ValueCanBeChangedInPlace) {
  Result<std::string> result = std::string("ab");

  result.value() += "c";

  EXPECT_EQ(result.value(), "abc");
}

TEST(Result, AssignGoesOnWithTheValueOrReturnsTheError) {
  int reached = 0;

  const auto good = twice(21, reached);
  EXPECT_EQ(reached, 1);
  const auto bad = twice(-1, reached);
  EXPECT_EQ(reached, 1);

  ASSERT_TRUE(good.ok());
  EXPECT_EQ(good.value(), 42);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().message, "value is negative");
}

TEST(Result, TryGoesOnOrReturnsTheError) {
  int reached = 0;

  EXPECT_TRUE(check(3, reached).ok());
  EXPECT_EQ(reached, 1);
  const Status bad = check(-3, reached);

  EXPECT_EQ(reached, 1);
  ASSERT_FALSE(bad.ok());
  EXPECT_EQ(bad.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace result_test
}  // namespace fatctx
