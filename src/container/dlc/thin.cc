#include "container/dlc/thin.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "container/format/copy_out.h"

namespace fatctx::container::dlc {
namespace {

constexpr std::uint64_t to_page(std::uint64_t offset) noexcept { return (kPage - offset % kPage) % kPage; }

std::uint32_t crc32(std::string_view text) noexcept {
  constexpr std::uint32_t kPolynomial = 0xedb88320;
  std::uint32_t crc = 0xffffffff;
  for (const char c : text) {
    crc ^= static_cast<unsigned char>(c);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
  }
  return ~crc;
}

void append_text(std::vector<std::byte>& out, std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  out.insert(out.end(), bytes.begin(), bytes.end());
}

// A builder of pieces: adjacent ranges of the file are merged.
class Pieces {
 public:
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  void add_range(ByteRange range) {
    if (range.size == 0) return;
    size_ += range.size;
    if (!pieces_.empty() && pieces_.back().bytes.empty()) {
      ByteRange& last = pieces_.back().range;
      if (last.offset + last.size == range.offset) {
        last.size += range.size;
        return;
      }
    }
    pieces_.push_back({range, {}});
  }

  void add_bytes(ByteView bytes) {
    if (bytes.empty()) return;
    size_ += bytes.size();
    if (pieces_.empty() || pieces_.back().bytes.empty()) pieces_.emplace_back();
    pieces_.back().bytes.insert(pieces_.back().bytes.end(), bytes.begin(), bytes.end());
  }

  [[nodiscard]] std::vector<DlcPiece> take() && { return std::move(pieces_); }

 private:
  std::vector<DlcPiece> pieces_;
  std::uint64_t size_ = 0;
};

// Replaces the partial pages at both ends of a range by new bytes, so that the whole pages between them can be mapped.
// This needs a range with the same offset within a page in both files. Other ranges stay as they are.
Result<Pieces> on_pages(const mapping::OsFile& file, std::vector<DlcPiece> pieces) {
  Pieces out;
  const auto copy = [&](ByteRange range) -> Status {
    std::array<std::byte, kPage> page;
    const auto bytes = std::span(page).first(static_cast<std::size_t>(range.size));
    if (!bytes.empty()) FATCTX_TRY(file.read_at(range.offset, bytes));
    out.add_bytes(bytes);
    return Done{};
  };
  for (DlcPiece& piece : pieces) {
    if (!piece.bytes.empty()) {
      out.add_bytes(piece.bytes);
      continue;
    }
    const ByteRange range = piece.range;
    if (out.size() % kPage != range.offset % kPage) {
      out.add_range(range);
      continue;
    }
    const std::uint64_t head = std::min(to_page(range.offset), range.size);
    const std::uint64_t body = (range.size - head) / kPage * kPage;
    FATCTX_TRY(copy({range.offset, head}));
    out.add_range({range.offset + head, body});
    FATCTX_TRY(copy({range.offset + head + body, range.size - head - body}));
  }
  return out;
}

// Returns the fields with the sizes moved to a ZIP64 field of `field_size` bytes, the only extra field.
DiskEntryFields in64(const Entry& entry, DiskEntryFields fields, std::uint64_t field_size) {
  fields.version_needed = std::max<std::uint16_t>(fields.version_needed, kZip64Version);
  fields.method = kStored;
  fields.stored_size = kIn64;
  fields.size = kIn64;
  fields.name_size = static_cast<std::uint16_t>(entry.name.size());
  fields.extra_size = static_cast<std::uint16_t>(field_size);
  return fields;
}

DiskExtraField zip64_field(std::uint64_t whole_size) {
  return {kZip64Field, static_cast<std::uint16_t>(whole_size - sizeof(DiskExtraField))};
}

// Returns true if the header of the original also fits the thin DLC, which keeps places within a page only.
bool is_kept(const Entry& entry, std::uint64_t at) noexcept {
  return entry.alignment && *entry.alignment <= kPage && at % kPage == entry.header_offset % kPage;
}

// Returns the alignment that the header states, or else that of the data within its page; at most a page.
std::uint32_t alignment_of(const Entry& entry) noexcept {
  if (entry.alignment) return static_cast<std::uint32_t>(std::min<std::uint64_t>(*entry.alignment, kPage));
  const std::uint64_t place = entry.data.offset % kPage;
  return static_cast<std::uint32_t>(place == 0 ? kPage : place & (~place + 1));
}

// Returns a header whose ZIP64 field is so long that the data gets the offset within a page that it has in the
// original.
std::vector<std::byte> new_header(const Entry& entry, const DiskCentralEntry& central, std::uint64_t at,
                                  std::uint64_t size) {
  const std::uint64_t place = entry.data.offset % kPage;
  const std::uint64_t shortest = at + sizeof(DiskLocalHeader) + entry.name.size() + sizeof(DiskPaddedZip64);
  const std::uint64_t padding = (place + kPage - shortest % kPage) % kPage;
  DiskPaddedZip64 field;
  field.field = zip64_field(sizeof(field) + padding);
  field.size = size;
  field.stored_size = size;
  field.padding = static_cast<std::uint32_t>(padding);
  field.alignment = alignment_of(entry);
  DiskLocalHeader header;
  header.signature = kLocalSignature;
  header.entry = in64(entry, central.entry, sizeof(field) + padding);
  std::vector<std::byte> out;
  append_struct(out, header);
  append_text(out, entry.name);
  append_struct(out, field);
  out.resize(out.size() + static_cast<std::size_t>(padding));
  return out;
}

void append_row(std::vector<std::byte>& out, const Entry& entry, DiskCentralEntry central, std::uint64_t size,
                std::uint64_t header_offset) {
  DiskRowZip64 field;
  field.field = zip64_field(sizeof(field));
  field.size = size;
  field.stored_size = size;
  field.header_offset = header_offset;
  central.signature = kCentralSignature;
  central.entry = in64(entry, central.entry, sizeof(field));
  central.comment_size = 0;
  central.disk = 0;
  central.header_offset = kIn64;
  append_struct(out, central);
  append_text(out, entry.name);
  append_struct(out, field);
}

// Ends the archive as compilers do: the short record has the numbers that fit into it, and the offset never.
void append_end(std::vector<std::byte>& out, std::uint64_t directory_offset, std::uint64_t entry_count) {
  const std::uint64_t directory_size = out.size();
  DiskZip64End end64;
  end64.signature = kZip64EndSignature;
  end64.rest_size = sizeof(DiskZip64End) - 12;
  end64.version_made_by = kZip64Version;
  end64.version_needed = kZip64Version;
  end64.disk_entry_count = entry_count;
  end64.entry_count = entry_count;
  end64.directory_size = directory_size;
  end64.directory_offset = directory_offset;
  append_struct(out, end64);
  DiskZip64Locator locator;
  locator.signature = kZip64LocatorSignature;
  locator.end_offset = directory_offset + directory_size;
  locator.disk_count = 1;
  append_struct(out, locator);
  DiskEnd end;
  end.signature = kEndSignature;
  end.disk_entry_count = static_cast<std::uint16_t>(entry_count);  // at most kMaxEntries
  end.entry_count = static_cast<std::uint16_t>(entry_count);
  end.directory_size = static_cast<std::uint32_t>(directory_size);  // at most kMaxDirectoryBytes
  end.directory_offset = kIn64;
  append_struct(out, end);
}

bool all_on_pages(const std::vector<DlcPiece>& pieces) {
  std::uint64_t at = 0;
  for (const DlcPiece& piece : pieces) {
    const bool whole = piece.range.offset % kPage == 0 && piece.range.size % kPage == 0 && at % kPage == 0;
    if (piece.bytes.empty() && !whole) return false;
    at += piece.size();
  }
  return true;
}

}  // namespace

Result<ThinDlc> build_thin(const mapping::OsFile& file, const Archive& archive, const std::vector<bool>& kept,
                           const std::optional<Replacement>& replacement) {
  Pieces pieces;
  std::vector<std::byte> directory;
  ThinDlc thin;
  for (std::size_t i = 0; i < archive.entries.size(); ++i) {
    if (!kept[i]) continue;
    const Entry& entry = archive.entries[i];
    const bool replaced = replacement && replacement->entry == i;
    const std::uint64_t header_at = pieces.size();
    if (replaced) {
      DiskCentralEntry central = entry.central;
      if (central.entry.crc != 0) central.entry.crc = crc32(replacement->bytes);
      const std::uint64_t size = replacement->bytes.size();
      pieces.add_bytes(new_header(entry, central, header_at, size));
      pieces.add_bytes(std::as_bytes(std::span(replacement->bytes)));
      append_row(directory, entry, central, size, header_at);
    } else {
      if (is_kept(entry, header_at)) {
        pieces.add_range({entry.header_offset, entry.data.offset - entry.header_offset});
      } else {
        pieces.add_bytes(new_header(entry, entry.central, header_at, entry.data.size));
      }
      pieces.add_range(entry.data);
      append_row(directory, entry, entry.central, entry.data.size, header_at);
    }
    thin.entries.push_back(entry.name);
  }
  append_end(directory, pieces.size(), thin.entries.size());
  pieces.add_bytes(directory);
  FATCTX_ASSIGN(Pieces split, on_pages(file, std::move(pieces).take()));
  thin.size_bytes = split.size();
  thin.pieces = std::move(split).take();
  for (const DlcPiece& piece : thin.pieces) thin.new_bytes += piece.bytes.size();
  thin.mappable = all_on_pages(thin.pieces);
  return thin;
}

}  // namespace fatctx::container::dlc
