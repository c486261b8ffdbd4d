// Answers to requests for several ranges: good ones in every cut, and what a reader refuses.
#include "tools/http/multipart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "support/result_matchers.h"
#include "tools/http/http_answer.h"

namespace fatctx::tools {
namespace multipart_test {

using support::fails_with;
using support::is_ok;
using ::testing::HasSubstr;

constexpr std::uint64_t kFileSize = 1000;

// The byte of the file at a place: neighbours differ, and some look like ends of lines and dashes.
char byte_at(std::uint64_t at) {
  constexpr std::string_view kBytes = "\r\n--xM\n-b\0";
  return kBytes[at % kBytes.size()];
}

std::string file_bytes(ByteRange range) {
  std::string bytes;
  for (std::uint64_t i = 0; i < range.size; ++i) bytes += byte_at(range.offset + i);
  return bytes;
}

std::string part(ByteRange range, std::string_view more = "") {
  return fmt::format("\r\n--b\r\nContent-Type: a/b\r\n{}Content-Range: bytes {}-{}/{}\r\n\r\n{}", more, range.offset,
                     range.offset + range.size - 1, kFileSize, file_bytes(range));
}
const std::string kLast = "\r\n--b--\r\n";

struct Took {
  std::vector<bool> bytes = std::vector<bool>(kFileSize);
  Status status = Done{};
  std::vector<ByteRange> missing;
};

// Feeds a body, first `cut` bytes and then pieces of `piece`.
Took read(std::string_view body, const std::vector<ByteRange>& asked, std::size_t cut, std::size_t piece) {
  Took took;
  const TakeBytes take = [&](std::uint64_t offset, ByteView bytes) -> Status {
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      EXPECT_EQ(std::to_integer<char>(bytes[i]), byte_at(offset + i)) << offset + i;
      EXPECT_FALSE(took.bytes[offset + i]) << offset + i;
      took.bytes[offset + i] = true;
    }
    return Done{};
  };
  MultipartReader reader("b", asked, kFileSize);
  std::size_t size = cut;
  while (!body.empty() && took.status.ok()) {
    const std::string_view now = body.substr(0, size);
    took.status = reader.feed(std::as_bytes(std::span(now)), take);
    body.remove_prefix(now.size());
    size = piece;
  }
  if (took.status.ok()) took.status = reader.finish();
  took.missing = reader.missing();
  return took;
}

// Reads a body in every cut of two pieces, and from each cut on byte by byte. Returns the result, which must be the
// same for all.
Took read_in_every_cut(const std::string& body, const std::vector<ByteRange>& asked) {
  const Took whole = read(body, asked, body.size(), body.size());
  const std::size_t step = body.size() / 1000 + 1;  // long bodies are of one line again and again
  for (std::size_t cut = 1; cut <= body.size(); cut += step) {
    for (const std::size_t piece : {body.size(), body.size() / 400 + 1}) {
      const Took took = read(body, asked, cut, piece);
      EXPECT_EQ(took.bytes, whole.bytes) << cut;
      EXPECT_EQ(took.missing, whole.missing) << cut;
      EXPECT_EQ(took.status.ok(), whole.status.ok()) << cut;
      if (!took.status.ok() && !whole.status.ok()) {
        EXPECT_EQ(took.status.error().message, whole.status.error().message) << cut;
      }
    }
  }
  return whole;
}

const std::vector<ByteRange> kAsked = {{10, 20}, {100, 5}, {990, 10}};

std::uint64_t bytes_of(const Took& took) {
  return static_cast<std::uint64_t>(std::count(took.bytes.begin(), took.bytes.end(), true));
}

TEST(Multipart, BringsItsPartsInEveryCut) {
  const std::string parts[] = {part(kAsked[0]), part(kAsked[1], "ETag: \"1\"\r\nX: y:z\r\n"), part(kAsked[2])};
  for (const std::string& body : {parts[0] + parts[1] + parts[2] + kLast, parts[2] + parts[0] + parts[1] + kLast,
                                  (parts[0] + parts[1] + parts[2]).substr(2) + "\r\n--b--",
                                  "a preamble\r\n--bb\r\n" + parts[1] + parts[0] + parts[2] + kLast + "epilogue"}) {
    const Took took = read_in_every_cut(body, kAsked);
    EXPECT_TRUE(is_ok(took.status)) << body;
    EXPECT_EQ(bytes_of(took), 35U);
    EXPECT_TRUE(took.missing.empty());
  }
}

TEST(Multipart, PartsMayBeJoinedDividedOrLeftOut) {
  const Took joined = read_in_every_cut(part({10, 95}) + part({990, 10}) + kLast, kAsked);
  EXPECT_TRUE(is_ok(joined.status));
  EXPECT_EQ(bytes_of(joined), 35U);  // not those in between
  const Took divided = read_in_every_cut(
      part({15, 15}) + part({990, 1}) + part({10, 5}) + part({991, 9}) + part({100, 5}) + kLast, kAsked);
  EXPECT_TRUE(is_ok(divided.status));
  EXPECT_TRUE(divided.missing.empty());
  const Took left_out = read_in_every_cut(part({12, 3}) + part(kAsked[2]) + kLast, kAsked);
  EXPECT_TRUE(is_ok(left_out.status));
  EXPECT_EQ(left_out.missing, (std::vector<ByteRange>{{10, 2}, {15, 15}, {100, 5}}));
}

TEST(Multipart, LinesMayEndWithALineFeedAlone) {
  const auto with_line_feeds = [](const std::vector<ByteRange>& ranges, bool mixed) {
    std::string body;
    for (const ByteRange& range : ranges) {
      body += fmt::format("\n--b \t{}content-RANGE:bytes {}-{}/{}{}\n{}", mixed ? "\r\n" : "\n", range.offset,
                          range.offset + range.size - 1, kFileSize, mixed ? "\r\n\r" : "\n", file_bytes(range));
    }
    return body + "\n--b--\n";
  };
  for (const bool mixed : {false, true}) {
    const Took took = read_in_every_cut(with_line_feeds(kAsked, mixed), kAsked);
    EXPECT_TRUE(is_ok(took.status));
    EXPECT_EQ(bytes_of(took), 35U);
  }
}

TEST(Multipart, WhatServersMaySendWrongly) {
  const std::string range = "Content-Range: bytes 10-29/1000\r\n";
  const struct {
    std::string body;
    ErrorCode code;
    std::string_view words;
  } wrong[] = {
      {"", ErrorCode::kIo, "before its last boundary"},
      {part(kAsked[0]), ErrorCode::kIo, "before its last boundary"},
      {part(kAsked[0]) + "\r\n--b", ErrorCode::kIo, "before its last boundary"},
      {part(kAsked[0]) + "\r\n--b-", ErrorCode::kIo, "before its last boundary"},
      {std::string(700, 'a') + "\r\n" + std::string(700, 'a') + "\r\n", ErrorCode::kIo, "no boundary is in"},
      {std::string(1200, '-'), ErrorCode::kIo, "a line has more than"},
      {"--b\r\nX: " + std::string(1200, 'a'), ErrorCode::kIo, "a line has more than"},
      {"--b\r\n" +
           [] {
             std::string lines;
             for (int i = 0; i < 1000; ++i) lines += "X: y\r\n";
             return lines;
           }(),
       ErrorCode::kIo, "the headers of a part have more than"},
      {"--b--\r\n", ErrorCode::kIo, "it has no part"},
      {"--b\r\nContent-Type: a/b\r\n\r\nbytes", ErrorCode::kIo, "a part has no Content-Range"},
      {"--b\r\n" + range + range + "\r\n", ErrorCode::kIo, "two headers Content-Range"},
      {"--b\r\nContent-Range: bytes 10-29/*\r\n\r\n", ErrorCode::kIo, "has the Content-Range"},
      {"--b\r\nContent-Range: bytes 29-10/1000\r\n\r\n", ErrorCode::kIo, "has the Content-Range"},
      {"--b\r\nContent-Range: bytes 10-29/1001\r\n\r\n", ErrorCode::kChanged, "was replaced"},
      {"--b\r\nContent-Range:\r\n bytes 10-29/1000\r\n\r\n", ErrorCode::kIo, "without a name"},
      {"--b\r\nno colon\r\n\r\n", ErrorCode::kIo, "without a name"},
      {"--b\r\n" + range + "\r\n" + file_bytes(kAsked[0]) + "more\r\n--b--\r\n", ErrorCode::kIo, "has more bytes than"},
      {"--b\r\n" + range + "\r\n" + file_bytes({10, 20}) + "\r\nmore\r\n--b--\r\n", ErrorCode::kIo, "another length"},
      {"--b\r\n" + range + "\r\n" + file_bytes(kAsked[0]) + "\r\n--c--\r\n", ErrorCode::kIo, "another length"},
      {"--b\r\n" + range + "Content-Type: multipart/byteranges; boundary=c\r\n\r\n", ErrorCode::kUnsupported,
       "parts itself"},
      {"--b\r\n" + range + "Content-Encoding: gzip\r\n\r\n", ErrorCode::kUnsupported, "encodes"},
      {"--b\r\n" + range + "content-transfer-encoding: BASE64\r\n\r\n", ErrorCode::kUnsupported, "encodes"},
      {part(kAsked[0]) + part(kAsked[0]) + kLast, ErrorCode::kIo, "bytes twice"},
      {part({10, 5}) + part({14, 16}) + kLast, ErrorCode::kIo, "bytes twice"},
      {part({100, 5}) + part({10, 95}) + kLast, ErrorCode::kIo, "bytes twice"},
      {part({9, 21}) + kLast, ErrorCode::kIo, "other bytes than asked for"},
      {part({10, 21}) + kLast, ErrorCode::kIo, "other bytes than asked for"},
      {part({500, 1}) + kLast, ErrorCode::kIo, "other bytes than asked for"},
      {part(kAsked[0]) + kLast + std::string(1100, 'x'), ErrorCode::kIo, "follow the last boundary"},
  };
  for (const auto& one : wrong) {
    const Took took = read_in_every_cut(one.body, kAsked);
    ASSERT_TRUE(fails_with(took.status, one.code)) << one.body;
    EXPECT_THAT(took.status.error().message, HasSubstr(one.words)) << one.body;
  }
}

TEST(Multipart, ThousandsOfPartsAreRefused) {
  std::string body;
  for (std::uint64_t i = 0; i < 10'000; ++i) body += part({i % 2 * 900 + i / 2 % 50, 1});
  const Took took = read(body + kLast, {{0, 50}, {900, 50}}, body.size(), body.size());
  ASSERT_TRUE(fails_with(took.status, ErrorCode::kIo));
  EXPECT_THAT(took.status.error().message, HasSubstr("more than 8 parts for 2 ranges"));
  EXPECT_EQ(bytes_of(took), 8U);
}

TEST(Multipart, RangesFarApartAreNotJoined) {
  const std::uint64_t far = 20 + AskedRanges::kMostBetween;
  const AskedRanges near_ones({{10, 10}, {far, 10}});
  EXPECT_TRUE(is_ok(near_ones.check({10, far})));
  const AskedRanges far_ones({{10, 10}, {far + 1, 10}});
  EXPECT_TRUE(fails_with(far_ones.check({10, far + 1}), ErrorCode::kIo));
}

TEST(Multipart, HasTheBoundaryOfItsContentType) {
  const auto boundary = [](std::string_view type) { return boundary_of(type).value_or("none"); };
  EXPECT_EQ(boundary("multipart/byteranges; boundary=00000000000000000001"), "00000000000000000001");
  EXPECT_EQ(boundary("Multipart/ByteRanges;BOUNDARY=\"a b\""), "a b");
  EXPECT_EQ(boundary("multipart/byteranges; charset=\"x;boundary=no\"; boundary=\"y\\es\" ; z=1"), "yes");
  EXPECT_EQ(boundary("multipart/byteranges; boundary=--=:/?'()+_,."), "--=:/?'()+_,.");
  EXPECT_EQ(boundary("multipart/byteranges; boundary=" + std::string(70, 'a')), std::string(70, 'a'));
  const std::string too_long = "multipart/byteranges; boundary=" + std::string(71, 'a');
  for (const std::string_view wrong :
       {std::string_view(too_long), std::string_view("multipart/byteranges"), std::string_view("multipart/byteranges;"),
        std::string_view("multipart/byteranges; boundary="), std::string_view("multipart/byteranges; boundary=\"\""),
        std::string_view("multipart/byteranges; boundary=\"a"),
        std::string_view("multipart/byteranges; boundary=\"a\\"),
        std::string_view("multipart/byteranges; boundary=\"a \""),
        std::string_view("multipart/byteranges; boundary=a\x01"), std::string_view("multipart/byteranges; boundary"),
        std::string_view("multipart/mixed; boundary=a"), std::string_view("a/b; boundary=a"), std::string_view("")}) {
    EXPECT_EQ(boundary(wrong), "none") << wrong;
  }
  EXPECT_TRUE(is_multipart(" MULTIPART/mixed"));
  EXPECT_FALSE(is_multipart("multipart"));
}

// The answer to a request for several ranges of a file of 1,000 bytes and the tag "a".
Result<SeveralAnswer> judged(std::initializer_list<std::string_view> lines, std::string_view tag = "ETag: \"a\"") {
  HttpAnswer answer;
  for (const std::string_view line : lines) answer.take_line(line);
  answer.take_line(tag);
  const FileVersion known{kFileSize, "\"a\"", "", false};
  return judge_several(answer, AskedRanges(kAsked), known);
}

TEST(SeveralRangesAnswer, ComesInPartsInOneOrNotAtAll) {
  using Kind = SeveralAnswer::Kind;
  const auto kind = [](std::initializer_list<std::string_view> lines) {
    const auto answer = judged(lines);
    EXPECT_TRUE(is_ok(answer));
    return answer.ok() ? answer.value().kind : Kind::kRefused;
  };
  EXPECT_EQ(kind({"HTTP/1.1 206 x", "Content-Type: multipart/byteranges; boundary=b"}), Kind::kParts);
  EXPECT_EQ(kind({"HTTP/1.1 206 x", "Content-Range: bytes 10-29/1000"}), Kind::kOne);
  EXPECT_EQ(kind({"HTTP/1.1 206 x", "Content-Range: bytes 100-104/1000"}), Kind::kOne);
  EXPECT_EQ(kind({"HTTP/1.1 206 x", "Content-Range: bytes 5-104/1000"}), Kind::kRefused);
  for (const std::string_view status : {"HTTP/1.1 200 OK", "HTTP/1.1 416 x", "HTTP/1.1 403 x", "HTTP/1.1 400 x",
                                        "HTTP/1.1 413 x", "HTTP/1.1 431 x", "HTTP/1.1 501 x"}) {
    EXPECT_EQ(kind({status}), Kind::kRefused) << status;
  }
}

TEST(SeveralRangesAnswer, WhatIsNoRefusalIsAnError) {
  EXPECT_TRUE(fails_with(judged({"HTTP/1.1 401 x"}), ErrorCode::kOperationNotPermitted));
  EXPECT_TRUE(fails_with(judged({"HTTP/1.1 404 x"}), ErrorCode::kNotFound));
  EXPECT_TRUE(fails_with(judged({"HTTP/1.1 503 x"}), ErrorCode::kIo));
  EXPECT_TRUE(fails_with(judged({"HTTP/1.1 429 x"}), ErrorCode::kIo));
  EXPECT_TRUE(fails_with(judged({"HTTP/1.1 206 x"}), ErrorCode::kIo));
  EXPECT_TRUE(fails_with(judged({"HTTP/1.1 206 x", "Content-Range: bytes 10-29/1001"}), ErrorCode::kChanged));
  const std::string_view parts = "Content-Type: multipart/byteranges; boundary=b";
  EXPECT_TRUE(fails_with(judged({"HTTP/1.1 206 x", parts}, "ETag: \"b\""), ErrorCode::kChanged));
  EXPECT_TRUE(fails_with(judged({"HTTP/1.1 206 x", parts, "Content-Encoding: gzip"}), ErrorCode::kUnsupported));
  EXPECT_TRUE(fails_with(judged({"HTTP/1.1 206 x", "Content-Type: multipart/mixed; boundary=b"}), ErrorCode::kIo));
}

}  // namespace multipart_test
}  // namespace fatctx::tools
