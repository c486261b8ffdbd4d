#include "container/sharing/byte_runs.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "container/sharing/parallel.h"

namespace fatctx::container::sharing {
namespace {

constexpr std::uint64_t kReadUnit = std::uint64_t{1} << 20;
constexpr std::uint64_t kHashUnit = std::uint64_t{16} << 10;  // a run is often longer, and what it covers needs no hash
// A run of this length that continues the last copy after a few other bytes is taken at once, without a look for a
// longer one. It keeps its offset in the page, and the recipe small.
constexpr std::uint64_t kGoodEnough = 4096;
// Without an anchor, every place is tried for this long, then none for a longer while.
constexpr std::uint64_t kTriedGap = 2 * kMaxAnchorGap;
constexpr std::uint64_t kLongestGap = 16 * kMaxAnchorGap;
constexpr std::uint64_t kLeastFill = 512;  // twice as many equal bytes are always found

}  // namespace

Status StoredBytes::add(const RecordBytes& bytes, std::uint32_t number, unsigned threads) {
  stores_.push_back({&bytes, number, end_});
  by_number_.emplace(number, &stores_.back());
  FATCTX_TRY(add_anchors(anchors_, bytes, end_, threads));
  end_ += bytes.size();
  return Done{};
}

const StoredBytes::Store& StoredBytes::store(std::uint32_t number) const noexcept {
  return *by_number_.find(number)->second;
}

const StoredBytes::Store& StoredBytes::store_before(std::uint64_t place) const noexcept {
  const auto next = std::lower_bound(stores_.begin(), stores_.end(), place,
                                     [](const Store& store, std::uint64_t at) { return store.place < at; });
  return *(next - 1);
}

// Makes the buffer hold `at` and the bytes behind it, and those in front of it that a window or a fill needs.
Status RunFinder::load(std::uint64_t at) {
  const std::uint64_t from = at - std::min<std::uint64_t>(at - unit_.offset, kMaxAnchorGap);
  if (at >= buffer_at_ && at < buffer_at_ + buffer_.size()) return Done{};
  buffer_.resize(static_cast<std::size_t>(std::min(unit_end() - from, kReadUnit)));
  buffer_at_ = from;
  anchors_.clear();
  next_anchor_ = 0;
  hashed_to_ = from;
  return record_->read_at(from, buffer_);
}

std::uint64_t RunFinder::rolling_at(std::uint64_t end) const noexcept {
  return rolling_before(buffer_, static_cast<std::size_t>(end - buffer_at_));
}

ByteView RunFinder::window(std::uint64_t end) const noexcept {
  return ByteView(buffer_).subspan(static_cast<std::size_t>(end - kGearWindow - buffer_at_), kGearWindow);
}

// Returns the first anchor behind `at` whose window is in the unit and ends behind the last run. Returns null if there
// is none up to `wanted`, or one behind that place. Hashes a whole step ahead.
const RunFinder::Anchor* RunFinder::next_anchor(std::uint64_t at, std::uint64_t wanted) {
  const std::uint64_t stop = buffer_at_ + buffer_.size();
  const std::uint64_t least = std::max({at + 1, free_from_ + 1, unit_.offset + kGearWindow});
  while (true) {
    while (next_anchor_ < anchors_.size() && anchors_[next_anchor_].end < least) ++next_anchor_;
    if (next_anchor_ < anchors_.size()) return &anchors_[next_anchor_];
    const std::uint64_t from = std::max(least, hashed_to_ + 1);
    if (from > wanted) return nullptr;
    hashed_to_ = std::min(from + kHashUnit - 1, stop);
    anchors_.clear();
    next_anchor_ = 0;
    // Looks all of them up at once: lookups do not depend on each other, so they wait for memory together.
    for (const GearHit& hit : gear_.find(buffer_, static_cast<std::size_t>(from - buffer_at_),
                                         static_cast<std::size_t>(hashed_to_ - buffer_at_))) {
      anchors_.push_back({buffer_at_ + hit.end, stored_.anchors().find(hit.rolling)});
    }
  }
}

Result<std::vector<ByteRun>> RunFinder::find(ByteRange unit) {
  unit_ = unit;
  buffer_.clear();
  buffer_at_ = unit.offset;
  free_from_ = unit.offset;
  last_copy_ = {};
  last_store_ = nullptr;
  runs_.clear();
  std::uint64_t last = unit.offset;  // last anchor, or end of a run
  std::uint64_t at = unit.offset;    // every place up to here has been examined
  while (at < unit_end()) {
    FATCTX_TRY(load(at));
    const std::uint64_t stop = buffer_at_ + buffer_.size();
    while (at < stop) {
      const std::uint64_t gap_before = at - last;
      const bool every_place = gap_before + 1 >= kMaxAnchorGap && gap_before + 1 < kTriedGap;
      const std::uint64_t next = every_place ? at + 1 : last + (gap_before / kLeastFill + 1) * kLeastFill;
      const Anchor* const next_found = next_anchor(at, std::min(next, stop));
      const std::uint64_t end = next_found != nullptr ? std::min(next, next_found->end) : next;
      if (end > stop) {
        at = stop;
        break;
      }
      const bool anchor = next_found != nullptr && next_found->end == end;
      const std::uint64_t gap = end - last;
      bool found = false;
      if (gap % kLeastFill == 0) {
        FATCTX_ASSIGN(found, take_fill(end));
      }
      const bool tried = anchor || (gap >= kMaxAnchorGap && gap < kTriedGap);
      if (!found && tried && !constant(window(end))) {  // else constant: an anchor everywhere or nowhere
        FATCTX_ASSIGN(found, take_copy(end, anchor ? next_found->place : stored_.anchors().find(rolling_at(end))));
        if (anchor) last = end;
      }
      if (gap >= kLongestGap) last = end;
      at = end;
      if (!found) continue;
      at = last = free_from_;
      break;
    }
  }
  return std::move(runs_);
}

Result<bool> RunFinder::take_fill(std::uint64_t end) {
  const std::uint64_t from = end - kLeastFill;
  const ByteView bytes =
      ByteView(buffer_).subspan(static_cast<std::size_t>(from - buffer_at_), static_cast<std::size_t>(kLeastFill));
  if (from < free_from_ || !constant(bytes)) return false;
  FATCTX_ASSIGN(const Candidate going_on, as_the_last_one(end - kGearWindow));
  if (going_on.size >= kLeastFill) {  // a copy can be mapped
    take(going_on);
    return true;
  }
  const std::byte byte = bytes[0];
  ByteRun run{.target = from, .size = end - from, .fill = true, .source = static_cast<std::uint64_t>(byte)};
  while (run.target > free_from_) {
    const std::uint64_t block = (run.target - 1) / BlockCache::kBlockSize * BlockCache::kBlockSize;
    const std::uint64_t first = std::max(block, free_from_);
    FATCTX_ASSIGN(const ByteView before, targets_.at(*record_, first));
    const auto size = static_cast<std::size_t>(run.target - first);
    std::size_t equal = 0;
    while (equal < size && before[size - 1 - equal] == byte) ++equal;
    run.target -= equal;
    run.size += equal;
    if (equal < size) break;
  }
  while (run.end() < unit_end()) {
    FATCTX_ASSIGN(const ByteView held, targets_.at(*record_, run.end()));
    const ByteView behind =
        held.first(static_cast<std::size_t>(std::min<std::uint64_t>(held.size(), unit_end() - run.end())));
    const auto other = std::find_if(behind.begin(), behind.end(), [&](std::byte b) { return b != byte; });
    run.size += static_cast<std::uint64_t>(other - behind.begin());
    if (other != behind.end()) break;
  }
  runs_.push_back(run);
  free_from_ = run.end();
  return true;
}

Result<bool> RunFinder::take_copy(std::uint64_t end, std::uint64_t place) {
  const std::uint64_t at = end - kGearWindow;
  FATCTX_ASSIGN(Candidate best, as_the_last_one(at));
  if (best.size < kGoodEnough) {
    if (place != kNoPlace) {
      const StoredBytes::Store& store = stored_.store_before(place);
      FATCTX_ASSIGN(const Candidate other, longest_from(store, place - kGearWindow - store.place, at));
      if (other.size > best.size) best = other;
    }
  }
  if (best.size < least_) return false;
  take(best);
  return true;
}

void RunFinder::take(const Candidate& run) {
  runs_.push_back({.target = run.target, .size = run.size, .store = run.store->number, .source = run.source});
  last_copy_ = runs_.back();
  last_store_ = run.store;
  free_from_ = run.target + run.size;
}

// Returns the run through the window at `at` that continues the last copy, after a few bytes of the record's own.
Result<RunFinder::Candidate> RunFinder::as_the_last_one(std::uint64_t at) {
  if (last_store_ == nullptr || at < last_copy_.end()) return Candidate{};
  return longest_from(*last_store_, last_copy_.source + (at - last_copy_.target), at);
}

// Returns the run through the window at `window_at` of the record, if the store has the same bytes at `source`.
Result<RunFinder::Candidate> RunFinder::longest_from(const StoredBytes::Store& store, std::uint64_t source,
                                                     std::uint64_t window_at) {
  if (!within({source, kGearWindow}, store.bytes->size())) return Candidate{};
  FATCTX_ASSIGN(const std::uint64_t behind, forward(store, source, window_at));
  if (behind < kGearWindow) return Candidate{};
  if (window_at < free_from_) {  // it begins in the run before
    const std::uint64_t taken = free_from_ - window_at;
    return Candidate{&store, source + taken, free_from_, behind - taken};
  }
  FATCTX_ASSIGN(const std::uint64_t before, backward(store, source, window_at));
  return Candidate{&store, source - before, window_at - before, before + behind};
}

Result<std::uint64_t> RunFinder::forward(const StoredBytes::Store& store, std::uint64_t source, std::uint64_t target) {
  const std::uint64_t most = std::min(store.bytes->size() - source, unit_end() - target);
  std::uint64_t equal = 0;
  while (equal < most) {
    FATCTX_ASSIGN(const ByteView theirs, sources_.at(*store.bytes, source + equal));
    FATCTX_ASSIGN(const ByteView ours, targets_.at(*record_, target + equal));
    const std::size_t here = common_prefix(theirs, ours);
    equal += here;
    if (here < std::min(theirs.size(), ours.size())) break;
  }
  return std::min(equal, most);
}

// Returns how many bytes in front of both are equal, at most back to the last run.
Result<std::uint64_t> RunFinder::backward(const StoredBytes::Store& store, std::uint64_t source, std::uint64_t target) {
  const std::uint64_t most = std::min(source, target - free_from_);
  std::uint64_t equal = 0;
  while (equal < most) {
    // Only as far back as both stay in the block of the byte before.
    const std::uint64_t piece = std::min({most - equal, (source - equal - 1) % BlockCache::kBlockSize + 1,
                                          (target - equal - 1) % BlockCache::kBlockSize + 1});
    FATCTX_ASSIGN(const ByteView theirs, sources_.at(*store.bytes, source - equal - piece));
    FATCTX_ASSIGN(const ByteView ours, targets_.at(*record_, target - equal - piece));
    const auto size = static_cast<std::size_t>(piece);
    const std::size_t here = common_suffix(theirs.first(size), ours.first(size));
    equal += here;
    if (here < size) break;
  }
  return equal;
}

// Returns how far the run extends behind its end, at most to `end` of the record.
Result<std::uint64_t> RunFinder::equal_behind(const ByteRun& run, std::uint64_t end) {
  unit_ = {run.target, end - run.target};
  if (!run.fill) {
    FATCTX_ASSIGN(const std::uint64_t behind, forward(stored_.store(run.store), run.source + run.size, run.end()));
    return behind;
  }
  std::uint64_t equal = 0;
  while (run.end() + equal < end) {
    FATCTX_ASSIGN(const ByteView held, targets_.at(*record_, run.end() + equal));
    if (held[0] != static_cast<std::byte>(run.source)) break;
    ++equal;
  }
  return equal;
}

// Returns how far the run extends in front of its start, at most to `from`.
Result<std::uint64_t> RunFinder::equal_before(const ByteRun& run, std::uint64_t from) {
  free_from_ = from;
  if (!run.fill) return backward(stored_.store(run.store), run.source, run.target);
  std::uint64_t equal = 0;
  while (run.target - equal > from) {
    FATCTX_ASSIGN(const ByteView held, targets_.at(*record_, run.target - equal - 1));
    if (held[0] != static_cast<std::byte>(run.source)) break;
    ++equal;
  }
  return equal;
}

Status RunFinder::join(std::vector<ByteRun>& runs, std::vector<ByteRun> next, std::uint64_t seam) {
  const std::uint64_t end = next.empty() ? record_->size() : next.front().target;
  if (!runs.empty() && runs.back().end() == seam && end > seam) {
    FATCTX_ASSIGN(const std::uint64_t behind, equal_behind(runs.back(), std::min(end, seam + kScanUnit)));
    runs.back().size += behind;
  }
  if (!next.empty()) {
    ByteRun& first = next.front();
    const std::uint64_t from = runs.empty() ? 0 : runs.back().end();
    if (first.target == seam && from < seam) {
      FATCTX_ASSIGN(const std::uint64_t before, equal_before(first, from));
      first.target -= before;
      first.size += before;
      if (!first.fill) first.source -= before;
    }
    if (!runs.empty() && runs.back().end() == first.target && runs.back().fill == first.fill) {
      const ByteRun& last = runs.back();
      const bool one = first.fill ? last.source == first.source
                                  : last.store == first.store && last.source + last.size == first.source;
      if (one) {
        runs.back().size += first.size;
        next.erase(next.begin());
      }
    }
  }
  runs.insert(runs.end(), next.begin(), next.end());
  return Done{};
}

Result<std::vector<ByteRun>> find_runs(const StoredBytes& stored, const RecordBytes& record, std::uint64_t least,
                                       unsigned threads) {
  std::vector<std::vector<ByteRun>> found(static_cast<std::size_t>((record.size() + kScanUnit - 1) / kScanUnit));
  FATCTX_TRY(for_each_index(threads, found.size(), [&](std::size_t index) -> Status {
    const std::uint64_t from = index * kScanUnit;
    RunFinder finder(stored, record, least);
    FATCTX_ASSIGN(found[index], finder.find({from, std::min(kScanUnit, record.size() - from)}));
    finder.close();
    return Done{};
  }));
  RunFinder finder(stored, record, least);
  std::vector<ByteRun> runs;
  for (std::size_t index = 0; index < found.size(); ++index) {
    FATCTX_TRY(finder.join(runs, std::move(found[index]), index * kScanUnit));
  }
  finder.close();
  return runs;
}

}  // namespace fatctx::container::sharing
