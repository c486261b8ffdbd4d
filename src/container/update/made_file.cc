#include "container/update/made_file.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "container/check/leaf_parts.h"
#include "container/format/leaf_range.h"
#include "container/read/leaves.h"
#include "container/update/container_file.h"
#include "mapping/look_through.h"

namespace fatctx::container {
namespace {

constexpr std::size_t kBuffer = std::size_t{1} << 20;

}  // namespace

MadeFile::MadeFile(mapping::OsFile& file) : file_(file), buffer_(kBuffer), hasher_(std::make_unique<Hasher>()) {}

Status MadeFile::flush() {
  hasher_->update(ByteView(buffer_).subspan(hashed_, used_ - hashed_));
  FATCTX_TRY(file_.write_at(written_, ByteView(buffer_).first(used_)));
  written_ += used_;
  used_ = hashed_ = 0;
  return Done{};
}

Result<std::span<std::byte>> MadeFile::room(std::uint64_t most) {
  if (used_ == buffer_.size()) FATCTX_TRY(flush());
  const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(most, buffer_.size() - used_));
  return std::span(buffer_).subspan(used_, size);
}

Status MadeFile::read_at(std::uint64_t offset, std::span<std::byte> out) {
  if (offset < written_) {
    const auto size = static_cast<std::size_t>(std::min<std::uint64_t>(out.size(), written_ - offset));
    FATCTX_TRY(file_.read_at(offset, out.first(size)));
    offset += size;
    out = out.subspan(size);
  }
  std::copy_n(buffer_.begin() + static_cast<std::ptrdiff_t>(offset - written_), out.size(), out.begin());
  return Done{};
}

Result<Hash128> MadeFile::end_part() {
  FATCTX_TRY(flush());
  return std::exchange(hasher_, std::make_unique<Hasher>())->digest();
}

namespace {

// The leaf hashes of one algorithm of the segment that is read. They are written page by page.
template <typename Hash>
class HashColumn {
 public:
  HashColumn(mapping::OsFile& file, std::uint64_t offset) : file_(file), offset_(offset) {}

  void add(ByteView leaf) { page_.push_back(leaf_hash<Hash>(leaf)); }
  [[nodiscard]] bool page_is_full() const noexcept { return page_.size() >= kLeavesPerPage; }
  Status write(std::uint64_t& written) {
    const ByteView bytes = std::as_bytes(std::span(page_));
    FATCTX_TRY(file_.write_at(offset_, bytes));
    offset_ += bytes.size();
    written += bytes.size();
    page_.clear();
    return Done{};
  }

 private:
  mapping::OsFile& file_;
  std::uint64_t offset_;
  std::vector<Hash> page_;
};

class HashWriter {
 public:
  HashWriter(mapping::OsFile& file, const Toc& toc, const mapping::AfterPiece& after)
      : file_(file), toc_(toc), after_(after) {}

  Result<std::uint64_t> run() {
    std::vector<StoredLeafHashes> stored = stored_leaf_hashes(toc_);
    std::sort(stored.begin(), stored.end(), [](const StoredLeafHashes& a, const StoredLeafHashes& b) {
      return std::pair(a.segment, a.sha256) < std::pair(b.segment, b.sha256);
    });
    for (std::size_t i = 0; i < stored.size();) {
      const bool both = i + 1 < stored.size() && stored[i + 1].segment == stored[i].segment;
      FATCTX_TRY(write_hashes(std::span(stored).subspan(i, both ? 2 : 1)));
      i += both ? 2 : 1;
    }
    for (std::uint32_t i = 0; i < toc_.segments.size(); ++i) {
      if (toc_.segments[i].holds_payload()) FATCTX_TRY(check(i));
    }
    return written_;
  }

 private:
  Status write_hashes(std::span<const StoredLeafHashes> stored) {
    const Segment& segment = toc_.segments[stored.front().segment];
    HashColumn<Hash128> xxh3(file_, stored.front().in_file.offset);
    HashColumn<DiskSha256> sha256(file_, stored.back().in_file.offset);
    const bool with_xxh3 = !stored.front().sha256;
    const bool with_sha256 = stored.back().sha256;
    const auto write = [&]() -> Status {
      if (with_xxh3) FATCTX_TRY(xxh3.write(written_));
      if (with_sha256) FATCTX_TRY(sha256.write(written_));
      return Done{};
    };
    FATCTX_TRY(mapping::look_through(
        file_, {segment.offset, segment.size},
        [&](ByteView piece) {
          for (; !piece.empty();) {
            const ByteView leaf = piece.first(std::min<std::size_t>(piece.size(), kLeafSize));
            if (with_xxh3) xxh3.add(leaf);
            if (with_sha256) sha256.add(leaf);
            piece = piece.subspan(leaf.size());
          }
        },
        [&](std::uint64_t size) -> Status {
          if (xxh3.page_is_full() || sha256.page_is_full()) FATCTX_TRY(write());
          return after_(size);
        }));
    return write();
  }

  // Compares the leaf hashes with the table. Those that were written are those of the payload; a segment of one leaf
  // is compared itself.
  Status check(std::uint32_t index) {
    const Segment& segment = toc_.segments[index];
    const std::uint64_t count = segment.leaf_count();
    for (const LeafHash which : leaf_hashes_named(toc_, index)) {
      for (std::uint64_t first = 0; first < count; first += kLeavesPerPage) {
        const LeafRange page{first, std::min(first + kLeavesPerPage, count)};
        auto leaves = read_leaves(file_, toc_, segment, which, page);
        if (!leaves.ok()) {
          return Error{ErrorCode::kChecksumMismatch,
                       "the new file's payload does not match its table",
                       {.file_offset = segment.offset, .rule = "F26"}};
        }
        if (count > 1) continue;
        FATCTX_TRY(compare_leaves(
            file_, segment, leaves.value(), page, [](std::uint64_t, ByteView) {}, after_));
      }
    }
    return Done{};
  }

  mapping::OsFile& file_;
  const Toc& toc_;
  const mapping::AfterPiece& after_;
  std::uint64_t written_ = 0;
};

}  // namespace

Result<std::uint64_t> write_leaf_hashes(mapping::OsFile& file, const Toc& toc,
                                        const std::function<Status(std::uint64_t)>& after) {
  return HashWriter(file, toc, after).run();
}

}  // namespace fatctx::container
