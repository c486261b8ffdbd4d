#include "container/import/irpa.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <optional>
#include <string_view>
#include <utility>

#include "container/format/copy_out.h"
#include "container/format/disk_format.h"
#include "container/format/names.h"
#include "container/import/import_tensors.h"
#include "fatctx/base/checked.h"
#include "fatctx/base/little_endian.h"
#include "fatctx/import_irpa.h"

namespace fatctx::container {
namespace {

struct DiskRange {
  le64 offset;
  le64 size;

  [[nodiscard]] ByteRange range() const noexcept { return {offset, size}; }
};

struct DiskHeader {
  std::array<std::byte, 4> magic;
  le16 version_major;
  le16 version_minor;
  le64 header_size;
  le64 next_header_offset;
  le64 flags;
  le64 entry_count;
  DiskRange entries;
  DiskRange metadata;
  DiskRange storage;
};
static_assert(sizeof(DiskHeader) == kIrpaHeaderSize && alignof(DiskHeader) == 1);

struct DiskEntry {
  le64 entry_size;
  le32 type;
  le64 flags;
  DiskRange name;
  DiskRange metadata;
  le64 minimum_alignment;
};
static_assert(sizeof(DiskEntry) == 60 && alignof(DiskEntry) == 1);

struct DiskSplat {  // follows the DiskEntry
  le64 size;
  std::array<std::byte, 16> pattern;
  std::uint8_t pattern_size;
};
static_assert(sizeof(DiskSplat) == 25 && alignof(DiskSplat) == 1);

constexpr std::array<std::byte, 4> kIrpaMagic = {std::byte{'I'}, std::byte{'R'}, std::byte{'P'}, std::byte{'A'}};
constexpr unsigned kEntryAlignmentLog2 = 4;
enum EntryType : std::uint32_t { kSkip = 0, kSplat = 1, kData = 2, kExternal = 3 };

Error archive_error(ErrorCode code, std::uint64_t offset, std::string message) {
  return Error{code, "parameter archive: " + std::move(message), {.file_offset = offset}};
}

// Returns the range counted from byte 0; `inner` counts from `base`. As in the IREE runtime, the position of an empty
// range is ignored.
std::optional<ByteRange> resolve(std::uint64_t base, ByteRange inner, std::uint64_t limit) noexcept {
  if (inner.size == 0) return ByteRange{};
  const auto offset = checked_add(base, inner.offset);
  if (!offset || !within({*offset, inner.size}, limit)) return std::nullopt;
  return ByteRange{*offset, inner.size};
}

std::string_view text_of(ByteView bytes, ByteRange range) noexcept {
  // Characters and bytes may alias; the view is of names, which check_name validates next.
  return {reinterpret_cast<const char*>(bytes.data()) + range.offset, static_cast<std::size_t>(range.size)};
}

// Returns the range of a data entry in the file.
Result<ByteRange> data_range(const IrpaHeader& header, const DiskEntry& entry, DiskRange stored, std::string_view name,
                             std::uint64_t offset) {
  if (stored.size == 0) return ByteRange{};
  if (!within(stored.range(), header.storage.size)) {
    return archive_error(ErrorCode::kMalformed, offset,
                         fmt::format("entry \"{}\", {} bytes at {}, leaves the storage segment of {} bytes", name,
                                     static_cast<std::uint64_t>(stored.size), static_cast<std::uint64_t>(stored.offset),
                                     header.storage.size));
  }
  const ByteRange range{header.storage.offset + stored.offset, stored.size};  // inside the file: cannot wrap
  const std::uint64_t alignment = entry.minimum_alignment;
  if (alignment != 0 && (!std::has_single_bit(alignment) || range.offset % alignment != 0)) {
    return archive_error(ErrorCode::kMalformed, offset,
                         fmt::format("entry \"{}\" at byte {} is not aligned to {}, a power of two, as it says", name,
                                     range.offset, alignment));
  }
  return range;
}

Status check_splat(const DiskSplat& splat, std::string_view name, std::uint64_t offset) {
  const bool known_size = std::has_single_bit(splat.pattern_size) && splat.pattern_size <= splat.pattern.size();
  if (!known_size || splat.size % splat.pattern_size != 0) {
    return archive_error(ErrorCode::kMalformed, offset,
                         fmt::format("the pattern of entry \"{}\" has {} bytes for a size of {}; 1, 2, 4, 8 or 16 "
                                     "that divide the size are allowed",
                                     name, unsigned{splat.pattern_size}, static_cast<std::uint64_t>(splat.size)));
  }
  return Done{};
}

Result<std::vector<std::byte>> read_range(const mapping::OsFile& file, ByteRange range) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(range.size));
  if (!bytes.empty()) FATCTX_TRY(file.read_at(range.offset, bytes));
  return bytes;
}

Status check_unique(const std::vector<IrpaEntry>& entries) {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const IrpaEntry& entry : entries) names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return Done{};
  return Error{ErrorCode::kMalformed, fmt::format("parameter archive: entry \"{}\" appears twice", *twice)};
}

}  // namespace

Result<IrpaHeader> parse_irpa_header(ByteView bytes, std::uint64_t header_offset, std::uint64_t file_size) {
  const auto copied = copy_out<DiskHeader>(bytes, 0);
  if (!copied.ok()) {
    return archive_error(ErrorCode::kTruncated, header_offset,
                         fmt::format("{} bytes cannot hold the {}-byte header", bytes.size(), kIrpaHeaderSize));
  }
  const DiskHeader& disk = copied.value();
  if (disk.magic != kIrpaMagic) {
    return archive_error(ErrorCode::kBadMagic, header_offset, "no \"IRPA\" where a header should be");
  }
  if (disk.version_major != 0 || disk.version_minor != 0) {
    return archive_error(
        ErrorCode::kUnsupported, header_offset + offsetof(DiskHeader, version_major),
        fmt::format("version {}.{}; this library reads version 0.0", static_cast<unsigned>(disk.version_major),
                    static_cast<unsigned>(disk.version_minor)));
  }
  if (disk.header_size != sizeof(DiskHeader)) {
    return archive_error(ErrorCode::kMalformed, header_offset + offsetof(DiskHeader, header_size),
                         fmt::format("a header of {} bytes; version 0.0 has {}",
                                     static_cast<std::uint64_t>(disk.header_size), sizeof(DiskHeader)));
  }
  IrpaHeader header;
  struct Segment {
    std::string_view name;
    DiskRange from;
    ByteRange& to;
  };
  const Segment segments[] = {{"entry table", disk.entries, header.entries},
                              {"metadata segment", disk.metadata, header.metadata},
                              {"storage segment", disk.storage, header.storage}};
  for (const Segment& segment : segments) {
    const auto range = resolve(header_offset, segment.from.range(), file_size);
    if (!range) {
      return archive_error(ErrorCode::kMalformed, header_offset,
                           fmt::format("the {}, {} bytes at {} behind its header, leaves the file of {} bytes",
                                       segment.name, static_cast<std::uint64_t>(segment.from.size),
                                       static_cast<std::uint64_t>(segment.from.offset), file_size));
    }
    segment.to = *range;
  }
  header.entry_count = disk.entry_count;
  if (header.entry_count > kMaxIrpaEntries) {
    return archive_error(ErrorCode::kLimitExceeded, header_offset + offsetof(DiskHeader, entry_count),
                         fmt::format("{} entries; at most {} are allowed", header.entry_count, kMaxIrpaEntries));
  }
  if (header.entry_count > (header.entries.size + sizeof(DiskEntry) - 1) / sizeof(DiskEntry)) {
    return archive_error(
        ErrorCode::kMalformed, header_offset + offsetof(DiskHeader, entry_count),
        fmt::format("{} entries do not fit an entry table of {} bytes", header.entry_count, header.entries.size));
  }
  if (disk.next_header_offset != 0) {
    const auto next = checked_add(header_offset, disk.next_header_offset);
    if (!next || !within({*next, kIrpaHeaderSize}, file_size)) {
      return archive_error(ErrorCode::kMalformed, header_offset + offsetof(DiskHeader, next_header_offset),
                           fmt::format("the next header, {} bytes behind this one, leaves the file of {} bytes",
                                       static_cast<std::uint64_t>(disk.next_header_offset), file_size));
    }
    header.next_header = *next;
  }
  return header;
}

Status parse_irpa_entries(const IrpaHeader& header, ByteView table, ByteView metadata,
                          std::vector<IrpaEntry>& entries) {
  std::uint64_t at = 0;  // offset in the table
  for (std::uint64_t i = 0; i < header.entry_count; ++i) {
    const std::uint64_t offset = header.entries.offset + at;
    const auto copied = copy_out<DiskEntry>(table, at);
    const DiskEntry disk = copied.ok() ? copied.value() : DiskEntry{};
    if (disk.entry_size < sizeof(DiskEntry) || !within({at, disk.entry_size}, table.size())) {
      return archive_error(ErrorCode::kMalformed, offset,
                           fmt::format("entry {} does not fit the entry table of {} bytes", i, table.size()));
    }
    const ByteView body = table.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(disk.entry_size))
                              .subspan(sizeof(DiskEntry));
    const auto aligned = checked_align_up(disk.entry_size, kEntryAlignmentLog2);
    at += aligned.value_or(disk.entry_size);  // at most 15 past the end of the table: copy_out refuses that
    for (const DiskRange& reference : {disk.name, disk.metadata}) {
      if (reference.size == 0 || within(reference.range(), metadata.size())) continue;
      return archive_error(
          ErrorCode::kMalformed, offset,
          fmt::format("name or metadata of entry {} leaves the metadata segment of {} bytes", i, metadata.size()));
    }
    if (disk.type == kSkip) continue;
    if (disk.name.size == 0) {
      return archive_error(ErrorCode::kMalformed, offset + offsetof(DiskEntry, name),
                           fmt::format("entry {} has no name", i));
    }
    const std::string_view name = text_of(metadata, disk.name.range());
    if (auto status = check_name(name, kMaxTensorNameSize, true, "entry name"); !status.ok()) {
      return archive_error(ErrorCode::kMalformed, offset + offsetof(DiskEntry, name), status.error().message);
    }
    IrpaEntry entry{.name = std::string(name), .range = {}, .splat = disk.type == kSplat};
    if (disk.type == kSplat) {
      const auto splat = copy_out<DiskSplat>(body, 0);
      if (!splat.ok()) {
        return archive_error(ErrorCode::kMalformed, offset,
                             fmt::format("entry \"{}\" is too short for a pattern", name));
      }
      FATCTX_TRY(check_splat(splat.value(), name, offset));
      entry.range.size = splat.value().size;
    } else if (disk.type == kData) {
      const auto stored = copy_out<DiskRange>(body, 0);
      if (!stored.ok()) {
        return archive_error(ErrorCode::kMalformed, offset,
                             fmt::format("entry \"{}\" is too short for the place of its data", name));
      }
      FATCTX_ASSIGN(entry.range, data_range(header, disk, stored.value(), name, offset));
    } else {
      return archive_error(
          ErrorCode::kUnsupported, offset + offsetof(DiskEntry, type),
          disk.type == kExternal
              ? fmt::format("entry \"{}\" is stored in another file; make one archive with iree-convert-parameters",
                            name)
              : fmt::format("entry \"{}\" has the unknown type {}", name, static_cast<std::uint32_t>(disk.type)));
    }
    if (entries.size() == kMaxIrpaEntries) {
      return archive_error(ErrorCode::kLimitExceeded, offset,
                           fmt::format("more than {} entries in all headers", kMaxIrpaEntries));
    }
    entries.push_back(std::move(entry));
  }
  return Done{};
}

Result<std::vector<IrpaEntry>> read_irpa_index(const mapping::OsFile& file, std::uint64_t file_size) {
  std::vector<IrpaEntry> entries;
  std::uint64_t header_offset = 0;
  std::uint64_t index_bytes = 0;
  for (std::uint64_t headers = 0;; ++headers) {
    if (headers == kMaxIrpaHeaders) {
      return archive_error(
          ErrorCode::kLimitExceeded, header_offset,
          fmt::format("more than {} headers; make one of them with iree-convert-parameters", kMaxIrpaHeaders));
    }
    const std::uint64_t header_size = std::min(kIrpaHeaderSize, file_size - header_offset);
    FATCTX_ASSIGN(const auto header_bytes, read_range(file, {header_offset, header_size}));
    FATCTX_ASSIGN(const IrpaHeader header, parse_irpa_header(header_bytes, header_offset, file_size));
    // Cannot wrap: both sizes are below the file size, which is below 2^63 on every system.
    index_bytes += header.entries.size + header.metadata.size;
    if (index_bytes > kMaxIrpaIndexBytes) {
      return archive_error(
          ErrorCode::kLimitExceeded, header_offset,
          fmt::format("an index of {} bytes; at most {} are allowed", index_bytes, kMaxIrpaIndexBytes));
    }
    FATCTX_ASSIGN(const auto table, read_range(file, header.entries));
    FATCTX_ASSIGN(const auto metadata, read_range(file, header.metadata));
    FATCTX_TRY(parse_irpa_entries(header, table, metadata, entries));
    if (header.next_header == 0) break;
    header_offset = header.next_header;  // always greater: so the chain ends with the file
  }
  FATCTX_TRY(check_unique(entries));
  return entries;
}

}  // namespace fatctx::container

namespace fatctx {

Result<IrpaTensors> tensors_from_irpa(const std::string& path) {
  FATCTX_ASSIGN(const container::OpenedWeights opened, container::open_weights(path));
  auto entries = container::read_irpa_index(*opened.file, opened.size);
  if (!entries.ok()) return in_context(std::move(entries).error(), path);

  IrpaTensors result;
  result.file_size = opened.size;
  for (container::IrpaEntry& entry : entries.value()) {
    if (entry.splat) {
      ++result.splat_count;
      continue;
    }
    result.tensors.push_back({.name = std::move(entry.name),
                              .dtype = DType::kU8,
                              .shape = {entry.range.size},
                              .offset_in_blob = entry.range.offset,
                              .size_bytes = entry.range.size,
                              .alias = false});
  }
  mark_aliases(result.tensors);
  return result;
}

}  // namespace fatctx
