#include "container/write/check_opens.h"

#include <algorithm>
#include <cstddef>

#include <fmt/format.h>

#include "container/read/open.h"
#include "mapping/read_only_file.h"

namespace fatctx::container {
namespace {

// A view of the file in the state after all writes.
class LaterFile final : public mapping::ReadOnlyFile {
 public:
  LaterFile(const mapping::OsFile& file, std::span<const LaterBytes> later) : file_(file), later_(later) {}

  Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    for (const LaterBytes& one : later_) {
      if (one.offset != offset || one.bytes.size() != buffer.size()) continue;
      std::copy(one.bytes.begin(), one.bytes.end(), buffer.begin());
      return Done{};
    }
    FATCTX_TRY(file_.read_at(offset, buffer));
    for (const LaterBytes& one : later_) {
      if (one.offset < offset || !within({one.offset - offset, one.bytes.size()}, buffer.size())) continue;
      std::copy(one.bytes.begin(), one.bytes.end(), buffer.begin() + static_cast<std::ptrdiff_t>(one.offset - offset));
    }
    return Done{};
  }
  Result<mapping::FileIdentity> identity() const override { return file_.identity(); }

 private:
  const mapping::OsFile& file_;
  std::span<const LaterBytes> later_;
};

Status check(const mapping::OsFile& file, const GenerationFacts& facts) {
  FATCTX_ASSIGN(const OpenedToc opened, read_toc(file, facts.committed_end));
  const Header& header = opened.header;
  if (header.generation != facts.generation || header.toc_hash != facts.toc_hash) {
    return Error{ErrorCode::kInternal, fmt::format("generation {} was written, and generation {} would open",
                                                   facts.generation, header.generation)};
  }
  FATCTX_ASSIGN(const std::uint32_t degraded, degraded_copies(file, header));
  for (const std::size_t copy : {0U, 1U}) {
    if ((degraded & (kDegradedToc0 << copy)) == 0) continue;
    return Error{ErrorCode::kIo,
                 fmt::format("copy {} of the table of contents is unreadable, or differs from the written one: "
                             "write to another disk",
                             copy),
                 {.file_offset = header.toc_offset[copy], .rule = "F14"}};
  }
  return Done{};
}

}  // namespace

Status check_opens(const mapping::OsFile& file, const GenerationFacts& facts, std::span<const LaterBytes> later) {
  auto checked = check(LaterFile(file, later), facts);
  if (checked.ok()) return checked;
  return in_context(std::move(checked).error(), "with the added records the file would not open");
}

}  // namespace fatctx::container
