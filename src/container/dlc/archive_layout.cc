#include "container/dlc/archive_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "container/format/copy_out.h"
#include "container/format/disk_format.h"
#include "container/format/hash.h"
#include "container/format/names.h"
#include "fatctx/base/checked.h"
#include "fatctx/base/little_endian.h"

namespace fatctx::container::dlc {
namespace {

constexpr std::array<char, 8> kMagic = {'D', 'L', 'C', 'L', 'A', 'Y', 'T', '\n'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kReadUnit = std::size_t{1} << 20;

struct DiskLayout {  // followed by the entries, their concatenated names, and the rest of the archive
  std::array<char, 8> magic = kMagic;
  le32 version;
  le32 entry_count;
  le64 file_size;
  le64 rest_size;
  DiskHash hash = {};
};
static_assert(sizeof(DiskLayout) == 48 && alignof(DiskLayout) == 1);

struct DiskLayoutEntry {
  le64 offset;
  le64 size;
  DiskHash hash = {};
  le32 name_size;
  le32 reserved;
};
static_assert(sizeof(DiskLayoutEntry) == 40 && alignof(DiskLayoutEntry) == 1);

Error layout_error(ErrorCode code, std::uint64_t offset, std::string message) {
  return Error{code, "dlc layout: " + std::move(message), {.file_offset = offset}};
}

// Reads the file from `at` to `end` in pieces, and hands each to `take`.
template <typename Take>
Status read_through(const mapping::OsFile& file, std::uint64_t at, std::uint64_t end, std::vector<std::byte>& buffer,
                    const Take& take) {
  while (at != end) {
    const auto piece = std::span(buffer).first(static_cast<std::size_t>(std::min<std::uint64_t>(kReadUnit, end - at)));
    FATCTX_TRY(file.read_at(at, piece));
    take(ByteView(piece));
    at += piece.size();
  }
  return Done{};
}

Status check_unique(const std::vector<LayoutEntry>& entries) {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const LayoutEntry& entry : entries) names.push_back(entry.record);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return Done{};
  return layout_error(ErrorCode::kMalformed, sizeof(DiskLayout),
                      fmt::format("two entries have their bytes from record \"{}\"", *twice));
}

}  // namespace

Result<ArchiveLayout> read_layout(const mapping::OsFile& file, const Archive& archive,
                                  const std::vector<std::string>& records) {
  ArchiveLayout layout;
  layout.file_size = archive.file_size;
  std::uint64_t rest = archive.file_size;
  for (const Entry& entry : archive.entries) rest -= entry.data.size;
  if (rest > kMaxRestBytes) {
    return Error{
        ErrorCode::kLimitExceeded,
        fmt::format("dlc: {} bytes of the archive belong to no entry; at most {} are kept", rest, kMaxRestBytes)};
  }
  layout.rest.reserve(static_cast<std::size_t>(rest));
  std::vector<std::byte> buffer(kReadUnit);
  Hasher all;
  std::uint64_t at = 0;
  const auto keep_rest = [&](std::uint64_t end) {
    return read_through(file, at, end, buffer, [&](ByteView bytes) {
      all.update(bytes);
      layout.rest.insert(layout.rest.end(), bytes.begin(), bytes.end());
    });
  };
  for (std::size_t i = 0; i < archive.entries.size(); ++i) {
    const ByteRange data = archive.entries[i].data;
    FATCTX_TRY(keep_rest(data.offset));
    at = data.offset + data.size;
    Hasher own;
    FATCTX_TRY(read_through(file, data.offset, at, buffer, [&](ByteView bytes) {
      all.update(bytes);
      own.update(bytes);
    }));
    layout.entries.push_back({records[i], data, own.digest()});
  }
  FATCTX_TRY(keep_rest(archive.file_size));
  layout.hash = all.digest();
  return layout;
}

std::vector<std::byte> encode_layout(const ArchiveLayout& layout) {
  std::vector<std::byte> out;
  DiskLayout head;
  head.version = kVersion;
  head.entry_count = static_cast<std::uint32_t>(layout.entries.size());
  head.file_size = layout.file_size;
  head.rest_size = layout.rest.size();
  head.hash = layout.hash.bytes;
  append_struct(out, head);
  for (const LayoutEntry& entry : layout.entries) {
    DiskLayoutEntry row;
    row.offset = entry.data.offset;
    row.size = entry.data.size;
    row.hash = entry.hash.bytes;
    row.name_size = static_cast<std::uint32_t>(entry.record.size());
    append_struct(out, row);
  }
  for (const LayoutEntry& entry : layout.entries) {
    const ByteView name = std::as_bytes(std::span(entry.record));
    out.insert(out.end(), name.begin(), name.end());
  }
  out.insert(out.end(), layout.rest.begin(), layout.rest.end());
  return out;
}

Result<ArchiveLayout> parse_layout(ByteView bytes) {
  const auto head = copy_out<DiskLayout>(bytes, 0);
  if (!head.ok() || head.value().magic != kMagic) {
    return layout_error(ErrorCode::kMalformed, 0, "it does not begin as a layout does");
  }
  if (head.value().version != kVersion) {
    return layout_error(ErrorCode::kUnsupported, 8,
                        fmt::format("version {}; this library knows {}: use a newer one",
                                    std::uint32_t{head.value().version}, kVersion));
  }
  const std::uint64_t count = head.value().entry_count;
  if (count > kMaxEntries || head.value().file_size > kMaxFileSize) {
    return layout_error(ErrorCode::kLimitExceeded, 12,
                        fmt::format("{} entries in {} bytes; at most {} in {} are allowed", count,
                                    std::uint64_t{head.value().file_size}, kMaxEntries, kMaxFileSize));
  }
  ArchiveLayout layout;
  layout.file_size = head.value().file_size;
  layout.hash.bytes = head.value().hash;
  std::uint64_t at = sizeof(DiskLayout);
  std::uint64_t name_at = at + count * sizeof(DiskLayoutEntry);
  std::uint64_t before = 0;  // end of the previous entry
  std::uint64_t payload = 0;
  for (std::uint64_t i = 0; i < count; ++i, at += sizeof(DiskLayoutEntry)) {
    const auto row = copy_out<DiskLayoutEntry>(bytes, at);
    if (!row.ok()) return layout_error(ErrorCode::kMalformed, at, "it ends inside of its entries");
    LayoutEntry entry;
    entry.data = {row.value().offset, row.value().size};
    entry.hash.bytes = row.value().hash;
    if (!within(entry.data, layout.file_size) || entry.data.offset < before || row.value().reserved != 0) {
      return layout_error(ErrorCode::kMalformed, at,
                          fmt::format("entry {} is not in the archive after the one before", i));
    }
    const ByteRange name{name_at, row.value().name_size};
    if (!within(name, bytes.size())) return layout_error(ErrorCode::kMalformed, at, "it ends inside of its names");
    const ByteView text = bytes.subspan(static_cast<std::size_t>(name.offset), static_cast<std::size_t>(name.size));
    // Characters and bytes may alias; check_name validates the text before it is used.
    entry.record.assign(reinterpret_cast<const char*>(text.data()), text.size());
    auto named = check_name(entry.record, kMaxNameSize, false, "record name");
    if (!named.ok()) return layout_error(ErrorCode::kMalformed, name.offset, named.error().message);
    name_at += name.size;
    before = entry.data.offset + entry.data.size;
    payload += entry.data.size;
    layout.entries.push_back(std::move(entry));
  }
  const std::uint64_t rest = head.value().rest_size;
  if (rest != layout.file_size - payload || name_at > bytes.size() || rest != bytes.size() - name_at) {
    return layout_error(ErrorCode::kMalformed, name_at,
                        fmt::format("an archive of {} bytes with {} in entries needs {} more, and there are {}",
                                    layout.file_size, payload, layout.file_size - payload,
                                    bytes.size() - std::min<std::uint64_t>(name_at, bytes.size())));
  }
  const ByteView left = bytes.subspan(static_cast<std::size_t>(name_at));
  layout.rest.assign(left.begin(), left.end());
  FATCTX_TRY(check_unique(layout.entries));
  return layout;
}

std::vector<LayoutRun> runs_in(const ArchiveLayout& layout, ByteRange range) {
  std::vector<LayoutRun> runs;
  std::uint64_t entry_bytes = 0;  // bytes of entries in front of `at`
  std::uint64_t at = 0;           // offset in the archive
  const auto take = [&](std::size_t entry, std::uint64_t end) {
    const std::uint64_t from = std::max(at, range.offset);
    const std::uint64_t to = std::min(end, range.offset + range.size);
    if (from < to) runs.push_back({entry, entry == LayoutRun::kRest ? from - entry_bytes : from - at, to - from});
    at = end;
  };
  for (std::size_t i = 0; i < layout.entries.size(); ++i) {
    const ByteRange data = layout.entries[i].data;
    take(LayoutRun::kRest, data.offset);
    take(i, data.offset + data.size);
    entry_bytes += data.size;
  }
  take(LayoutRun::kRest, layout.file_size);
  return runs;
}

Status StoredArchive::read_at(std::uint64_t offset, std::span<std::byte> buffer) const {
  if (!within({offset, buffer.size()}, layout_.file_size)) {
    return Error{
        ErrorCode::kTruncated, fmt::format("the archive ends at byte {}", layout_.file_size), {.file_offset = offset}};
  }
  for (const LayoutRun& run : runs_in(layout_, {offset, buffer.size()})) {
    const auto size = static_cast<std::size_t>(run.size);
    if (run.entry == LayoutRun::kRest) {
      const ByteView from = ByteView(layout_.rest).subspan(static_cast<std::size_t>(run.offset), size);
      std::copy(from.begin(), from.end(), buffer.begin());
    } else {
      FATCTX_TRY(read_(run.entry, run.offset, buffer.first(size)));
    }
    buffer = buffer.subspan(size);
  }
  return Done{};
}

Result<mapping::FileIdentity> StoredArchive::identity() const {
  mapping::FileIdentity identity;
  identity.size = layout_.file_size;
  identity.regular = true;
  return identity;
}

}  // namespace fatctx::container::dlc
