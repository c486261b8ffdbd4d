// Answers of servers, and which of them a fetch believes.
#include "tools/http/http_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/result_matchers.h"

namespace fatctx::tools {
namespace http_answer_test {

using support::fails_with;
using support::is_ok;
using ::testing::HasSubstr;

HttpAnswer answer_of(std::initializer_list<std::string_view> lines) {
  HttpAnswer answer;
  for (const std::string_view line : lines) answer.take_line(line);
  return answer;
}

TEST(HttpAnswer, HasTheHeadOfTheLastAnswer) {
  const HttpAnswer answer =
      answer_of({"HTTP/1.1 302 Found\r\n", "ETag: \"old\"\r\n", "\r\n", "HTTP/2 206\r\n",
                 "content-RANGE:  bytes 0-9/100 \r\n", "Last-Modified: yesterday\r\n", "no colon\r\n"});
  EXPECT_EQ(answer.status, 206);
  EXPECT_EQ(answer.content_range, "bytes 0-9/100");
  EXPECT_EQ(answer.etag, "");
  EXPECT_EQ(answer.last_modified, "yesterday");
}

TEST(HttpAnswer, RangesAreTakenOnlyAsTheStandardWritesThem) {
  const auto range = parse_content_range("bytes 10-19/100");
  ASSERT_TRUE(range);
  EXPECT_EQ(range->range, (ByteRange{10, 10}));
  EXPECT_EQ(range->total, 100U);
  for (const char* wrong : {"", "bytes", "bytes 10-9/100", "bytes 0-100/100", "bytes 0-9/*", "bytes */100",
                            "bytes 0-9/100x", "bytes -1-9/100", "octets 0-9/100", "bytes 0-99999999999999999999/1"}) {
    EXPECT_FALSE(parse_content_range(wrong)) << wrong;
  }
}

TEST(HttpAnswer, IsTheRangeOfTheFileThatWasAskedFirst) {
  const auto first =
      judge_answer(answer_of({"HTTP/1.1 206 x", "Content-Range: bytes 0-99/100", "ETag: \"a\""}), {0, 65'536}, nullptr);
  ASSERT_TRUE(is_ok(first));
  EXPECT_EQ(first.value().size, 100U);
  const FileVersion& known = first.value();
  const auto next = [&](std::initializer_list<std::string_view> lines) {
    return judge_answer(answer_of(lines), {10, 5}, &known);
  };
  EXPECT_TRUE(is_ok(next({"HTTP/1.1 206 x", "Content-Range: bytes 10-14/100", "ETag: \"a\""})));
  EXPECT_TRUE(
      fails_with(next({"HTTP/1.1 206 x", "Content-Range: bytes 10-14/101", "ETag: \"a\""}), ErrorCode::kChanged));
  EXPECT_TRUE(
      fails_with(next({"HTTP/1.1 206 x", "Content-Range: bytes 10-14/100", "ETag: \"b\""}), ErrorCode::kChanged));
  EXPECT_TRUE(fails_with(next({"HTTP/1.1 206 x", "Content-Range: bytes 11-15/100", "ETag: \"a\""}), ErrorCode::kIo));
  EXPECT_TRUE(fails_with(next({"HTTP/1.1 206 x", "ETag: \"a\""}), ErrorCode::kIo));
  EXPECT_TRUE(fails_with(next({"HTTP/1.1 200 OK"}), ErrorCode::kChanged));
  EXPECT_TRUE(fails_with(next({"HTTP/1.1 416 x"}), ErrorCode::kChanged));
  EXPECT_TRUE(
      fails_with(next({"HTTP/1.1 206 x", "Content-Range: bytes 10-14/100", "ETag: \"a\"", "Content-Encoding: gzip"}),
                 ErrorCode::kUnsupported));
}

TEST(HttpAnswer, SaysWhatToDoAboutARefusal) {
  const auto judged = [](std::string_view status) { return judge_answer(answer_of({status}), {0, 10}, nullptr); };
  EXPECT_THAT(judged("HTTP/1.1 403 no").error().message, HasSubstr("--auth-file"));
  EXPECT_TRUE(fails_with(judged("HTTP/1.1 404 no"), ErrorCode::kNotFound));
  EXPECT_TRUE(fails_with(judged("HTTP/1.1 200 OK"), ErrorCode::kUnsupported));
  EXPECT_TRUE(fails_with(judged("HTTP/1.1 500 no"), ErrorCode::kIo));
  EXPECT_TRUE(fails_with(judged("nonsense"), ErrorCode::kIo));
  for (const long status : {408L, 429L, 500L, 503L}) EXPECT_TRUE(may_recover(status)) << status;
  for (const long status : {0L, 200L, 404L, 600L}) EXPECT_FALSE(may_recover(status)) << status;
}

}  // namespace http_answer_test
}  // namespace fatctx::tools
