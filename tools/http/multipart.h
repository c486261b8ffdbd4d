// The answer to a request for several ranges: multipart/byteranges (RFC 9110, section 14.6), read as it comes. It has
// no sockets, and keeps one line.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/repair_source.h"
#include "tools/http/asked_ranges.h"

namespace fatctx::tools {

// Returns whether a Content-Type says that the body has parts, of whatever kind.
[[nodiscard]] bool is_multipart(std::string_view content_type) noexcept;
// Returns the boundary that a Content-Type of multipart/byteranges names. Nothing if it is another type, or the
// boundary is none: 1 to 70 characters of RFC 2046, section 5.1.1.
[[nodiscard]] std::optional<std::string> boundary_of(std::string_view content_type);

// Reads the body. Parts may come in any order, joined over a few bytes that nobody asked for, or divided. Lines may end
// with a line feed alone. A part has as many bytes as its Content-Range says, so they are not searched for a boundary.
class MultipartReader {
 public:
  static constexpr std::size_t kMostLine = 1024;
  static constexpr std::size_t kMostHead = 4096;        // bytes of the lines in front of one part
  static constexpr std::size_t kMostOutside = 1024;     // bytes in front of the first boundary, and behind the last
  static constexpr std::size_t kMostPartsOfARange = 4;  // parts of an answer, for each range of the request

  // `file_size`: of the file whose ranges were asked for.
  MultipartReader(std::string_view boundary, std::vector<ByteRange> asked, std::uint64_t file_size);

  // Takes the next bytes of the body, in any cut, and hands those that were asked for to `take`.
  // Errors: those of `take`; changed (a part is of a file of another size); unsupported (a part is encoded, or has
  // parts itself); io (the body has another form, brings bytes that nobody asked for, or has endless headers).
  [[nodiscard]] Status feed(ByteView bytes, const TakeBytes& take);
  // Says that no more bytes follow. Errors: io (the last boundary did not come).
  [[nodiscard]] Status finish();
  // Returns the bytes that did not come.
  [[nodiscard]] const std::vector<ByteRange>& missing() const noexcept { return ranges_.missing(); }

 private:
  enum class State : std::uint8_t { kOutside, kHead, kBody, kBehindBody, kBoundary, kEnd };

  [[nodiscard]] Status take_line();
  [[nodiscard]] Status take_head_line(std::string_view line);
  [[nodiscard]] Status begin_body();
  // Goes on behind a line with the boundary. Returns false for another line.
  [[nodiscard]] Result<bool> take_boundary(std::string_view line);

  std::string boundary_;  // with the dashes in front
  AskedRanges ranges_;
  std::uint64_t file_size_;
  State state_ = State::kOutside;
  std::string line_;            // the line that is being read
  std::size_t head_bytes_ = 0;  // header bytes read of this part
  std::size_t outside_ = 0;     // bytes in front of the first boundary, or behind the last
  std::size_t parts_ = 0;
  std::optional<std::string> content_range_;  // set once this part's header was read
  ByteRange body_;                            // the bytes of this part that have not come yet
};

}  // namespace fatctx::tools
