#include "container/update/container_file.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "container/format/hash.h"
#include "container/read/leaves.h"
#include "container/read/stored_rows.h"

namespace fatctx::container {

std::string text_of(const ContainerName& name) {
  return fmt::format("generation {} of {}", static_cast<std::uint64_t>(name.generation), uuid_text(name.uuid));
}

ContainerName name_of(const Header& header) noexcept {
  return {.uuid = header.uuid,
          .generation = header.generation,
          .size = header.committed_end,
          .toc_hash = header.toc_hash.bytes};
}

bool has_magic(ByteView file, const std::array<std::byte, 8>& magic) noexcept {
  const std::size_t size = std::min(file.size(), magic.size());
  return size != 0 && std::equal(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size), magic.begin());
}

Result<ContainerFile> ContainerFile::open(const std::string& path) {
  auto file = mapping::open_for_reading(path);
  if (!file.ok()) return in_context(std::move(file).error(), path);
  ContainerFile container{.path = path, .file = std::move(file).value(), .opened = {}, .identity = {}};
  FATCTX_ASSIGN(mapping::FileIdentity identity, container.file->identity());
  if (!identity.regular) return Error{ErrorCode::kNotRegularFile, fmt::format("{}: not a regular file", path)};
  auto opened = read_growing(*container.file, identity, 0);
  if (!opened.ok()) return in_context(std::move(opened).error(), path);
  container.opened = std::move(opened).value();
  container.identity = identity;
  return container;
}

Status ContainerFile::check_unchanged(std::string_view again) const {
  FATCTX_ASSIGN(const mapping::FileIdentity now, file->identity());
  if (now.size == identity.size && now.modified == identity.modified) return Done{};
  return Error{ErrorCode::kChanged, fmt::format("{}: it was written to meanwhile; {} again", path, again)};
}

std::vector<StoredLeafHashes> stored_leaf_hashes(const Toc& toc) {
  std::vector<StoredLeafHashes> all;
  const StoredRows rows(toc);
  for (std::uint32_t i = 0; i < toc.segments.size(); ++i) {
    const Segment& segment = toc.segments[i];
    if (!segment.holds_payload() || segment.leaf_count() < 2) continue;
    const std::uint64_t count = segment.leaf_count();
    if (segment.leaves_segment != kNoSegment) {
      all.push_back({i, false, {offset_of_leaves(toc, segment), count * sizeof(DiskHash)}});
    }
    const SegmentDigest digest = rows.segment_digest(i);
    if (digest.leaves_segment != kNoSegment) {
      all.push_back({i, true, {offset_of_leaves(toc, digest), count * sizeof(DiskSha256)}});
    }
  }
  std::sort(all.begin(), all.end(),
            [](const StoredLeafHashes& a, const StoredLeafHashes& b) { return a.in_file.offset < b.in_file.offset; });
  return all;
}

namespace {

// Returns ranges that ascend; hostile tables name the same leaf hashes for several segments.
std::vector<ByteRange> joined(const std::vector<StoredLeafHashes>& hashes, ByteRange first) {
  std::vector<ByteRange> ranges = {first};
  for (const StoredLeafHashes& one : hashes) {
    ByteRange& last = ranges.back();
    const std::uint64_t end = last.offset + last.size;
    if (one.in_file.offset <= end) {
      last.size = std::max(end, one.in_file.offset + one.in_file.size) - last.offset;
    } else {
      ranges.push_back(one.in_file);
    }
  }
  return ranges;
}

}  // namespace

UpdateBytes bytes_of_old(const mapping::OsFile& file, const OpenedToc& opened, const std::atomic<bool>* cancel) {
  const Header& header = opened.header;
  return {file, header.committed_end, joined(stored_leaf_hashes(opened.toc), {0, header.form().size}), cancel};
}

UpdateBytes bytes_of_new(const ContainerFile& container, bool with_leaf_hashes, const std::atomic<bool>* cancel) {
  return {*container.file, container.opened.header.committed_end,
          with_leaf_hashes ? std::vector<ByteRange>() : joined(stored_leaf_hashes(container.opened.toc), {0, 0}),
          cancel};
}

Status UpdateBytes::read_at(std::uint64_t offset, std::span<std::byte> buffer) const {
  if (cancel_ != nullptr && cancel_->load(std::memory_order_relaxed)) {
    return Error{ErrorCode::kCancelled, "cancelled"};
  }
  FATCTX_TRY(file_.read_at(offset, buffer));
  const std::uint64_t end = offset + buffer.size();
  auto zeros = std::upper_bound(zeros_.begin(), zeros_.end(), offset, [](std::uint64_t at, const ByteRange& range) {
    return at < range.offset + range.size;
  });
  for (; zeros != zeros_.end() && zeros->offset < end; ++zeros) {
    const std::uint64_t first = std::max(zeros->offset, offset);
    const std::uint64_t last = std::min(zeros->offset + zeros->size, end);
    std::fill_n(buffer.begin() + static_cast<std::ptrdiff_t>(first - offset), last - first, std::byte{0});
  }
  return Done{};
}

}  // namespace fatctx::container
