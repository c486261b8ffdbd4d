// Assertions on Result that print the error that they received.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "fatctx/base/result.h"

namespace fatctx::support {

// EXPECT_TRUE(is_ok(result))
template <typename T>
[[nodiscard]] ::testing::AssertionResult is_ok(const Result<T>& result) {
  if (result.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "the error is: " << to_text(result.error());
}

// EXPECT_TRUE(is_error(error, ErrorCode::kMalformed, "F16")); an empty rule is compared, too.
[[nodiscard]] inline ::testing::AssertionResult is_error(const Error& error, ErrorCode code, std::string_view rule) {
  if (error.code == code && error.where.rule == rule) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << "expected " << error_code_name(code) << " "
                                       << (rule.empty() ? std::string_view("without a rule") : rule) << ", not \""
                                       << to_text(error) << "\"";
}

// EXPECT_TRUE(fails_with(result, ErrorCode::kExists))
template <typename T>
[[nodiscard]] ::testing::AssertionResult fails_with(const Result<T>& result, ErrorCode code,
                                                    std::string_view rule = "") {
  if (result.ok()) {
    return ::testing::AssertionFailure() << "expected " << error_code_name(code) << " " << rule << ", but it succeeded";
  }
  return is_error(result.error(), code, rule);
}

}  // namespace fatctx::support
