#include "container/read/open.h"

#include <algorithm>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "container/format/copy_out.h"
#include "container/format/hash.h"
#include "container/read/pieces.h"
#include "container/read/record_hasher.h"
#include "container/read/record_stream.h"
#include "container/read/tensor_table_format.h"
#include "container/read/toc_head.h"

namespace fatctx::container {

std::string remedy_for_absent(const RecordInfo& record) {
  return fmt::format("; `fatctx fetch SOURCE --more --record {} -o FILE` brings it", record.name);
}

Error in_record(Error error, const RecordInfo& record) {
  if (error.code == ErrorCode::kNotPresent && !error.where.record_id) error.message += remedy_for_absent(record);
  if (!error.where.record_id) error.where.record_id = record.id;
  error.message = fmt::format("record {} \"{}\": {}", record.id, record.name, error.message);
  return error;
}

namespace {

// The ranges with sectors behind the first bytes. Their neighbours are read with them if a second call costs more.
constexpr ByteRange kRestOfSmallForm[] = {{0x1800, 0x2200}};
constexpr ByteRange kRestOfLargeForm[] = {{0x4000, kSectorSize}, {0x8000, 0x1200}, {0xC000, kSectorSize}};

// The sectors of a header. Bytes between them are not set.
class HeaderBytes {
 public:
  Status read(const mapping::OsFile& file, std::uint64_t file_size) {
    size_ = std::min(kLeastHeaderSize, file_size);
    FATCTX_TRY(read_range(file, {0, kFormBytes}));
    if (size_ < kLeastHeaderSize) return Done{};  // not a container
    const HeaderForm& form = form_of(view().first(kFormBytes));
    size_ = std::min(form.size, file_size);
    rest_ = form.size == kSmallForm.size ? std::span<const ByteRange>(kRestOfSmallForm) : kRestOfLargeForm;
    for (const ByteRange range : rest_) FATCTX_TRY(read_range(file, range));
    return Done{};
  }
  [[nodiscard]] ByteView view() const noexcept { return {buffer_.get(), static_cast<std::size_t>(size_)}; }
  // Returns whether both have read the same bytes.
  friend bool operator==(const HeaderBytes& a, const HeaderBytes& b) {
    if (a.size_ != b.size_ || a.rest_.data() != b.rest_.data()) return false;
    if (!same(a, b, {0, kFormBytes})) return false;
    return std::all_of(a.rest_.begin(), a.rest_.end(), [&](ByteRange range) { return same(a, b, range); });
  }

 private:
  [[nodiscard]] ByteRange inside(ByteRange range) const noexcept {
    return {range.offset, range.offset < size_ ? std::min(range.size, size_ - range.offset) : 0};
  }
  Status read_range(const mapping::OsFile& file, ByteRange range) {
    const ByteRange part = inside(range);
    if (part.size == 0) return Done{};
    return file.read_at(part.offset, {buffer_.get() + part.offset, static_cast<std::size_t>(part.size)});
  }
  static bool same(const HeaderBytes& a, const HeaderBytes& b, ByteRange range) {
    const ByteRange part = a.inside(range);
    return std::equal(a.buffer_.get() + part.offset, a.buffer_.get() + part.offset + part.size,
                      b.buffer_.get() + part.offset);
  }

  // Not a vector: zeroing it would cost more than the reads.
  std::unique_ptr<std::byte[]> buffer_ = std::make_unique_for_overwrite<std::byte[]>(kMostHeaderSize);
  std::uint64_t size_ = 0;
  std::span<const ByteRange> rest_;
};

}  // namespace

Result<Header> read_header(const mapping::OsFile& file, std::uint64_t file_size) {
  HeaderBytes header;
  FATCTX_TRY(header.read(file, file_size));
  return parse_header(header.view(), file_size);
}

namespace {

Error both_damaged(const Header& header) {
  return Error{ErrorCode::kChecksumMismatch,
               "both copies of the table of contents are damaged",
               {.file_offset = header.toc_offset[0], .rule = "F13"}};
}

// Reads the head of the table that `header` names, and no row.
Result<OpenedToc> read_named_head(const mapping::OsFile& file, const Header& header, const Trust& trust) {
  OpenedToc opened;
  opened.header = header;
  opened.whole = false;
  Toc& toc = opened.toc;
  toc.bytes = RawArray<std::byte>(static_cast<std::size_t>(header.toc_size));
  const auto head = toc.bytes.make_for_overwrite(0, static_cast<std::size_t>(header.toc_head_size));
  const auto read = [&](std::size_t copy) {
    return file.read_at(header.toc_offset[copy], head).ok() && hash128(head) == header.toc_hash;
  };
  if (!read(0)) {
    opened.header.degraded |= kDegradedToc0;
    toc.copy = 1;
    if (!read(1)) {
      return both_damaged(header);
    }
  }
  FATCTX_TRY(check_trust_in_head(opened.header, head, trust));
  FATCTX_ASSIGN(toc.head, parse_toc_head(head, opened.header, toc.copy));
  size_toc(toc, opened.header);
  toc.authenticated = trust.wants_signature();
  return opened;
}

// Reads the table that `header` names.
Result<OpenedToc> read_named_toc(const mapping::OsFile& file, const Header& header, const Trust& trust,
                                 TocPart part = TocPart::kAll) {
  const bool large = header.toc_size > kSmallTocSize;
  if (part == TocPart::kHead || (part == TocPart::kHeadIfLarge && large)) return read_named_head(file, header, trust);
  OpenedToc opened;
  opened.header = header;
  RawArray<std::byte> bytes(static_cast<std::size_t>(header.toc_size));
  const auto into = bytes.make_for_overwrite(0, bytes.size());
  int copy = 0;
  const Status first = file.read_at(header.toc_offset[0], into);
  if (!first.ok() || !toc_matches(into, header)) {
    opened.header.degraded |= kDegradedToc0;
    std::vector<std::byte> second(bytes.size());
    FATCTX_TRY(file.read_at(header.toc_offset[1], second));
    if (toc_matches(second, header)) {
      std::copy(second.begin(), second.end(), into.begin());
      copy = 1;
    } else if (first.ok() && mend_toc(into, second, header)) {  // each copy has the pages that the other one lacks
      opened.header.degraded |= kDegradedToc1;
    } else {
      return both_damaged(header);
    }
  }
  FATCTX_TRY(check_trust(opened.header, into, trust));
  FATCTX_ASSIGN(opened.toc, parse_toc(std::move(bytes), opened.header, copy));
  opened.toc.authenticated = trust.wants_signature();
  return opened;
}

// Returns text such as "there are 1, 2 and 3"; for many generations, only the first and the last ones.
std::string generations_text(const std::vector<Generation>& earlier, std::uint64_t newest) {
  constexpr std::size_t kMost = 16;
  if (earlier.size() > kMost) {
    return fmt::format("there are {} earlier ones from {} to {}, and {}", earlier.size(), earlier.front().number,
                       earlier.back().number, newest);
  }
  if (earlier.empty()) return fmt::format("there is only {}", newest);
  std::string list;
  for (const Generation& one : earlier) list += fmt::format("{}{}", list.empty() ? "" : ", ", one.number);
  return fmt::format("there are {} and {}", list, newest);
}

bool name_the_same(const Header& a, const Header& b) {
  return a.toc_hash == b.toc_hash && a.toc_size == b.toc_size && a.toc_head_size == b.toc_head_size &&
         a.committed_end == b.committed_end;
}

// Implements read_generation() for a header that was read already.
Result<OpenedToc> read_generation_of(ByteView header_bytes, const mapping::OsFile& file, std::uint64_t file_size,
                                     std::uint64_t generation, const Trust& trust, TocPart part) {
  FATCTX_ASSIGN(const Header newest_header, parse_header(header_bytes, file_size));
  if (generation == 0 || generation == newest_header.generation) {
    return read_named_toc(file, newest_header, trust, part);
  }
  auto previous = parse_previous_header(header_bytes, file_size, generation);
  if (trust.wants_signature()) {  // its own slot names it, so no newer table must be trusted
    if (!previous.ok()) return std::move(previous).error();
    if (previous.value()) return read_named_toc(file, *previous.value(), trust, part);
  }
  FATCTX_ASSIGN(const OpenedToc newest, read_named_toc(file, newest_header, {}));
  const std::vector<Generation>& there = newest.toc.generations;
  const auto found =
      std::find_if(there.begin(), there.end(), [&](const Generation& one) { return one.number == generation; });
  if (found == there.end()) {
    return Error{ErrorCode::kNotFound, fmt::format("generation {} is not in the file; {}", generation,
                                                   generations_text(there, newest.header.generation))};
  }
  Header header = newest.header;
  header.generation = found->number;
  header.committed_end = found->committed_end;
  header.toc_offset = copies_of(*found);
  header.toc_size = found->toc_size;
  header.toc_head_size = found->toc_head_size;
  header.toc_hash = found->toc_hash;
  header.signature.reset();
  if (previous.ok() && previous.value() && name_the_same(*previous.value(), header)) {
    header.signature = previous.value()->signature;
  }
  header.tail_bytes = 0;  // later generations are stored there
  header.degraded &= ~static_cast<std::uint32_t>(kDegradedToc0 | kDegradedToc1);
  return read_named_toc(file, header, trust, part);
}

// Reads the header and returns the result of `parse`. A reader that stalls while others commit gets pages of several
// generations, which were never in the file together. So it returns an error only if the file stayed the same
// meanwhile. It compares the stat, and the bytes of the header because the clock of the file system may be too coarse.
template <typename Parse>
auto read_while_it_changes(const mapping::OsFile& file, mapping::FileIdentity& identity, const Parse& parse)
    -> decltype(parse(ByteView())) {
  constexpr int kMostTries = 16;  // an endless writer must not block a reader for ever
  for (int tries = 1;; ++tries) {
    HeaderBytes header;
    const Status read = header.read(file, identity.size);
    auto parsed = read.ok() ? parse(header.view()) : decltype(parse(ByteView()))(read.error());
    if (parsed.ok() || tries == kMostTries) return parsed;
    FATCTX_ASSIGN(const mapping::FileIdentity now, file.identity());
    if (now == identity) {
      HeaderBytes again;
      if (!again.read(file, now.size).ok() || again == header) return parsed;
    }
    identity = now;
  }
}

}  // namespace

Result<OpenedToc> read_toc(const mapping::OsFile& file, std::uint64_t file_size, const Trust& trust) {
  FATCTX_ASSIGN(const Header header, read_header(file, file_size));
  return read_named_toc(file, header, trust);
}

Result<std::uint32_t> degraded_copies(const mapping::OsFile& file, const Header& header) {
  std::uint32_t degraded = header.degraded;
  std::vector<std::byte> bytes(static_cast<std::size_t>(header.form().size));
  FATCTX_TRY(file.read_at(0, bytes));
  for (const ByteRange gap : header_gaps(header.form())) {
    const ByteView padding =
        ByteView(bytes).subspan(static_cast<std::size_t>(gap.offset), static_cast<std::size_t>(gap.size));
    if (!all_zero(padding)) degraded |= kDegradedHeaderPadding;
  }
  if ((degraded & kDegradedToc0) != 0) return degraded;
  bytes.resize(static_cast<std::size_t>(header.toc_size));
  FATCTX_TRY(file.read_at(header.toc_offset[1], bytes));
  return toc_matches(bytes, header) ? degraded : degraded | kDegradedToc1;
}

Result<bool> holds_table(const mapping::OsFile& file, const Generation& generation, std::uint64_t offset) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(generation.toc_size));
  FATCTX_TRY(file.read_at(offset, bytes));
  Header header;
  header.toc_size = generation.toc_size;
  header.toc_head_size = generation.toc_head_size;
  header.toc_hash = generation.toc_hash;
  return toc_matches(bytes, header);
}

Result<OpenedToc> read_generation(const mapping::OsFile& file, std::uint64_t file_size, std::uint64_t generation,
                                  const Trust& trust, TocPart part) {
  HeaderBytes header;
  FATCTX_TRY(header.read(file, file_size));
  return read_generation_of(header.view(), file, file_size, generation, trust, part);
}

Result<OpenedToc> read_growing(const mapping::OsFile& file, mapping::FileIdentity& identity, std::uint64_t generation,
                               const Trust& trust, TocPart part) {
  return read_while_it_changes(file, identity, [&](ByteView header) {
    return read_generation_of(header, file, identity.size, generation, trust, part);
  });
}

Result<Header> read_growing_header(const mapping::OsFile& file, mapping::FileIdentity& identity) {
  return read_while_it_changes(file, identity, [&](ByteView header) { return parse_header(header, identity.size); });
}

Status check_supported(const RecordInfo& record, const RecordForm& form) {
  FATCTX_TRY(check_readable(record, form));
  if (record.codec == Codec::kNone) return Done{};
  return in_record(Error{ErrorCode::kUnsupported,
                         fmt::format("it is stored compressed ({}), so that there is nothing to map; read it with "
                                     "stream_record() or `fatctx extract`",
                                     codec_name(record.codec))},
                   record);
}

Result<MetadataBytes> read_metadata_record(const mapping::OsFile& file, const Toc& toc, const RecordInfo& record,
                                           const WorkBudget& budget) {
  FATCTX_TRY(check_readable(record, toc.forms[toc.index_of(record)]));
  MetadataBytes read;
  if (record.type == RecordType::kTensorTable) {  // before memory is allocated
    if (record.size_bytes > kMaxTensorTableSize) {
      return in_record(Error{ErrorCode::kLimitExceeded,
                             fmt::format("a tensor table of {} bytes; at most {} are allowed", record.size_bytes,
                                         kMaxTensorTableSize),
                             {.file_offset = record.file_offset, .rule = "F33"}},
                       record);
    }
    auto hold = budget.hold_table(record.size_bytes * kTableWork);
    if (!hold.ok()) return in_record(std::move(hold).error(), record);
    read.hold = std::move(hold).value();
    auto counted = budget.make(record.size_bytes * (kTableWork - 1));
    if (!counted.ok()) return in_record(std::move(counted).error(), record);
  }
  read.bytes.reserve(static_cast<std::size_t>(record.size_bytes));
  if (record.codec != Codec::kNone || record.recipe) {
    auto streamed = stream_logical(file, toc, record, budget, [&](ByteView piece) -> Status {
      read.bytes.insert(read.bytes.end(), piece.begin(), piece.end());
      return Done{};
    });
    if (!streamed.ok()) return in_record(std::move(streamed).error(), record);
    return read;
  }
  auto counted = budget.make(record.size_bytes);
  if (!counted.ok()) return in_record(std::move(counted).error(), record);
  read.bytes.resize(static_cast<std::size_t>(record.size_bytes));
  for (const Piece& piece : pieces_of(toc, record)) {
    auto part =
        std::span(read.bytes)
            .subspan(static_cast<std::size_t>(piece.offset_in_record), static_cast<std::size_t>(piece.in_file.size));
    auto filled = file.read_at(piece.in_file.offset, part);
    if (!filled.ok()) return in_record(std::move(filled).error(), record);
  }
  if (!matches_record(toc, record, read.bytes)) {
    const bool absent = all_zero(read.bytes);
    return in_record(Error{absent ? ErrorCode::kNotPresent : ErrorCode::kChecksumMismatch,
                           absent ? "its bytes are not present" : "its bytes do not match their hash",
                           {.file_offset = record.file_offset, .rule = "F37"}},
                     record);
  }
  return read;
}

}  // namespace fatctx::container
