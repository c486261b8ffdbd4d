#include "container/fetch/partial_fetch.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "container/check/leaf_parts.h"
#include "container/check/needed_records.h"
#include "container/fetch/find_blocks.h"
#include "container/fetch/guess_by_update.h"
#include "container/format/copy_out.h"
#include "container/format/crypto.h"
#include "container/update/container_file.h"
#include "mapping/file_holes.h"

namespace fatctx::container {
namespace {

// Holds a header of either form, and the table of a small file.
constexpr std::uint64_t kFirstBytes = std::uint64_t{64} << 10U;
// Behind the first copy of the table is the description, as writers lay a file out. It grows with the table. A request
// that goes on by so much, and by half the table, mostly saves another one.
constexpr std::uint64_t kBehindTable = std::uint64_t{64} << 10U;
constexpr std::uint64_t kMostFirstBytes = std::uint64_t{64} << 20U;

bool same_generation(const Header& a, const Header& b) {
  return a.uuid == b.uuid && a.generation == b.generation && a.toc_hash == b.toc_hash && a.toc_offset == b.toc_offset &&
         a.toc_size == b.toc_size && a.committed_end == b.committed_end && a.sealed == b.sealed;
}

}  // namespace

PartialFetch::PartialFetch(std::string target, std::uint64_t source_size, PartialFetchOptions options)
    : target_(std::move(target)), source_size_(source_size), options_(std::move(options)) {
  raw_.add({0, std::min(kFirstBytes, source_size)});
  first_.resize(static_cast<std::size_t>(std::min(kFirstBytes, source_size)));
  report_.path = target_;
  report_.source_bytes = source_size;
}

Result<PartialFetch> PartialFetch::begin(const std::string& target, std::uint64_t source_size,
                                         PartialFetchOptions options) {
  PartialFetch fetch(target, source_size, std::move(options));
  FATCTX_ASSIGN(fetch.pending_, mapping::PendingFile::resume(target, fetch.options_.overwrite));
  FATCTX_ASSIGN(const mapping::FileIdentity identity, fetch.file().identity());
  fetch.resumed_ = identity.size != 0;
  if (source_size == 0) {
    return Error{ErrorCode::kTruncated, "the source is empty: not a container"};
  }
  return fetch;
}

ByteSet PartialFetch::lacking() const { return wanted_ ? wanted_->lacking() : raw_; }
std::uint64_t PartialFetch::lacking_bytes() const noexcept { return wanted_ ? wanted_->lacking_bytes() : raw_.bytes(); }

Status PartialFetch::add_seed(std::unique_ptr<mapping::OsFile> file) {
  FATCTX_ASSIGN(Seed seed, open_seed(std::move(file)));
  seeds_.push_back(std::move(seed));
  return Done{};
}

Status PartialFetch::take_leaves_of(std::unique_ptr<mapping::OsFile> file) {
  std::vector<Seed> seeds;
  FATCTX_ASSIGN(Seed seed, open_seed(std::move(file)));
  seeds.push_back(std::move(seed));
  FATCTX_ASSIGN(const std::uint64_t taken, take_from_seeds(seeds, *wanted_));
  whole_leaves_reused_ += taken;
  return advance();
}

// Checks that a file beside the source is of the state that the source has. `what`: the file's relation to it.
Status PartialFetch::check_is_of(const ContainerName& file, std::string_view what) const {
  const ContainerName name = name_of(opened_->header);
  if (file == name) return Done{};
  const bool same_name = text_of(file) == text_of(name);
  return Error{ErrorCode::kChanged, fmt::format("this {} {}, and the source is {}", what, text_of(file),
                                                same_name ? "the same with another table of contents" : text_of(name))};
}

Status PartialFetch::take_blocks_of(const BlockIndex& index, const Progress& progress,
                                    const std::atomic<bool>* cancel) {
  FATCTX_TRY(check_is_of(index.of(), "is the block index of"));
  WantedBlocks wanted(index, wanted_->missing());
  WorkProgress work(progress, cancel);
  std::uint64_t all = 0;
  for (const Seed& seed : seeds_) all += seed.size;
  work.begin(all);
  for (const Seed& seed : seeds_) {
    FATCTX_TRY(wanted.find_in(
        *seed.file, seed.size, [this](std::uint64_t at, ByteView bytes) { return wanted_->guess(at, bytes); }, work));
  }
  return advance();
}

Status PartialFetch::take_update_of(UpdateFile& update, const Progress& progress, const std::atomic<bool>* cancel) {
  FATCTX_TRY(check_is_of(update.made(), "update makes"));
  FATCTX_ASSIGN(const std::unique_ptr<mapping::PendingFile> made,
                mapping::PendingFile::create(target_ + ".updated", true));
  WorkProgress work(progress, cancel);
  Status guessed = guess_by_update(update, seeds_, made->file(), *wanted_, work, cancel);
  FATCTX_TRY(advance());  // after an error, too: bytes that were found are not fetched
  return guessed;
}

Status PartialFetch::take(std::uint64_t offset, ByteView bytes) {
  if (!within({offset, bytes.size()}, source_size_)) {
    return Error{ErrorCode::kInvalidArgument, fmt::format("bytes {:#x} to {:#x} are not of a source of {} bytes",
                                                          offset, offset + bytes.size(), source_size_)};
  }
  report_.fetched_bytes += bytes.size();
  const std::uint64_t missing_before = missing().bytes();
  Status taken = Done{};
  if (wanted_) {
    taken = wanted_->take(offset, bytes);
  } else {
    for (const ByteRange& part : raw_.within({offset, bytes.size()})) {
      const ByteView piece =
          bytes.subspan(static_cast<std::size_t>(part.offset - offset), static_cast<std::size_t>(part.size));
      if (part.offset + part.size <= first_.size() && stage_ <= FetchStage::kTable) {
        std::copy(piece.begin(), piece.end(), first_.begin() + static_cast<std::ptrdiff_t>(part.offset));
      } else {
        FATCTX_TRY(file().write_at(part.offset, piece));
      }
      raw_.remove(part);
    }
  }
  if (missing().bytes() < missing_before) FATCTX_TRY(advance());
  return taken;
}

// Wants the bytes of a stage once more if they did not pass. Returns the error.
Status PartialFetch::wanted_again_unless(Status passed, std::initializer_list<ByteRange> ranges) {
  if (passed.ok()) return passed;
  for (const ByteRange& range : ranges) raw_.add(range);
  return passed;
}

// Goes on as long as a stage has all of its bytes.
Status PartialFetch::advance() {
  if (wanted_) report_.reused_bytes = whole_leaves_reused_ + wanted_->guessed_bytes();
  while (stage_ != FetchStage::kDone && missing().empty()) {
    switch (stage_) {
      case FetchStage::kHeader:
        FATCTX_TRY(wanted_again_unless(end_header(), {{0, first_.size()}}));
        break;
      case FetchStage::kTable:
        FATCTX_TRY(wanted_again_unless(
            end_table(), {{header_->toc_offset[0], header_->toc_size}, {header_->toc_offset[1], header_->toc_size}}));
        break;
      case FetchStage::kHashes:
        FATCTX_TRY(begin_payload());
        break;
      case FetchStage::kPayload:
        stage_ = FetchStage::kDone;
        break;
      case FetchStage::kDone:
        break;
    }
  }
  return Done{};
}

Status PartialFetch::end_header() {
  const HeaderForm& form = form_of(ByteView(first_).first(std::min<std::size_t>(first_.size(), kFormBytes)));
  const ByteView header_bytes = ByteView(first_).first(static_cast<std::size_t>(std::min(form.size, source_size_)));
  FATCTX_ASSIGN(header_, parse_header(header_bytes, source_size_));
  if (trust().wants_signature() || options_.minimum_generation != 0) FATCTX_TRY(check_claims(*header_, trust()));
  if (resumed_) {
    FATCTX_ASSIGN(const mapping::FileIdentity identity, file().identity());
    const auto before = read_header(file(), identity.size);
    if (!before.ok() && before.error().code == ErrorCode::kBadMagic) FATCTX_TRY(check_is_nobodys());
    if (!before.ok() || !same_generation(before.value(), *header_)) FATCTX_TRY(begin_anew());
  }
  FATCTX_TRY(file().write_at(0, header_bytes));
  stage_ = FetchStage::kTable;
  raw_.add({header_->toc_offset[0], header_->toc_size});
  if (!options_.metadata) raw_.add({header_->toc_offset[1], header_->toc_size});
  if (resumed_) {
    const auto opened = read_toc(file(), source_size_, trust());
    const auto degraded = opened.ok() ? degraded_copies(file(), opened.value().header) : Result<std::uint32_t>(1U);
    if (degraded.ok() && degraded.value() == 0) raw_ = {};
  }
  FATCTX_TRY(give_first_bytes());
  if (options_.metadata) read_on_behind_table();
  return Done{};
}

// Makes the request for the rest of a table go on behind it, into first_.
void PartialFetch::read_on_behind_table() {
  const std::uint64_t table = header_->toc_offset[0];
  const std::uint64_t end = std::min(source_size_, table + header_->toc_size + header_->toc_size / 2 + kBehindTable);
  if (raw_.empty() || table > first_.size() || end > kMostFirstBytes) return;
  raw_.add({first_.size(), end - first_.size()});
  first_.resize(static_cast<std::size_t>(end));
}

// Reads the first copy of the table, and gives it the place of the second one as well. If it is damaged, the second
// one is wanted, and the stage goes on.
Result<OpenedToc> PartialFetch::first_copy_of_table() {
  for (std::size_t copy = 0; copy <= (second_copy_asked_ ? 1U : 0U); ++copy) {
    const ByteRange table{header_->toc_offset[copy], header_->toc_size};
    if (table.offset + table.size > first_.size()) continue;
    FATCTX_TRY(file().write_at(table.offset, ByteView(first_).subspan(static_cast<std::size_t>(table.offset),
                                                                      static_cast<std::size_t>(table.size))));
  }
  FATCTX_ASSIGN(OpenedToc opened, read_toc(file(), source_size_, trust()));
  if (second_copy_asked_) return opened;
  std::vector<std::byte> table(static_cast<std::size_t>(header_->toc_size));
  FATCTX_TRY(file().read_at(header_->toc_offset[0], table));
  FATCTX_TRY(file().write_at(header_->toc_offset[1], table));
  return opened;
}

// Checks that a file without a header is an unfinished fetch that lost it: its first bytes are zeros.
Status PartialFetch::check_is_nobodys() {
  FATCTX_ASSIGN(const mapping::FileIdentity identity, file().identity());
  std::vector<std::byte> start(static_cast<std::size_t>(std::min<std::uint64_t>(identity.size, kFormBytes)));
  FATCTX_TRY(file().read_at(0, start));
  if (all_zero(start)) return Done{};
  return Error{ErrorCode::kExists,
               fmt::format("{}.fetching is not an unfinished fetch; remove it, or fetch to another name", target_)};
}

// Replaces the unfinished file of another generation, and uses it as a seed.
Status PartialFetch::begin_anew() {
  auto old = mapping::open_for_reading(target_ + ".fetching", {.follow_symlinks = false});
  pending_->discard();
  pending_.reset();
  FATCTX_ASSIGN(pending_, mapping::PendingFile::resume(target_, options_.overwrite));
  resumed_ = false;
  if (old.ok()) {
    auto seed = open_seed(std::move(old).value());
    if (seed.ok()) seeds_.push_back(std::move(seed).value());
  }
  return Done{};
}

// Takes what the first bytes have of this stage.
Status PartialFetch::give_first_bytes() {
  for (const ByteRange& part : raw_.within({0, first_.size()})) {
    const ByteView piece =
        ByteView(first_).subspan(static_cast<std::size_t>(part.offset), static_cast<std::size_t>(part.size));
    FATCTX_TRY(file().write_at(part.offset, piece));
    raw_.remove(part);
  }
  return Done{};
}

Status PartialFetch::end_table() {
  auto read = options_.metadata ? first_copy_of_table() : read_toc(file(), source_size_, trust());
  // The place of the second copy may still be behind the end of the file.
  const bool damaged =
      !read.ok() && (read.error().code == ErrorCode::kChecksumMismatch || read.error().code == ErrorCode::kTruncated);
  if (damaged && options_.metadata && !second_copy_asked_) {
    second_copy_asked_ = true;
    raw_.add({header_->toc_offset[1], header_->toc_size});
    return give_first_bytes();
  }
  FATCTX_ASSIGN(OpenedToc opened, std::move(read));
  FATCTX_ASSIGN(const std::uint32_t degraded, degraded_copies(file(), opened.header));
  report_.degraded = degraded_texts(degraded);
  if (degraded != 0 && options_.mend) FATCTX_TRY(options_.mend(file(), opened.header, degraded));
  if (!options_.toc_sha256.empty()) FATCTX_TRY(check_sha256_of_table(options_.mend ? 0 : degraded));
  opened_ = std::make_unique<OpenedToc>(std::move(opened));
  const Toc& toc = opened_->toc;
  if (resumed_) FATCTX_TRY(clear_what_is_wrong());
  FATCTX_ASSIGN(const std::vector<std::uint32_t> chosen, options_.choose(*opened_));
  report_.generation = opened_->header.generation;
  for (const std::uint32_t id : options_.metadata ? with_description(toc, chosen) : with_what_they_need(toc, chosen)) {
    const RecordInfo* record = toc.find(id);
    if (record == nullptr) return Error{ErrorCode::kNotFound, fmt::format("there is no record {}", id)};
    report_.records.emplace_back(record->name);
    const std::vector<SegmentLeaves> under = leaves_under(toc, *record);
    leaves_.insert(leaves_.end(), under.begin(), under.end());
  }
  sort_and_join(leaves_);
  for (const SegmentLeaves& one : leaves_) {
    const std::uint64_t size = toc.segments[one.segment].size;
    report_.needed_bytes += std::min(one.range.end << kLeafLog2, size) - std::min(one.range.first << kLeafLog2, size);
  }
  stage_ = FetchStage::kHashes;
  FATCTX_ASSIGN(raw_, hashes_to_fetch(false));
  return give_first_bytes();
}

// Compares the copies of the table that are not damaged with the SHA-256 that they must have. Both of them: XXH3, which
// has accepted them, does not stop somebody who makes two tables of one hash.
Status PartialFetch::check_sha256_of_table(std::uint32_t degraded) {
  constexpr std::array kCopies = {kDegradedToc0, kDegradedToc1};
  std::vector<std::byte> table(static_cast<std::size_t>(header_->toc_size));
  bool compared = false;
  for (std::size_t copy = 0; copy < kCopies.size(); ++copy) {
    if ((degraded & kCopies[copy]) != 0) continue;
    FATCTX_TRY(file().read_at(header_->toc_offset[copy], table));
    const std::string found = to_hex(sha256(table));
    compared = true;
    if (found == options_.toc_sha256) continue;
    return Error{ErrorCode::kChanged,
                 fmt::format("the table of contents has the SHA-256 {}, and not {}: this is not the container that was "
                             "asked for",
                             found, options_.toc_sha256)};
  }
  if (compared) return Done{};
  return Error{ErrorCode::kChecksumMismatch,
               "both copies of the table of contents are damaged, so its SHA-256 is not known"};
}

// An earlier fetch may have wanted more, and ended in the middle of a write. Whatever nobody fetches anew must be right
// or zeros.
Status PartialFetch::clear_what_is_wrong() {
  const Toc& toc = opened_->toc;
  std::vector<SegmentLeaves> known;
  for (std::uint32_t i = 0; i < toc.segments.size(); ++i) {
    const Segment& segment = toc.segments[i];
    if (segment.kind == SegmentKind::kLeaves) {
      FATCTX_ASSIGN(const std::vector<LeavesPart> parts, parts_of_leaves_segment(file(), toc, i));
      for (const LeavesPart& part : parts) {
        if (part.state == PartState::kDamaged) FATCTX_TRY(mapping::make_hole(file(), part.in_file));
      }
    }
  }
  for (std::uint32_t i = 0; i < toc.segments.size(); ++i) {
    const Segment& segment = toc.segments[i];
    if (!segment.holds_payload()) continue;
    for (std::uint64_t first = 0; first < segment.leaf_count(); first += kLeavesPerPage) {
      const LeafRange page{first, std::min(segment.leaf_count(), first + kLeavesPerPage)};
      const bool both = leaf_hashes_named(toc, i).size() > 1;
      if (read_leaves(file(), toc, segment, both ? LeafHash::kBoth : LeafHash::kXxh3, page).ok()) {
        known.push_back({i, page});
        continue;
      }
      // Nothing says what belongs here: it was not fetched, so it must be a hole.
      const std::uint64_t begin = page.first << kLeafLog2;
      const std::uint64_t end = std::min(page.end << kLeafLog2, segment.size);
      FATCTX_TRY(mapping::make_hole(file(), {segment.offset + begin, end - begin}));
    }
  }
  FATCTX_ASSIGN(WantedLeaves all, WantedLeaves::make(file(), toc, known));
  return all.look_at_file();
}

// Returns the leaf hashes that the file lacks. After their fetch that is an error of the source.
Result<ByteSet> PartialFetch::hashes_to_fetch(bool after_fetch) {
  ByteSet lacking;
  const Toc& toc = opened_->toc;
  for (const SegmentLeaves& one : leaves_) {
    for (const LeafHash which : leaf_hashes_named(toc, one.segment)) {
      FATCTX_ASSIGN(const std::vector<LeavesPart> parts, judge_leaf_hashes(file(), toc, one.segment, which, one.range));
      for (const LeavesPart& part : parts) {
        if (part.state == PartState::kGood) continue;
        if (part.state == PartState::kDamaged) FATCTX_TRY(mapping::make_hole(file(), part.in_file));
        if (after_fetch) {
          return Error{ErrorCode::kChecksumMismatch,
                       fmt::format("the leaf hashes at bytes {:#x} to {:#x} {}", part.in_file.offset,
                                   part.in_file.offset + part.in_file.size,
                                   part.state == PartState::kDamaged ? "came damaged"
                                                                     : "came as zeros; the source does not have them"),
                       {.file_offset = part.in_file.offset, .rule = "F26"}};
        }
        lacking.add(part.in_file);
      }
    }
  }
  return lacking;
}

Status PartialFetch::begin_payload() {
  auto lacking = hashes_to_fetch(true);
  if (!lacking.ok()) {  // they are wanted again
    FATCTX_ASSIGN(raw_, hashes_to_fetch(false));
    return std::move(lacking).error();
  }
  FATCTX_ASSIGN(WantedLeaves wanted, WantedLeaves::make(file(), opened_->toc, leaves_));
  wanted_.emplace(std::move(wanted));
  stage_ = FetchStage::kPayload;
  if (resumed_) {
    const std::uint64_t all = wanted_->missing().bytes();
    FATCTX_TRY(wanted_->look_at_file());
    report_.present_bytes = all - wanted_->missing().bytes();
  }
  FATCTX_ASSIGN(whole_leaves_reused_, take_from_seeds(seeds_, *wanted_));
  report_.reused_bytes = whole_leaves_reused_;
  return wanted_->take(0, first_);
}

Status PartialFetch::publish() {
  if (stage_ != FetchStage::kDone) {
    return Error{ErrorCode::kOperationNotPermitted,
                 fmt::format("{}: {} bytes are still to be fetched", target_, lacking_bytes())};
  }
  return pending_->publish(header_->sealed);
}

void PartialFetch::discard() noexcept { pending_->discard(); }

}  // namespace fatctx::container

namespace fatctx {

std::string_view fetch_stage_name(FetchStage stage) noexcept {
  switch (stage) {
    case FetchStage::kHeader:
      return "header";
    case FetchStage::kTable:
      return "table";
    case FetchStage::kHashes:
      return "hashes";
    case FetchStage::kPayload:
      return "payload";
    case FetchStage::kDone:
      break;
  }
  return "done";
}

}  // namespace fatctx
