// Makes a signed copy of a container, in the layout of docs/format.md, section 11: header, table, payload, leaves,
// leaves of SHA-256, table.
#include "fatctx/signature.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "container/edit/key_files.h"
#include "container/edit/replacing.h"
#include "container/format/copy_out.h"
#include "container/format/crypto.h"
#include "container/format/hash.h"
#include "container/format/leaf_range.h"
#include "container/read/checked_bytes.h"
#include "container/read/leaves.h"
#include "container/read/open.h"
#include "container/read/record_stream.h"
#include "container/read/trust.h"
#include "container/write/check_opens.h"
#include "container/write/header_build.h"
#include "container/write/input.h"
#include "container/write/toc_rows.h"
#include "fatctx/base/checked.h"
#include "mapping/publish.h"

namespace fatctx {

using namespace container;

namespace {

constexpr std::size_t kCopyUnit = std::size_t{4} << 20;  // as in copy_payload.cc

class Signer {
 public:
  Signer(const mapping::OsFile& source, const OpenedToc& opened, const SigningKey& key, mapping::OsFile& file,
         const SignOptions& options)
      : source_(source),
        toc_(opened.toc),
        from_(opened.header),
        key_(key),
        file_(file),
        progress_(options.progress),
        cancel_(options.cancel),
        max_made_bytes_(options.max_made_bytes),
        rows_(rows_of(opened.toc)) {
    header_.uuid = from_.uuid;
    header_.extent_log2 = from_.extent_log2;
    header_.granule_log2 = from_.granule_log2;
    header_.sealed = from_.sealed || options.seal;
  }

  Status run() {
    FATCTX_ASSIGN(header_.generation, next_generation(from_.generation));
    FATCTX_TRY(place());
    FATCTX_TRY(file_.allocate(header_.committed_end));
    FATCTX_TRY(copy_segments());
    FATCTX_TRY(hash_records());
    FATCTX_ASSIGN(const std::vector<std::byte> toc, toc_bytes(rows_));
    header_.toc_hash = hash128(head_of(toc));
    header_.signature =
        sign_generation(header_, head_of(toc), from_.signature ? from_.signature->toc_sha256 : DiskSha256{}, key_);
    for (const std::uint64_t offset : header_.toc_offset) FATCTX_TRY(file_.write_at(offset, toc));
    const GenerationFacts facts{.generation = header_.generation,
                                .committed_end = header_.committed_end,
                                .toc_offset = header_.toc_offset,
                                .toc_size = header_.toc_size,
                                .toc_head_size = header_.toc_head_size,
                                .toc_hash = header_.toc_hash,
                                .previous_toc_hash = {},
                                .signature = header_.signature,
                                .sealed = header_.sealed};
    FATCTX_TRY(file_.write_at(0, first_header(header_.uuid, header_.extent_log2, header_.granule_log2, facts)));
    return check_opens(file_, facts);
  }

  [[nodiscard]] const Header& header() const noexcept { return header_; }

 private:
  // Places the segments. Those with payload keep their order; one always exists, for the description. The two segments
  // of leaves follow them.
  Status place() {
    std::vector<SegmentRow> segments;
    moved_.resize(toc_.segments.size());
    for (std::size_t i = 0; i < toc_.segments.size(); ++i) {
      if (!toc_.segments[i].holds_payload()) continue;
      moved_[i] = static_cast<std::uint32_t>(segments.size());
      copied_.push_back(i);
      segments.push_back(rows_.segments[i]);
    }
    const auto leaves = static_cast<std::uint32_t>(segments.size());
    std::uint64_t hashes = 0;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      SegmentRow& segment = segments[i];
      const std::uint64_t units = leaf_units(toc_.segments[copied_[i]].leaf_count());
      segment.leaves_segment = units == 0 ? kNoSegment : leaves;
      segment.digest.leaves_segment = units == 0 ? kNoSegment : leaves + 1;
      segment.first_leaf = units == 0 ? 0 : hashes;
      segment.digest.first_leaf = segment.first_leaf;
      hashes += units;
    }
    if (hashes != 0) {
      segments.push_back(leaves_segment(kHashXxh3, hashes * sizeof(DiskHash)));
      segments.push_back(leaves_segment(kHashSha256, hashes * sizeof(DiskSha256)));
    }
    rows_.segments = std::move(segments);
    rows_.generations.clear();
    rows_.sha256 = true;
    rows_.generation = header_.generation;
    for (RecordRow& record : rows_.records) {
      for (SliceEntry& slice : record.slices) slice.segment = moved_[slice.segment];
    }
    FATCTX_ASSIGN(const TocSize size, toc_size_of(rows_));
    header_.toc_size = size.all;
    header_.toc_head_size = size.head;
    header_.toc_offset[0] = header_.form().size;
    std::uint64_t end = header_.form().size + header_.toc_size;
    for (SegmentEntry& segment : rows_.segments) {
      FATCTX_ASSIGN(const std::uint64_t at, place_behind(end, segment.alignment_log2, segment.size));
      segment.offset = at;
      end = at + segment.size;
    }
    FATCTX_ASSIGN(header_.toc_offset[1], place_behind(end, header_.form().unit_log2, header_.toc_size));
    header_.committed_end = header_.toc_offset[1] + header_.toc_size;
    place_records();
    return Done{};
  }

  static Result<std::uint64_t> place_behind(std::uint64_t end, unsigned alignment_log2, std::uint64_t size) {
    const auto at = checked_align_up(end, alignment_log2);
    if (!at || *at > kMaxFileSize || size > kMaxFileSize - *at) {
      return Error{ErrorCode::kLimitExceeded, fmt::format("the file would exceed {} bytes", kMaxFileSize)};
    }
    return *at;
  }

  [[nodiscard]] SegmentEntry leaves_segment(std::uint8_t algorithm, std::uint64_t size) const {
    SegmentEntry entry = {};
    entry.kind = static_cast<std::uint16_t>(SegmentKind::kLeaves);
    entry.alignment_log2 = header_.extent_log2;
    entry.hash_algorithm = algorithm;
    entry.leaf_log2 = static_cast<std::uint8_t>(kLeafLog2);
    entry.size = size;
    entry.generation = header_.generation;
    entry.leaves_segment = kNoSegment;
    return entry;
  }

  // Lowers each record's alignment to that of its new place: its segment keeps its alignment, but no more is sure.
  void place_records() {
    for (RecordRow& record : rows_.records) {
      if (record.slices.empty()) continue;
      const SliceEntry& first = record.slices.front();
      const std::uint64_t at = rows_.segments[first.segment].offset + first.offset_in_segment;
      record.entry.alignment_log2 =
          static_cast<std::uint8_t>(std::min<int>(record.entry.alignment_log2, std::countr_zero(at)));
    }
  }

  Status copy_segments() {
    for (const std::size_t index : copied_) {
      const Segment& segment = toc_.segments[index];
      total_ += segment.size;
    }
    for (const RecordInfo& record : toc_.records) total_ += record.size_bytes;
    Hasher xxh3_leaves;
    Hasher sha256_leaves;
    for (std::size_t i = 0; i < copied_.size(); ++i) {
      const Segment& segment = toc_.segments[copied_[i]];
      SegmentRow& row = rows_.segments[i];
      FATCTX_ASSIGN(const Leaves leaves, owned(read_leaves(source_, toc_, segment, LeafHash::kXxh3), copied_[i], {}));
      FATCTX_ASSIGN(const std::vector<DiskSha256> sha256_of, copy(copied_[i], row.offset, leaves));
      // The row has the hash of these already.
      FATCTX_TRY(put_leaves<Hash128>(leaves.xxh3, row.leaves_segment, row.first_leaf, xxh3_leaves));
      FATCTX_ASSIGN(row.digest.leaves_sha256,
                    put_leaves<DiskSha256>(sha256_of, row.digest.leaves_segment, row.digest.first_leaf, sha256_leaves));
    }
    if (copied_.size() == rows_.segments.size()) return Done{};  // no segment has two leaves
    rows_.segments[copied_.size()].leaves_hash = xxh3_leaves.digest().bytes;
    rows_.segments[copied_.size() + 1].leaves_hash = sha256_leaves.digest().bytes;
    return Done{};
  }

  // Writes the leaf range of one segment to its place. Returns the hash of it that the table has.
  template <typename Hash>
  Result<Hash> put_leaves(const std::vector<Hash>& leaves, std::uint32_t segment, std::uint64_t first, Hasher& all) {
    LeafRangeBuilder<Hash> range(leaves.size());
    for (const Hash& leaf : leaves) range.add(leaf);
    const Hash root = range.finish();
    const std::vector<std::byte> bytes = range.take();
    if (bytes.empty()) return root;
    all.update(bytes);
    FATCTX_TRY(file_.write_at(rows_.segments[segment].offset + first * sizeof(Hash), bytes));
    return root;
  }

  // Copies a segment and returns the SHA-256 hashes of its leaves.
  Result<std::vector<DiskSha256>> copy(std::size_t index, std::uint64_t to, const Leaves& leaves) {
    const Segment& segment = toc_.segments[index];
    std::vector<DiskSha256> hashes;
    hashes.reserve(static_cast<std::size_t>(segment.leaf_count()));
    const auto flush = [&]() -> Status {
      FATCTX_TRY(file_.write_at(to, buffer_));
      to += buffer_.size();
      buffer_.clear();
      return Done{};
    };
    const auto visit = [&](std::uint64_t leaf, ByteView bytes, bool good) -> Status {
      const std::uint64_t in_segment = leaf << kLeafLog2;
      if (!good) {
        return owned<Done>(leaf_error({segment.offset + in_segment, bytes.size()}, all_zero(bytes)), index,
                           ByteRange{in_segment, bytes.size()});
      }
      hashes.push_back(sha256(bytes));
      buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
      FATCTX_TRY(advance(bytes.size()));
      return buffer_.size() < kCopyUnit ? Status(Done{}) : flush();
    };
    FATCTX_TRY(walk_leaves(source_, segment, leaves, {0, segment.leaf_count()}, visit));
    FATCTX_TRY(flush());
    return hashes;
  }

  // Names in an error the record that owns the bytes of a segment; without a range, the first record in the segment.
  template <typename T>
  Result<T> owned(Result<T> result, std::size_t segment, std::optional<ByteRange> range) const {
    if (result.ok()) return result;
    for (std::size_t i = 0; i < toc_.records.size(); ++i) {
      for (const Slice& slice :
           std::span(toc_.slices).subspan(toc_.forms[i].first_slice, toc_.records[i].slice_count)) {
        const bool touches = !range || (slice.range.offset < range->offset + range->size &&
                                        range->offset < slice.range.offset + slice.range.size);
        if (slice.segment == segment && touches) return in_record(std::move(result).error(), toc_.records[i]);
      }
    }
    return result;
  }

  // Hashes the records as read from the copy, so that the signature covers exactly the bytes that its readers get.
  Status hash_records() {
    FATCTX_ASSIGN(std::vector<std::byte> bytes, toc_bytes(rows_));
    FATCTX_ASSIGN(const Toc copy, parse_toc(std::move(bytes), header_, 0));
    const WorkBudget budget(copy, max_made_bytes_);
    for (std::size_t i = 0; i < copy.records.size(); ++i) {
      const RecordInfo& record = copy.records[i];
      Sha256 hasher;
      auto streamed = stream_logical(file_, copy, record, budget, [&](ByteView piece) -> Status {
        hasher.update(piece);
        return advance(piece.size());
      });
      if (!streamed.ok()) {
        return streamed.error().code == ErrorCode::kUnsupported
                   ? Error{ErrorCode::kUnsupported,
                           fmt::format("{}; it cannot be signed by this version", streamed.error().message)}
                   : in_record(std::move(streamed).error(), record);
      }
      rows_.records[i].digest.logical_sha256 = hasher.digest();
    }
    return Done{};
  }

  Status advance(std::uint64_t bytes) {
    done_ += bytes;
    if (progress_) progress_(done_, total_);
    return go_on(cancel_);
  }

  const mapping::OsFile& source_;
  const Toc& toc_;
  const Header& from_;
  const SigningKey& key_;
  mapping::OsFile& file_;
  const Progress& progress_;
  const std::atomic<bool>* cancel_;
  const std::uint64_t max_made_bytes_;
  TocRows rows_;
  Header header_;                     // of the copy
  std::vector<std::size_t> copied_;   // segments of the source
  std::vector<std::uint32_t> moved_;  // old segment index to new one
  std::vector<std::byte> buffer_;
  std::uint64_t done_ = 0;
  std::uint64_t total_ = 0;
};

struct Source {
  std::unique_ptr<mapping::OsFile> file;
  mapping::FileIdentity identity;
  OpenedToc opened;
};

Result<Source> open_source(const std::string& path) {
  Source source;
  FATCTX_ASSIGN(source.file, mapping::open_for_reading(path));
  FATCTX_ASSIGN(source.identity, source.file->identity());
  if (!source.identity.regular) return Error{ErrorCode::kNotRegularFile, "not a regular file"};
  FATCTX_ASSIGN(source.opened, read_growing(*source.file, source.identity, 0));
  FATCTX_TRY(check_rewritable(source.opened.header));
  return source;
}

// `replacing` is null unless `out` is the file at `path`.
Result<SignReport> sign(const std::string& path, const std::string& out, const Replacing* replacing,
                        const SigningKey& key, const SignOptions& options) {
  auto source = open_source(path);
  if (!source.ok()) return in_context(std::move(source).error(), path);
  FATCTX_ASSIGN(
      const std::unique_ptr<mapping::PendingFile> pending,
      mapping::PendingFile::create(out, options.overwrite || replacing != nullptr, mapping::Readers::kAll,
                                   replacing != nullptr ? mapping::TargetLock::kHeld : mapping::TargetLock::kTake));
  if (replacing != nullptr) FATCTX_TRY(pending->take_mode(path));
  Signer signer(*source.value().file, source.value().opened, key, pending->file(), options);
  auto written = signer.run();
  if (!written.ok()) return in_context(std::move(written).error(), path);
  FATCTX_ASSIGN(const mapping::FileIdentity now, source.value().file->identity());
  if (now != source.value().identity) {
    return Error{ErrorCode::kChanged,
                 fmt::format("{}: it was written to while it was being signed; sign it again when it is still", path)};
  }
  if (replacing != nullptr) FATCTX_TRY(replacing->check(path, now));
  const Header& header = signer.header();
  FATCTX_TRY(pending->publish(header.sealed));
  SignReport report;
  report.path = out;
  report.uuid = uuid_text(header.uuid);
  report.generation = header.generation;
  report.file_size = header.committed_end;
  report.key_id = key.public_key().id();
  report.sealed = header.sealed;
  return report;
}

}  // namespace

Result<SignReport> sign_container(const std::string& path, const std::string& key_path, const std::string& out,
                                  const SignOptions& options) {
  FATCTX_ASSIGN(const SigningKey key, read_signing_key(key_path));
  FATCTX_ASSIGN(const bool in_place, is_in_place(path, out));
  if (!in_place) return sign(path, out, nullptr, key, options);
  FATCTX_ASSIGN(const Replacing replacing, Replacing::begin(out));
  return sign(out, out, &replacing, key, options);
}

}  // namespace fatctx
