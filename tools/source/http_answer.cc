#include "tools/source/http_answer.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include <fmt/format.h>

namespace fatctx::tools {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

bool equal_names(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

std::optional<std::uint64_t> take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end == text.data()) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

bool take_word(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text.remove_prefix(word.size());
  return true;
}

// A weak tag may stand for other bytes.
std::string strong(const std::string& etag) { return etag.starts_with("W/") ? std::string() : etag; }

}  // namespace

void HttpAnswer::take_line(std::string_view line) {
  if (line.starts_with("HTTP/")) {
    *this = {};
    const std::size_t blank = line.find(' ');
    std::string_view rest = blank == std::string_view::npos ? std::string_view() : trimmed(line.substr(blank));
    if (const auto number = take_number(rest); number && *number < 1000) status = static_cast<long>(*number);
    return;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string_view name = trimmed(line.substr(0, colon));
  const std::string value(trimmed(line.substr(colon + 1)));
  if (equal_names(name, "content-range")) content_range = value;
  if (equal_names(name, "content-encoding")) content_encoding = value;
  if (equal_names(name, "etag")) etag = value;
  if (equal_names(name, "last-modified")) last_modified = value;
}

std::optional<ContentRange> parse_content_range(std::string_view text) {
  if (!take_word(text, "bytes ")) return std::nullopt;
  text = trimmed(text);
  const auto first = take_number(text);
  if (!first || !take_word(text, "-")) return std::nullopt;
  const auto last = take_number(text);
  if (!last || !take_word(text, "/")) return std::nullopt;
  const auto total = take_number(text);
  if (!total || !text.empty() || *last < *first || *last >= *total) return std::nullopt;
  return ContentRange{{*first, *last - *first + 1}, *total};
}

bool may_recover(long status) noexcept { return status == 408 || status == 429 || (status >= 500 && status < 600); }

Result<FileVersion> judge_answer(const HttpAnswer& answer, ByteRange range, const FileVersion* known) {
  switch (answer.status) {
    case 206:
      break;
    case 200:
      if (known != nullptr && !known->size_alone)
        return Error{ErrorCode::kChanged, "the file was replaced on the server; fetch again"};
      return Error{ErrorCode::kUnsupported, "the server does not send ranges"};
    case 401:
    case 403:
      return Error{ErrorCode::kOperationNotPermitted,
                   fmt::format("the server refuses (status {}); name credentials with --auth-file", answer.status)};
    case 404:
    case 410:
      return Error{ErrorCode::kNotFound, fmt::format("the server does not have it (status {})", answer.status)};
    case 412:
    case 416:
      if (known != nullptr) return Error{ErrorCode::kChanged, "the file was replaced on the server; fetch again"};
      return Error{ErrorCode::kTruncated, "the file is empty on the server"};
    default:
      return Error{ErrorCode::kIo, fmt::format("the server answers with status {}", answer.status)};
  }
  if (!answer.content_encoding.empty() && !equal_names(answer.content_encoding, "identity")) {
    return Error{ErrorCode::kUnsupported, fmt::format("the server encodes ranges as {}, though that was not asked for",
                                                      answer.content_encoding)};
  }
  const auto found = parse_content_range(answer.content_range);
  if (!found) {
    return Error{ErrorCode::kIo,
                 fmt::format("the server sends no range that can be understood: \"{}\"", answer.content_range)};
  }
  FileVersion version{found->total, strong(answer.etag), answer.last_modified, known != nullptr && known->size_alone};
  const ByteRange expected = known == nullptr ? ByteRange{range.offset, std::min(range.size, found->total)} : range;
  if (known != nullptr &&
      (version.size != known->size ||
       (!known->size_alone && (version.etag != known->etag || version.last_modified != known->last_modified)))) {
    return Error{ErrorCode::kChanged, "the file was replaced on the server; fetch again"};
  }
  if (found->range != expected) {
    return Error{ErrorCode::kIo, fmt::format("the server sends other bytes than asked for: \"{}\" for {}-{}",
                                             answer.content_range, range.offset, range.offset + range.size - 1)};
  }
  return version;
}

}  // namespace fatctx::tools
