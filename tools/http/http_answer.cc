#include "tools/http/http_answer.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "tools/http/http_words.h"
#include "tools/http/multipart.h"

namespace fatctx::tools {
namespace {

// A weak tag may stand for other bytes.
std::string strong(const std::string& etag) { return etag.starts_with("W/") ? std::string() : etag; }

}  // namespace

void HttpAnswer::take_line(std::string_view line) {
  if (line.starts_with("HTTP/")) {
    *this = {};
    const std::size_t blank = line.find(' ');
    std::string_view rest = blank == std::string_view::npos ? std::string_view() : header_trimmed(line.substr(blank));
    if (const auto number = take_header_number(rest); number && *number < 1000) status = static_cast<long>(*number);
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view name = header_trimmed(line.substr(0, colon));
  const std::string value(header_trimmed(line.substr(colon + 1)));
  if (equal_header_words(name, "content-range")) content_range = value;
  if (equal_header_words(name, "content-encoding")) content_encoding = value;
  if (equal_header_words(name, "content-type")) content_type = value;
  if (equal_header_words(name, "etag")) etag = value;
  if (equal_header_words(name, "last-modified")) last_modified = value;
}

std::optional<ContentRange> parse_content_range(std::string_view text) {
  if (!take_header_word(text, "bytes ")) return std::nullopt;
  text = header_trimmed(text);
  const auto first = take_header_number(text);
  if (!first || !take_header_word(text, "-")) return std::nullopt;
  const auto last = take_header_number(text);
  if (!last || !take_header_word(text, "/")) return std::nullopt;
  const auto total = take_header_number(text);
  if (!total || !text.empty() || *last < *first || *last >= *total) return std::nullopt;
  return ContentRange{{*first, *last - *first + 1}, *total};
}

bool may_recover(long status) noexcept { return status == 408 || status == 429 || (status >= 500 && status < 600); }

namespace {

Error replaced() { return Error{ErrorCode::kChanged, "the file was replaced on the server; fetch again"}; }

// Returns the error of a status that brings no bytes of the file.
Error error_of_status(long status, const FileVersion* known) {
  switch (status) {
    case 200:
      if (known != nullptr && !known->size_alone) return replaced();
      return Error{ErrorCode::kUnsupported, "the server does not send ranges"};
    case 401:
    case 403:
      return Error{ErrorCode::kOperationNotPermitted,
                   fmt::format("the server refuses (status {}); name credentials with --auth-file", status)};
    case 404:
    case 410:
      return Error{ErrorCode::kNotFound, fmt::format("the server does not have it (status {})", status)};
    case 412:
    case 416:
      if (known != nullptr) return replaced();
      return Error{ErrorCode::kTruncated, "the file is empty on the server"};
    default:
      return Error{ErrorCode::kIo, fmt::format("the server answers with status {}", status)};
  }
}

Status check_encoding(const HttpAnswer& answer) {
  if (answer.content_encoding.empty() || equal_header_words(answer.content_encoding, "identity")) return Done{};
  return Error{ErrorCode::kUnsupported,
               fmt::format("the server encodes ranges as {}, though that was not asked for", answer.content_encoding)};
}

Error no_range(const HttpAnswer& answer) {
  return Error{ErrorCode::kIo,
               fmt::format("the server sends no range that can be understood: \"{}\"", answer.content_range)};
}

Status check_version(const HttpAnswer& answer, const FileVersion& known) {
  if (known.size_alone) return Done{};
  if (strong(answer.etag) == known.etag && answer.last_modified == known.last_modified) return Done{};
  return replaced();
}

// Returns whether a server may refuse several ranges so, and send one of them.
bool may_refuse_several(long status) noexcept {
  switch (status) {
    case 401:
    case 404:
    case 410:
      return false;
    case 200:
    case 501:
      return true;
    default:
      return status >= 400 && status < 500 && !may_recover(status);
  }
}

}  // namespace

Result<FileVersion> judge_answer(const HttpAnswer& answer, ByteRange range, const FileVersion* known) {
  if (answer.status != 206) return error_of_status(answer.status, known);
  FATCTX_TRY(check_encoding(answer));
  const auto found = parse_content_range(answer.content_range);
  if (!found) return no_range(answer);
  FileVersion version{found->total, strong(answer.etag), answer.last_modified, known != nullptr && known->size_alone};
  const ByteRange expected = known == nullptr ? ByteRange{range.offset, std::min(range.size, found->total)} : range;
  if (known != nullptr) {
    if (version.size != known->size) return replaced();
    FATCTX_TRY(check_version(answer, *known));
  }
  if (found->range != expected) {
    return Error{ErrorCode::kIo, fmt::format("the server sends other bytes than asked for: \"{}\" for {}-{}",
                                             answer.content_range, range.offset, range.offset + range.size - 1)};
  }
  return version;
}

Result<SeveralAnswer> judge_several(const HttpAnswer& answer, const AskedRanges& asked, const FileVersion& known) {
  using Kind = SeveralAnswer::Kind;
  if (may_refuse_several(answer.status)) return SeveralAnswer{Kind::kRefused, {}, {}};
  if (answer.status != 206) return error_of_status(answer.status, &known);
  FATCTX_TRY(check_encoding(answer));
  FATCTX_TRY(check_version(answer, known));
  if (is_multipart(answer.content_type)) {
    auto boundary = boundary_of(answer.content_type);
    if (boundary) return SeveralAnswer{Kind::kParts, std::move(*boundary), {}};
    return Error{ErrorCode::kIo,
                 fmt::format("the server sends parts that cannot be understood: \"{}\"", answer.content_type)};
  }
  const auto found = parse_content_range(answer.content_range);
  if (!found) return no_range(answer);
  if (found->total != known.size) return replaced();
  if (!asked.check(found->range).ok()) return SeveralAnswer{Kind::kRefused, {}, {}};  // all from first to last, say
  return SeveralAnswer{Kind::kOne, {}, found->range};
}

}  // namespace fatctx::tools
