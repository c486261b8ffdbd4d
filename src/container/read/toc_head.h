// The head of a table of contents: the directory of its tables, and a hash of each page behind it.
#pragma once

#include <cstdint>

#include "container/format/page_hashes.h"
#include "container/read/parse.h"

namespace fatctx::container {

// Parses and checks the head. `head` has header.toc_head_size bytes and matches toc_hash. `copy`: as in parse_toc().
// Errors: malformed, limit_exceeded (F12, F20, F37, F40, F44).
[[nodiscard]] Result<TocHead> parse_toc_head(ByteView head, const Header& header, int copy);

// Returns the range of a page in the TOC.
[[nodiscard]] constexpr ByteRange toc_page(std::uint64_t page, const Header& header) noexcept {
  const ByteRange in_body = page_range(page, header.toc_size - header.toc_head_size);
  return {header.toc_head_size + in_body.offset, in_body.size};
}
// Returns the hashes of the pages. Requires: the head has them.
[[nodiscard]] inline ByteView page_hashes(ByteView head) noexcept {
  return head.subspan(static_cast<std::size_t>(kPageHashesStart));
}
[[nodiscard]] inline ByteView page_sha256_hashes(ByteView head, std::uint64_t page_count) noexcept {
  return head.subspan(static_cast<std::size_t>(toc_head_size(page_count, false)));
}

}  // namespace fatctx::container
