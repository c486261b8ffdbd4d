#include "tools/http/multipart.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tools/http/http_answer.h"
#include "tools/http/http_words.h"

namespace fatctx::tools {
namespace {

constexpr std::size_t kMostBoundary = 70;

bool is_boundary_character(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') ||
         std::string_view("'()+_,-./:=? ").find(c) != std::string_view::npos;
}

bool is_boundary(std::string_view text) noexcept {
  return !text.empty() && text.size() <= kMostBoundary && text.back() != ' ' &&
         std::all_of(text.begin(), text.end(), is_boundary_character);
}

// Takes the value of a parameter: quoted, or up to the next semicolon.
std::optional<std::string> take_value(std::string_view& text) {
  std::string value;
  if (!take_header_word(text, "\"")) {
    const std::size_t end = std::min(text.find(';'), text.size());
    value = header_trimmed(text.substr(0, end));
    text.remove_prefix(end);
    return value;
  }
  while (!text.empty() && text.front() != '"') {
    if (text.front() == '\\') text.remove_prefix(1);
    if (text.empty()) break;
    value += text.front();
    text.remove_prefix(1);
  }
  if (!take_header_word(text, "\"")) return std::nullopt;
  return value;
}

Error lie(std::string what) {
  return Error{ErrorCode::kIo, "the server sends several ranges wrongly: " + std::move(what)};
}

// Tells whether a header says that the bytes are not sent as they are.
bool encodes(std::string_view name, std::string_view value) {
  if (equal_header_words(name, "content-encoding")) return !equal_header_words(value, "identity");
  return equal_header_words(name, "content-transfer-encoding") &&
         (equal_header_words(value, "base64") || equal_header_words(value, "quoted-printable"));
}

}  // namespace

bool is_multipart(std::string_view content_type) noexcept {
  constexpr std::string_view kMultipart = "multipart/";
  return equal_header_words(header_trimmed(content_type).substr(0, kMultipart.size()), kMultipart);
}

std::optional<std::string> boundary_of(std::string_view content_type) {
  std::size_t semicolon = content_type.find(';');
  if (semicolon == std::string_view::npos) return std::nullopt;
  if (!equal_header_words(header_trimmed(content_type.substr(0, semicolon)), "multipart/byteranges")) {
    return std::nullopt;
  }
  std::string_view rest = content_type.substr(semicolon);
  while (take_header_word(rest, ";")) {
    const std::size_t equals = rest.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view name = header_trimmed(rest.substr(0, equals));
    rest = header_trimmed(rest.substr(equals + 1));
    auto value = take_value(rest);
    if (!value) return std::nullopt;
    if (equal_header_words(name, "boundary")) return is_boundary(*value) ? std::move(value) : std::nullopt;
    rest = header_trimmed(rest);
  }
  return std::nullopt;
}

MultipartReader::MultipartReader(std::string_view boundary, std::vector<ByteRange> asked, std::uint64_t file_size)
    : boundary_(fmt::format("--{}", boundary)), ranges_(std::move(asked)), file_size_(file_size) {}

Status MultipartReader::feed(ByteView bytes, const TakeBytes& take) {
  while (!bytes.empty()) {
    if (state_ == State::kEnd) {
      outside_ += bytes.size();
      if (outside_ > kMostOutside) return lie(fmt::format("over {} bytes follow the last boundary", kMostOutside));
      return Done{};
    }
    if (state_ == State::kBody) {
      const ByteView piece = bytes.first(static_cast<std::size_t>(std::min<std::uint64_t>(body_.size, bytes.size())));
      FATCTX_TRY(ranges_.take(body_.offset, piece, take));
      body_ = {body_.offset + piece.size(), body_.size - piece.size()};
      bytes = bytes.subspan(piece.size());
      if (body_.size == 0) state_ = State::kBehindBody;
      continue;
    }
    const auto next = static_cast<char>(bytes.front());
    bytes = bytes.subspan(1);
    if (next != '\n') {
      line_ += next;
      if (line_.size() > kMostLine) return lie(fmt::format("a line has more than {} bytes", kMostLine));
      continue;
    }
    if (line_.ends_with('\r')) line_.pop_back();
    FATCTX_TRY(take_line());
    line_.clear();
  }
  return Done{};
}

Status MultipartReader::take_line() {
  switch (state_) {
    case State::kOutside: {
      FATCTX_ASSIGN(const bool is_boundary_line, take_boundary(line_));
      if (is_boundary_line) return Done{};
      outside_ += line_.size() + 1;
      if (outside_ > kMostOutside) return lie(fmt::format("no boundary is in its first {} bytes", kMostOutside));
      return Done{};
    }
    case State::kHead:
      return take_head_line(line_);
    case State::kBehindBody:
      if (!line_.empty()) return lie("a part has more bytes than its Content-Range says");
      state_ = State::kBoundary;
      return Done{};
    case State::kBoundary: {
      FATCTX_ASSIGN(const bool is_boundary_line, take_boundary(line_));
      if (is_boundary_line) return Done{};
      return lie("no boundary follows a part; it has another length than its Content-Range says");
    }
    case State::kBody:
    case State::kEnd:
      break;
  }
  return Done{};
}

Result<bool> MultipartReader::take_boundary(std::string_view line) {
  if (!take_header_word(line, boundary_)) return false;
  const bool last = line.starts_with("--");
  if (last) line.remove_prefix(2);
  if (!header_trimmed(line).empty()) return false;
  outside_ = 0;
  if (last) {
    state_ = State::kEnd;
    if (parts_ == 0) return lie("it has no part");
    return true;
  }
  if (++parts_ > kMostPartsOfARange * ranges_.asked().size()) {
    return lie(fmt::format("more than {} parts for {} ranges", kMostPartsOfARange * ranges_.asked().size(),
                           ranges_.asked().size()));
  }
  state_ = State::kHead;
  head_bytes_ = 0;
  content_range_.reset();
  return true;
}

Status MultipartReader::take_head_line(std::string_view line) {
  if (line.empty()) return begin_body();
  head_bytes_ += line.size() + 1;
  if (head_bytes_ > kMostHead) return lie(fmt::format("the headers of a part have more than {} bytes", kMostHead));
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || line.front() == ' ' || line.front() == '\t') {
    return lie("a part has a line of headers without a name");
  }
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = header_trimmed(line.substr(colon + 1));
  if (equal_header_words(name, "content-range")) {
    if (content_range_) return lie("a part has two headers Content-Range");
    content_range_ = value;
  } else if (equal_header_words(name, "content-type") && is_multipart(value)) {
    return Error{ErrorCode::kUnsupported, "the server sends a part that has parts itself"};
  } else if (encodes(name, value)) {
    return Error{ErrorCode::kUnsupported, "the server encodes the ranges, though that was not asked for"};
  }
  return Done{};
}

Status MultipartReader::begin_body() {
  if (!content_range_) return lie("a part has no Content-Range");
  const std::optional<ContentRange> found = parse_content_range(*content_range_);
  if (!found) return lie(fmt::format("a part has the Content-Range \"{}\"", *content_range_));
  if (found->total != file_size_) {
    return Error{ErrorCode::kChanged, "the file was replaced on the server; fetch again"};
  }
  FATCTX_TRY(ranges_.check(found->range));
  body_ = found->range;
  state_ = State::kBody;
  return Done{};
}

Status MultipartReader::finish() {
  // The last boundary may have no end of line.
  if (state_ == State::kOutside || state_ == State::kBoundary) FATCTX_TRY(take_boundary(line_));
  if (state_ == State::kEnd) return Done{};
  return Error{ErrorCode::kIo, "the answer ends before its last boundary"};
}

}  // namespace fatctx::tools
