#include "container/dlc/archive.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <string_view>
#include <utility>

#include "container/format/copy_out.h"
#include "container/format/names.h"
#include "fatctx/base/checked.h"

namespace fatctx::container::dlc {
namespace {

Error archive_error(ErrorCode code, std::uint64_t offset, std::string message) {
  return Error{code, "dlc: " + std::move(message), {.file_offset = offset}};
}

Error entry_error(ErrorCode code, std::string_view name, std::uint64_t offset, std::string_view message) {
  return archive_error(code, offset, fmt::format("entry \"{}\": {}", name, message));
}

template <typename T>
Result<T> read_struct(const mapping::OsFile& file, std::uint64_t offset) {
  std::array<std::byte, sizeof(T)> bytes;
  FATCTX_TRY(file.read_at(offset, bytes));
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  return value;
}

std::string_view text_of(ByteView bytes) noexcept {
  // Characters and bytes may alias; check_name validates the text before it is used.
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

struct Directory {
  ByteRange range;
  std::uint64_t entry_count = 0;
};

Status check_one_disk(bool one, std::uint64_t offset) {
  if (one) return Done{};
  return archive_error(ErrorCode::kUnsupported, offset,
                       "the archive is split over several disks; join its parts first");
}

// The end records are the last bytes of the file. They are not searched for: a crafted file could mislead a search.
Result<Directory> read_directory(const mapping::OsFile& file, std::uint64_t file_size) {
  if (file_size < sizeof(DiskEnd)) {
    return archive_error(ErrorCode::kTruncated, 0,
                         fmt::format("{} bytes cannot hold the {}-byte end record", file_size, sizeof(DiskEnd)));
  }
  const std::uint64_t end_at = file_size - sizeof(DiskEnd);
  FATCTX_ASSIGN(const DiskEnd end, read_struct<DiskEnd>(file, end_at));
  if (end.signature != kEndSignature || end.comment_size != 0) {
    return archive_error(ErrorCode::kBadMagic, end_at,
                         "no end record of a ZIP archive in the last 22 bytes; the file is not a DLC, is truncated, or "
                         "has bytes behind its end");
  }
  FATCTX_TRY(check_one_disk(
      (end.disk == 0 && end.directory_disk == 0) || (end.disk == kIn64Short && end.directory_disk == kIn64Short),
      end_at));
  Directory directory{{end.directory_offset, end.directory_size}, end.entry_count};
  std::uint64_t directory_end = end_at;
  const bool in64 = end.entry_count == kIn64Short || end.directory_size == kIn64 || end.directory_offset == kIn64;
  if (end_at >= sizeof(DiskZip64Locator)) {
    const std::uint64_t locator_at = end_at - sizeof(DiskZip64Locator);
    FATCTX_ASSIGN(const DiskZip64Locator locator, read_struct<DiskZip64Locator>(file, locator_at));
    if (locator.signature == kZip64LocatorSignature) {
      FATCTX_TRY(check_one_disk(locator.disk == 0 && locator.disk_count <= 1, locator_at));
      const std::uint64_t end64_at = locator.end_offset;
      if (!within({end64_at, sizeof(DiskZip64End)}, locator_at) || end64_at + sizeof(DiskZip64End) != locator_at) {
        return archive_error(ErrorCode::kMalformed, locator_at,
                             fmt::format("the ZIP64 end record is said to be at byte {}; it must lie directly in front "
                                         "of its locator",
                                         end64_at));
      }
      FATCTX_ASSIGN(const DiskZip64End end64, read_struct<DiskZip64End>(file, end64_at));
      if (end64.signature != kZip64EndSignature || end64.rest_size != sizeof(DiskZip64End) - 12) {
        return archive_error(ErrorCode::kMalformed, end64_at, "no ZIP64 end record where its locator says");
      }
      FATCTX_TRY(check_one_disk(end64.disk == 0 && end64.directory_disk == 0, end64_at));
      if (end64.disk_entry_count != end64.entry_count) {
        return archive_error(ErrorCode::kMalformed, end64_at, "the ZIP64 end record gives two numbers of entries");
      }
      const bool agree = (end.entry_count == kIn64Short || end.entry_count == end64.entry_count) &&
                         (end.directory_size == kIn64 || end.directory_size == end64.directory_size) &&
                         (end.directory_offset == kIn64 || end.directory_offset == end64.directory_offset);
      if (!agree) {
        return archive_error(ErrorCode::kMalformed, end_at, "the end record and the ZIP64 end record contradict");
      }
      directory = {{end64.directory_offset, end64.directory_size}, end64.entry_count};
      directory_end = end64_at;
    } else if (in64) {
      return archive_error(ErrorCode::kMalformed, locator_at,
                           "the ZIP64 locator in front of the end record is missing");
    }
  } else if (in64) {
    return archive_error(ErrorCode::kTruncated, end_at, "the file begins behind its ZIP64 end record");
  }
  if (!within(directory.range, directory_end) || directory.range.offset + directory.range.size != directory_end) {
    return archive_error(ErrorCode::kMalformed, end_at,
                         fmt::format("the directory, {} bytes at {}, does not end where the end records begin, at {}",
                                     directory.range.size, directory.range.offset, directory_end));
  }
  if (directory.entry_count > kMaxEntries) {
    return archive_error(ErrorCode::kLimitExceeded, end_at,
                         fmt::format("{} entries; at most {} are allowed", directory.entry_count, kMaxEntries));
  }
  if (directory.range.size > kMaxDirectoryBytes) {
    return archive_error(
        ErrorCode::kLimitExceeded, directory.range.offset,
        fmt::format("a directory of {} bytes; at most {} are allowed", directory.range.size, kMaxDirectoryBytes));
  }
  return directory;
}

// Returns the content of the ZIP64 field in `extra`; empty if it does not exist. Returns nothing if the sizes of the
// fields are inconsistent.
std::optional<ByteView> zip64_field(ByteView extra) {
  ByteView found;
  while (extra.size() >= sizeof(DiskExtraField)) {
    DiskExtraField field;
    std::memcpy(&field, extra.data(), sizeof(field));
    extra = extra.subspan(sizeof(field));
    if (field.size > extra.size()) return std::nullopt;
    if (field.id == kZip64Field) {
      if (!found.empty()) return std::nullopt;
      found = extra.first(field.size);
    }
    extra = extra.subspan(field.size);
  }
  if (!all_zero(extra)) return std::nullopt;  // some writers pad with fewer zeros than a field header has
  return found;
}

// Returns the value, or the next number of the ZIP64 field if the record holds kIn64.
std::optional<std::uint64_t> widened(std::uint32_t value, ByteView& field) {
  if (value != kIn64) return value;
  if (field.size() < sizeof(le64)) return std::nullopt;
  le64 number;
  std::memcpy(&number, field.data(), sizeof(number));
  field = field.subspan(sizeof(number));
  return number;
}

Status check_form(std::string_view name, std::uint64_t offset, std::uint16_t flags, std::uint16_t method) {
  if ((flags & kFlagEncrypted) != 0) {
    return entry_error(ErrorCode::kUnsupported, name, offset, "encrypted; entries of a DLC are stored as they are");
  }
  if ((flags & kFlagDescriptor) != 0) {
    return entry_error(ErrorCode::kUnsupported, name, offset,
                       "its sizes are behind its data; entries of a DLC have them in front");
  }
  if (method != kStored) {
    return entry_error(ErrorCode::kUnsupported, name, offset,
                       fmt::format("compressed by method {}; entries of a DLC are stored as they are", method));
  }
  return Done{};
}

// Parses one row of the directory at `at` of `bytes`; `directory_offset` is that of the directory in the file.
Result<Entry> parse_row(ByteView bytes, std::uint64_t& at, std::uint64_t directory_offset) {
  const std::uint64_t offset = directory_offset + at;
  const auto fixed = copy_out<DiskCentralEntry>(bytes, at);
  if (!fixed.ok()) return archive_error(ErrorCode::kMalformed, offset, "the directory ends inside of a row");
  Entry entry;
  entry.central = fixed.value();
  const DiskCentralEntry& row = entry.central;
  if (row.signature != kCentralSignature) {
    return archive_error(ErrorCode::kMalformed, offset, "no row of the directory where one must be");
  }
  ByteView rest = bytes.subspan(static_cast<std::size_t>(at) + sizeof(row));
  if (rest.size() < std::size_t{row.entry.name_size} + row.entry.extra_size + row.comment_size) {
    return archive_error(ErrorCode::kMalformed, offset, "the directory ends inside of a row");
  }
  const std::string_view name = text_of(rest.first(row.entry.name_size));
  auto named = check_name(name, kMaxEntryName, true, "entry name");
  if (!named.ok()) return archive_error(named.error().code, offset + sizeof(row), named.error().message);
  entry.name = name;
  FATCTX_TRY(check_form(name, offset, row.entry.flags, row.entry.method));
  if (row.disk != 0) FATCTX_TRY(check_one_disk(false, offset));
  auto field = zip64_field(rest.subspan(row.entry.name_size, row.entry.extra_size));
  if (!field) return entry_error(ErrorCode::kMalformed, name, offset, "its extra fields do not add up");
  const auto size = widened(row.entry.size, *field);
  const auto stored_size = widened(row.entry.stored_size, *field);
  const auto header_offset = widened(row.header_offset, *field);
  if (!size || !stored_size || !header_offset) {
    return entry_error(ErrorCode::kMalformed, name, offset, "its ZIP64 field is too short for the numbers left to it");
  }
  if (*size != *stored_size) {
    return entry_error(ErrorCode::kMalformed, name, offset,
                       fmt::format("stored as it is, but {} bytes become {}", *stored_size, *size));
  }
  entry.header_offset = *header_offset;
  entry.data.size = *size;
  at += sizeof(row) + row.entry.name_size + row.entry.extra_size + row.comment_size;
  return entry;
}

// Returns the alignment that the extra fields of a header state, if they have the form in which compilers write them.
std::optional<std::uint32_t> alignment_in(ByteView extra, std::uint64_t data_offset) {
  const auto read = copy_out<DiskPaddedZip64>(extra, 0);
  if (!read.ok()) return std::nullopt;
  const DiskPaddedZip64& field = read.value();
  const bool padded = field.field.id == kZip64Field && field.field.size + sizeof(DiskExtraField) == extra.size() &&
                      field.padding == extra.size() - sizeof(DiskPaddedZip64);
  if (!padded || !std::has_single_bit(std::uint32_t{field.alignment}) || data_offset % field.alignment != 0) {
    return std::nullopt;
  }
  return field.alignment;
}

// Reads the header in front of the data, which must match the directory, and computes where the data begins.
Status place_data(const mapping::OsFile& file, Entry& entry, std::uint64_t limit) {
  const std::uint64_t at = entry.header_offset;
  if (!within({at, sizeof(DiskLocalHeader)}, limit)) {
    return entry_error(ErrorCode::kMalformed, entry.name, at,
                       fmt::format("its header at byte {} is not in front of the directory at {}", at, limit));
  }
  FATCTX_ASSIGN(const DiskLocalHeader header, read_struct<DiskLocalHeader>(file, at));
  if (header.signature != kLocalSignature) {
    return entry_error(ErrorCode::kMalformed, entry.name, at, "no entry begins where the directory says");
  }
  const std::uint64_t text_at = at + sizeof(header);
  std::vector<std::byte> text(std::size_t{header.entry.name_size} + header.entry.extra_size);
  if (!within({text_at, text.size()}, limit)) {
    return entry_error(ErrorCode::kMalformed, entry.name, at, "its header reaches into the directory");
  }
  if (!text.empty()) FATCTX_TRY(file.read_at(text_at, text));
  if (text_of(ByteView(text).first(header.entry.name_size)) != entry.name) {
    return entry_error(ErrorCode::kMalformed, entry.name, text_at, "its header has another name than the directory");
  }
  FATCTX_TRY(check_form(entry.name, at, header.entry.flags, header.entry.method));
  auto field = zip64_field(ByteView(text).subspan(header.entry.name_size));
  if (!field) return entry_error(ErrorCode::kMalformed, entry.name, text_at, "its extra fields do not add up");
  const auto size = widened(header.entry.size, *field);
  const auto stored_size = widened(header.entry.stored_size, *field);
  if (size != entry.data.size || stored_size != entry.data.size) {
    return entry_error(ErrorCode::kMalformed, entry.name, at,
                       fmt::format("its header has another size than the {} bytes of the directory", entry.data.size));
  }
  entry.data.offset = text_at + text.size();
  entry.alignment = alignment_in(ByteView(text).subspan(header.entry.name_size), entry.data.offset);
  if (!within(entry.data, limit)) {
    return entry_error(
        ErrorCode::kMalformed, entry.name, at,
        fmt::format("{} bytes at {} reach into the directory at {}", entry.data.size, entry.data.offset, limit));
  }
  return Done{};
}

Status check_unique(const std::vector<Entry>& entries) {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const Entry& entry : entries) names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return Done{};
  const auto second = std::find_if(entries.rbegin(), entries.rend(), [&](const Entry& e) { return e.name == *twice; });
  return entry_error(ErrorCode::kMalformed, *twice, second->header_offset, "appears twice");
}

}  // namespace

Result<Archive> read_archive(const mapping::OsFile& file, std::uint64_t file_size) {
  FATCTX_ASSIGN(const Directory directory, read_directory(file, file_size));
  std::vector<std::byte> bytes(static_cast<std::size_t>(directory.range.size));
  if (!bytes.empty()) FATCTX_TRY(file.read_at(directory.range.offset, bytes));
  Archive archive;
  archive.file_size = file_size;
  std::uint64_t at = 0;
  for (std::uint64_t i = 0; i < directory.entry_count; ++i) {
    FATCTX_ASSIGN(Entry entry, parse_row(bytes, at, directory.range.offset));
    archive.entries.push_back(std::move(entry));
  }
  if (at != bytes.size()) {
    return archive_error(ErrorCode::kMalformed, directory.range.offset + at,
                         fmt::format("{} bytes of the directory belong to none of its {} rows", bytes.size() - at,
                                     directory.entry_count));
  }
  FATCTX_TRY(check_unique(archive.entries));
  std::stable_sort(archive.entries.begin(), archive.entries.end(),
                   [](const Entry& a, const Entry& b) { return a.header_offset < b.header_offset; });
  const Entry* previous = nullptr;
  for (Entry& entry : archive.entries) {
    FATCTX_TRY(place_data(file, entry, directory.range.offset));
    if (previous != nullptr && entry.header_offset < previous->data.offset + previous->data.size) {
      return entry_error(ErrorCode::kMalformed, entry.name, entry.header_offset,
                         fmt::format("overlaps entry \"{}\"", previous->name));
    }
    previous = &entry;
  }
  return archive;
}

Result<std::string> first_entry_name(const mapping::OsFile& file, std::uint64_t file_size) {
  if (file_size < sizeof(DiskLocalHeader)) return std::string();
  FATCTX_ASSIGN(const DiskLocalHeader header, read_struct<DiskLocalHeader>(file, 0));
  const std::size_t size = header.entry.name_size;
  if (header.signature != kLocalSignature || size > kMaxEntryName) return std::string();
  std::string name(size, '\0');
  if (!within({sizeof(header), size}, file_size)) return std::string();
  if (size != 0) FATCTX_TRY(file.read_at(sizeof(header), std::as_writable_bytes(std::span(name))));
  return name;
}

}  // namespace fatctx::container::dlc
