// The head of an HTTP answer, judged: is it the range that was asked for, of the file that was asked first?
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "tools/http/asked_ranges.h"

namespace fatctx::tools {

struct HttpAnswer {
  long status = 0;
  std::string content_range;
  std::string content_encoding;
  std::string content_type;
  std::string etag;
  std::string last_modified;

  // Takes a line of the head. A status line begins a new answer: after a redirect only the last one counts.
  void take_line(std::string_view line);
};

// A "bytes 0-99/1000".
struct ContentRange {
  ByteRange range;
  std::uint64_t total = 0;
};
[[nodiscard]] std::optional<ContentRange> parse_content_range(std::string_view text);

// The file as the first answer describes it. Later answers must say the same.
struct FileVersion {
  std::uint64_t size = 0;
  std::string etag;  // empty: none, or a weak one
  std::string last_modified;
  // Only the size is compared: the URL names the content, and each redirect may lead to another copy of it.
  bool size_alone = false;
};

// Judges the answer to a request for `range`. `known`: of an earlier answer; null for the first, whose range may be
// shorter if the file is. Errors: not_found, operation_not_permitted (401, 403), unsupported (the server does not send
// ranges, or encodes them), changed (of another version of the file), io (anything else).
[[nodiscard]] Result<FileVersion> judge_answer(const HttpAnswer& answer, ByteRange range, const FileVersion* known);

// The answer to a request for several ranges.
struct SeveralAnswer {
  enum class Kind : std::uint8_t {
    kParts,    // multipart/byteranges with `boundary`
    kOne,      // one range, `one`: of those that were asked for, or several joined
    kRefused,  // no such answer: each range must be asked for by itself
  };
  Kind kind = Kind::kRefused;
  std::string boundary;
  ByteRange one;
};
// Judges it. Errors: those of judge_answer. An answer that a single range may not have (200, 403, 416 and others) is
// kRefused: the answer to a single range says more.
[[nodiscard]] Result<SeveralAnswer> judge_several(const HttpAnswer& answer, const AskedRanges& asked,
                                                  const FileVersion& known);
// Returns whether a later try may have another answer: 408, 429 and 5xx.
[[nodiscard]] bool may_recover(long status) noexcept;

}  // namespace fatctx::tools
