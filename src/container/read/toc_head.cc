#include "container/read/toc_head.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "container/format/copy_out.h"
#include "container/format/hash.h"

namespace fatctx::container {
namespace {

class HeadParser {
 public:
  HeadParser(ByteView bytes, const Header& header, int copy)
      : bytes_(bytes), header_(header), toc_at_(header.toc_offset[static_cast<std::size_t>(copy)]) {}

  Result<TocHead> run() {
    FATCTX_TRY(check_header());
    FATCTX_TRY(check_size());
    std::uint64_t end = bytes_.size();
    for (std::uint32_t i = 0; i < kTableCount; ++i) FATCTX_TRY(check_table(i, end));
    if (end != header_.toc_size) {
      return malformed("F12", end, "bytes behind the last table of the table of contents");
    }
    FATCTX_TRY(check_digests());
    return head_;
  }

 private:
  Error malformed(std::string_view rule, std::uint64_t offset, std::string message) const {
    return Error{ErrorCode::kMalformed, std::move(message), {.file_offset = toc_at_ + offset, .rule = rule}};
  }
  Error limit(std::uint64_t offset, std::string message) const {
    return Error{ErrorCode::kLimitExceeded, std::move(message), {.file_offset = toc_at_ + offset, .rule = "F12"}};
  }

  Status check_header() {
    FATCTX_ASSIGN(const TocHeader head, copy_out<TocHeader>(bytes_, 0));
    if (head.magic != kTocMagic) return malformed("F12", 0, "the table of contents has no magic");
    if (head.toc_size != header_.toc_size || head.head_size != header_.toc_head_size) {
      return malformed("F12", offsetof(TocHeader, toc_size), "the table of contents disagrees about its own size");
    }
    if (head.uuid != header_.uuid || head.generation != header_.generation) {
      return malformed("F37", offsetof(TocHeader, uuid), "uuid or generation differ from those of the slot");
    }
    if (head.table_count != kTableCount) {
      return malformed(
          "F40", offsetof(TocHeader, table_count),
          fmt::format("{} tables instead of {}", static_cast<std::uint32_t>(head.table_count), kTableCount));
    }
    if (!header_.has_newer_fields() && (!all_zero(head.reserved) || (head.flags & ~kTocSha256) != 0)) {
      return malformed("F20", offsetof(TocHeader, flags),
                       "reserved bits or bytes of the table of contents are not zero");
    }
    head_.page_count = head.page_count;
    head_.sha256 = (head.flags & kTocSha256) != 0;
    return Done{};
  }

  Status check_size() const {
    if (bytes_.size() != toc_head_size(head_.page_count, head_.sha256) ||
        head_.page_count != toc_pages(header_.toc_size - bytes_.size())) {
      return malformed("F12", offsetof(TocHeader, page_count),
                       fmt::format("{} hashes of pages do not fill a head of {} bytes for a table of contents of {}",
                                   head_.page_count, bytes_.size(), header_.toc_size));
    }
    return Done{};
  }

  Status check_table(std::uint32_t i, std::uint64_t& end) {
    const std::uint64_t at = sizeof(TocHeader) + i * sizeof(DirectoryEntry);
    FATCTX_ASSIGN(const DirectoryEntry directory, copy_out<DirectoryEntry>(bytes_, at));
    const std::uint64_t entry_size = directory.entry_size;
    // The names region has bytes, not rows.
    const bool longer = header_.has_newer_fields() && i != static_cast<std::uint32_t>(Table::kNames) &&
                        entry_size > kTableEntrySizes[i] && entry_size <= kMaxEntrySize;
    if (entry_size != kTableEntrySizes[i] && !longer) {
      return malformed(
          "F12", at, fmt::format("table {} has entries of {} bytes instead of {}", i, entry_size, kTableEntrySizes[i]));
    }
    if (directory.count > kTableMaxCounts[i]) {
      return limit(at, fmt::format("table {} has {} entries, at most {} are allowed", i,
                                   static_cast<std::uint64_t>(directory.count), kTableMaxCounts[i]));
    }
    if (!header_.has_newer_fields() && !all_zero(directory.reserved)) {
      return malformed("F20", at, "reserved bytes of the directory are not zero");
    }
    if (directory.offset != end) {
      return malformed("F40", at,
                       fmt::format("table {} starts at {:#x} instead of {:#x}", i,
                                   static_cast<std::uint64_t>(directory.offset), end));
    }
    head_.tables[i] = {end, directory.count, entry_size};
    end += directory.count * entry_size;  // both bounded above: cannot wrap
    if (end > header_.toc_size) return malformed("F12", at, fmt::format("table {} leaves the table of contents", i));
    return Done{};
  }

  // Tables with one row for each row of another one.
  Status check_digests() const {
    const std::uint64_t records = head_.table(Table::kRecords).count;
    const std::uint64_t segments = head_.table(Table::kSegments).count;
    if (head_.table(Table::kNameIndex).count != records) {
      return malformed(
          "F45", directory_at(Table::kNameIndex),
          fmt::format("an index of {} names for {} records", head_.table(Table::kNameIndex).count, records));
    }
    if (head_.table(Table::kRecordDigests).count != (head_.sha256 ? records : 0)) {
      return malformed("F44", directory_at(Table::kRecordDigests), "digests of some records only");
    }
    if (head_.table(Table::kSegmentDigests).count != (head_.sha256 ? segments : 0)) {
      return malformed("F44", directory_at(Table::kSegmentDigests), "digests of some segments only");
    }
    if (header_.signature && !head_.sha256) {
      return malformed("F44", offsetof(TocHeader, flags), "a signed table of contents without SHA-256 of its pages");
    }
    return Done{};
  }
  static std::uint64_t directory_at(Table table) {
    return sizeof(TocHeader) + static_cast<std::uint64_t>(table) * sizeof(DirectoryEntry);
  }

  ByteView bytes_;
  const Header& header_;
  std::uint64_t toc_at_;
  TocHead head_;
};

// Returns whether the numbers in the head are those by which pages are found.
bool names_pages(ByteView head, const Header& header) {
  const auto fields = copy_out<TocHeader>(head, 0);
  return fields.ok() && fields.value().page_count == toc_pages(header.toc_size - header.toc_head_size) &&
         header.toc_head_size >= kPageHashesStart + std::uint64_t{fields.value().page_count} * sizeof(DiskHash);
}

ByteView head_in(ByteView toc, const Header& header) {
  return toc.first(static_cast<std::size_t>(header.toc_head_size));
}
ByteView page_in(ByteView toc, std::uint64_t page, const Header& header) {
  const ByteRange range = toc_page(page, header);
  return toc.subspan(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size));
}

}  // namespace

Result<TocHead> parse_toc_head(ByteView head, const Header& header, int copy) {
  return HeadParser(head, header, copy).run();
}

bool toc_matches(ByteView bytes, const Header& header) noexcept {
  const ByteView head = head_in(bytes, header);
  if (hash128(head) != header.toc_hash) return false;
  if (!names_pages(head, header)) return true;  // its author wrote it so: the parser names the fault
  const std::uint64_t pages = toc_pages(header.toc_size - header.toc_head_size);
  for (std::uint64_t page = 0; page < pages; ++page) {
    if (!page_hash_matches(page_hashes(head), page, page_in(bytes, page, header))) return false;
  }
  return true;
}

bool mend_toc(std::span<std::byte> bytes, ByteView other, const Header& header) noexcept {
  const ByteView head = head_in(bytes, header);
  if (hash128(head) != header.toc_hash) {
    const ByteView second = head_in(other, header);
    if (hash128(second) != header.toc_hash) return false;
    std::copy(second.begin(), second.end(), bytes.begin());
  }
  if (!names_pages(head, header)) return true;
  const std::uint64_t pages = toc_pages(header.toc_size - header.toc_head_size);
  for (std::uint64_t page = 0; page < pages; ++page) {
    if (page_hash_matches(page_hashes(head), page, page_in(bytes, page, header))) continue;
    const ByteView second = page_in(other, page, header);
    if (!page_hash_matches(page_hashes(head), page, second)) return false;
    std::copy(second.begin(), second.end(), bytes.begin() + static_cast<std::ptrdiff_t>(toc_page(page, header).offset));
  }
  return true;
}

}  // namespace fatctx::container
