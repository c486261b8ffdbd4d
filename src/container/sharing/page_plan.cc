#include "container/sharing/page_plan.h"

#include <algorithm>
#include <set>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>

#include "container/sharing/granule_store.h"
#include "container/sharing/parallel.h"
#include "container/sharing/stored_bytes.h"
#include "container/sharing/window_scan.h"

namespace fatctx::container::sharing {
namespace {

constexpr std::size_t kCompareUnit = std::size_t{1} << 20;
constexpr std::uint64_t kBorderDivisor = 8;
constexpr unsigned kMaxCandidates = 8;   // candidates that are tried for a hash; constant bytes have thousands
constexpr unsigned kMaxCollisions = 32;  // rounds; a granule that still collides then is stored again

// Returns the least run length for which `fits` holds, from `wished` up and to within a sixteenth. The last call of
// `fits` is not always the one with the result.
template <typename Fits>
Result<std::uint64_t> shortest_that_fits(std::uint64_t wished, const Fits& fits) {
  std::uint64_t too_short = wished;
  FATCTX_ASSIGN(bool good, fits(wished));
  if (good) return wished;
  std::uint64_t enough = wished;
  while (!good) {
    too_short = enough;
    enough *= 2;
    FATCTX_ASSIGN(good, fits(enough));
  }
  while (enough - too_short > std::max<std::uint64_t>(1, enough / 16)) {
    const std::uint64_t middle = too_short + (enough - too_short) / 2;
    FATCTX_ASSIGN(good, fits(middle));
    (good ? enough : too_short) = middle;
  }
  return enough;
}

// Consecutive granules of a record that are consecutive in a store too.
struct Run {
  std::uint64_t at = 0;       // in the record
  std::uint32_t granule = 0;  // in the store
  std::uint32_t count = 0;
  bool own = false;  // stored for this record; false: found
};

class PagePlanner {
 public:
  PagePlanner(std::span<const PageInput> records, std::span<const RecordBytes* const> present,
              const PageSettings& settings)
      : records_(records),
        present_(present),
        settings_(settings),
        granule_size_(std::uint64_t{1} << settings.granule_log2),
        runs_(records.size()) {}

  Result<PagePlan> run() {
    FATCTX_TRY(scan());
    const std::uint64_t wished = std::max<std::uint64_t>(1, settings_.min_run_bytes >> settings_.granule_log2);
    // Collisions hardly ever happen, so a plan by hashes alone tells which runs are too short.
    FATCTX_ASSIGN(std::uint64_t least, shortest_that_fits(wished, [&](std::uint64_t shortest) -> Result<bool> {
                    FATCTX_TRY(plan_all(shortest, false));
                    return fits();
                  }));
    FATCTX_TRY(plan_all(least, true));
    while (!fits()) {  // only after collisions; if no run is long enough, every record is one piece
      least *= 2;
      FATCTX_TRY(plan_all(least, true));
    }
    PagePlan plan;
    const std::vector<std::uint64_t> common = common_with_earlier();
    for (std::size_t i = 0; i < records_.size(); ++i) {
      plan.records.push_back(result_of(i));
      PageRecord& record = plan.records.back();
      const std::uint64_t shared = records_[i].bytes->size() - record.own_bytes;
      record.shifted_bytes = common[i] > shared ? std::min(common[i] - shared, record.own_bytes) : 0;
    }
    if (settings_.explain) FATCTX_TRY(find_reordered(plan));
    plan.layout = std::move(layout_);
    return plan;
  }

 private:
  Status scan() {
    std::uint64_t total = 0;
    std::vector<GroupInput> groups;
    const auto count_of = [&](std::uint64_t size) { return (size + granule_size_ - 1) >> settings_.granule_log2; };
    for (const RecordBytes* bytes : present_) total += count_of(bytes->size());
    for (const PageInput& record : records_) total += count_of(record.bytes->size());
    if (total >= kNoGranule) {
      return Error{ErrorCode::kLimitExceeded,
                   fmt::format("{} pages of {} bytes to compare, at most {} are allowed; pack with a larger granule or "
                               "with --sharing off",
                               total, granule_size_, kNoGranule - 1)};
    }
    present_granules_.resize(present_.size());
    scans_.resize(records_.size());
    FATCTX_TRY(for_each_index(settings_.threads, present_.size() + records_.size(), [&](std::size_t at) -> Status {
      const bool is_present = at < present_.size();
      const RecordBytes& bytes = is_present ? *present_[at] : *records_[at - present_.size()].bytes;
      FATCTX_ASSIGN(ContentScan found, scan_content(bytes, settings_.granule_log2, settings_.hash));
      if (is_present) {
        present_granules_[at] = std::move(found.granules);
      } else {
        scans_[at - present_.size()] = std::move(found);
      }
      return Done{};
    }));
    for (std::size_t i = 0; i < records_.size(); ++i) groups.push_back({records_[i].bytes->size(), &scans_[i]});
    layout_ = layout_groups(groups);
    for (ContentScan& found : scans_) found.chunks = std::vector<Chunk>();  // the groups are made: free the memory
    return Done{};
  }

  // Returns for each record the most bytes that it has in common, by chunks, with one record that came before it.
  [[nodiscard]] std::vector<std::uint64_t> common_with_earlier() const {
    std::vector<std::uint64_t> common(records_.size());
    if (layout_.shares.empty()) return common;
    std::vector<std::size_t> earlier;
    for (const LayoutGroup& group : layout_.groups) {
      for (const std::size_t index : group.members) {
        for (const std::size_t other : earlier)
          common[index] = std::max(common[index], layout_.shares.of(index, other));
        earlier.push_back(index);
      }
    }
    return common;
  }

  // Estimates reordered bytes by the share of a record's short byte sequences that earlier records have.
  Status find_reordered(PagePlan& plan) const {
    std::vector<std::vector<std::uint64_t>> windows(records_.size());
    FATCTX_TRY(for_each_index(settings_.threads, records_.size(), [&](std::size_t at) -> Status {
      FATCTX_ASSIGN(windows[at], scan_windows(*records_[at].bytes));
      return Done{};
    }));
    std::unordered_set<std::uint64_t> earlier;
    for (const LayoutGroup& group : layout_.groups) {
      for (const std::size_t index : group.members) {
        PageRecord& record = plan.records[index];
        const std::uint64_t size = records_[index].bytes->size();
        const std::vector<std::uint64_t>& own = windows[index];
        const auto known = static_cast<std::uint64_t>(
            std::count_if(own.begin(), own.end(), [&](std::uint64_t window) { return earlier.contains(window); }));
        earlier.insert(own.begin(), own.end());
        if (own.empty()) continue;
        const std::uint64_t common = size / own.size() * known;
        const std::uint64_t explained = size - record.own_bytes + record.shifted_bytes;
        const std::uint64_t left = record.own_bytes - record.shifted_bytes;
        const std::uint64_t found = common > explained ? std::min(common - explained, left) : 0;
        // Chunks at the borders of moved bytes differ as a whole; so few bytes beside moved ones count as moved too.
        const bool at_borders = found < record.shifted_bytes / kBorderDivisor;
        (at_borders ? record.shifted_bytes : record.reordered_bytes) += found;
      }
    }
    return Done{};
  }

  Status plan_all(std::uint64_t least, bool verified) {
    store_ = GranuleStore(static_cast<std::uint32_t>(granule_size_));
    for (std::size_t i = 0; i < present_.size(); ++i) {
      store_.begin_extent(static_cast<std::uint32_t>(i));
      const auto& hashes = present_granules_[i];
      for (std::size_t at = 0; at < hashes.size(); ++at) store_.add(hashes[at], size_at(present_[i]->size(), at));
    }
    for (const LayoutGroup& group : layout_.groups) {
      for (const std::size_t index : group.members) FATCTX_TRY(plan_record(index, least, verified));
    }
    if (!verified) return Done{};
    for (const RecordBytes* bytes : present_) bytes->close();
    for (const PageInput& record : records_) record.bytes->close();
    return Done{};
  }

  [[nodiscard]] bool fits() const {
    std::uint64_t slices = 0;
    for (std::size_t i = 0; i < records_.size(); ++i) slices += piece_count(i) * records_[i].slice_rows;
    return slices <= settings_.max_slices;
  }

  [[nodiscard]] std::uint32_t size_at(std::uint64_t size, std::uint64_t granule) const noexcept {
    return static_cast<std::uint32_t>(std::min(granule_size_, size - (granule << settings_.granule_log2)));
  }

  // Plans one record against all that is stored, itself included.
  Status plan_record(std::size_t index, std::uint64_t least, bool verified) {
    index_ = index;
    hashes_ = &scans_[index].granules;
    size_ = records_[index].bytes->size();
    unequal_.clear();
    alone_.clear();
    store_.begin_extent(static_cast<std::uint32_t>(present_.size() + index));
    const auto find = [&]() -> Status {
      const auto within_limit = [&](std::uint64_t shortest) -> Result<bool> {
        find_runs(shortest);
        return piece_count(index) <= settings_.max_pieces;
      };
      FATCTX_ASSIGN(const std::uint64_t shortest, shortest_that_fits(least, within_limit));
      if (shortest != least) find_runs(shortest);  // the last length tried may differ
      if (!worth_it()) store_whole();
      return Done{};
    };
    FATCTX_TRY(find());
    for (unsigned round = 1; verified; ++round) {
      FATCTX_ASSIGN(const bool equal, compare_runs(round >= kMaxCollisions));
      if (equal) break;
      FATCTX_TRY(find());
    }
    return Done{};
  }

  void find_runs(std::uint64_t shortest) {
    store_.clear_extent();
    std::vector<Run>& runs = runs_[index_];
    runs.clear();
    for (std::uint64_t at = 0; at < hashes_->size();) {
      const Run found = longest_at(at);
      const bool whole = found.count == hashes_->size();
      if (found.count != 0 && (found.count >= shortest || whole)) {
        take_back(found.at);
        runs.push_back(found);
        at = found.at + found.count;
        continue;
      }
      if (runs.empty() || !runs.back().own) runs.push_back({at, store_.count(), 0, true});
      ++runs.back().count;
      store_.add((*hashes_)[static_cast<std::size_t>(at)], size_at(size_, at));
      ++at;
    }
  }

  // Returns the longest run through granule `at` of the record, forward, and back into granules just stored for it.
  [[nodiscard]] Run longest_at(std::uint64_t at) const {
    Run best;
    std::uint32_t candidate = store_.first_with((*hashes_)[static_cast<std::size_t>(at)]);
    for (unsigned tried = 0; candidate != kNoGranule && tried < kMaxCandidates; ++tried) {
      const StoreExtent& extent = store_.extent_of(candidate);
      std::uint32_t forward = 0;
      while (at + forward < hashes_->size() && candidate + forward < extent.end &&
             same(at + forward, candidate + forward)) {
        ++forward;
      }
      if (forward != 0) {
        const std::uint32_t back = backward(at, candidate, forward, extent);
        if (forward + back > best.count) best = {at - back, candidate - back, forward + back, false};
      }
      candidate = store_.next_with(candidate);
    }
    return best;
  }

  [[nodiscard]] std::uint32_t backward(std::uint64_t at, std::uint32_t candidate, std::uint32_t forward,
                                       const StoreExtent& extent) const {
    const std::vector<Run>& runs = runs_[index_];
    if (runs.empty() || !runs.back().own) return 0;
    const Run& own = runs.back();
    const bool among_own = &extent == &store_.newest_extent();
    std::uint32_t back = 0;
    // No found run reads the granules of the last own one: they were stored after it was found.
    while (back < own.count && candidate - back > extent.first) {
      const std::uint32_t own_end = store_.count() - (back + 1);  // with this granule taken back too
      if (among_own && candidate + forward > own_end) break;
      if (!same(at - (back + 1), candidate - (back + 1))) break;
      ++back;
    }
    return back;
  }

  // Takes back the granules from `at` on: they were stored for the record and are now found elsewhere.
  void take_back(std::uint64_t at) {
    std::vector<Run>& runs = runs_[index_];
    if (runs.empty() || !runs.back().own) return;
    Run& own = runs.back();
    while (own.count != 0 && own.at + own.count > at) {
      --own.count;
      store_.remove_last();
    }
    if (own.count == 0) runs.pop_back();
  }

  [[nodiscard]] bool same(std::uint64_t at, std::uint32_t granule) const {
    if ((*hashes_)[static_cast<std::size_t>(at)] != store_.hash(granule)) return false;
    if (size_at(size_, at) > store_.size_of(granule)) return false;
    if (unequal_.empty() && alone_.empty()) return true;
    return !unequal_.contains({at, granule}) && !alone_.contains(at);
  }

  [[nodiscard]] bool worth_it() const {
    std::uint64_t own = 0;
    for (const Run& run : runs_[index_]) {
      if (run.own) own += run.count;
    }
    const std::uint64_t all = hashes_->size();
    return own == 0 || (all - own) * settings_.min_saving_divisor >= all;
  }

  void store_whole() {
    store_.clear_extent();
    const auto count = static_cast<std::uint32_t>(hashes_->size());
    runs_[index_] = {Run{0, store_.count(), count, true}};
    for (std::uint64_t at = 0; at < count; ++at) {
      store_.add((*hashes_)[static_cast<std::size_t>(at)], size_at(size_, at));
    }
  }

  // Compares the bytes of found runs, because equal hashes prove nothing. Returns false if a granule differs, and
  // remembers it.
  Result<bool> compare_runs(bool give_up) {
    bool equal = true;
    for (const Run& run : runs_[index_]) {
      if (run.own) continue;
      const std::size_t before = unequal_.size();
      FATCTX_TRY(compare_run(run));
      if (unequal_.size() == before) continue;
      equal = false;
      if (!give_up) continue;
      for (std::uint64_t at = run.at; at < run.at + run.count; ++at) alone_.insert(at);
    }
    return equal;
  }

  Status compare_run(const Run& run) {
    const std::uint64_t unit = kCompareUnit >> settings_.granule_log2;
    for (std::uint64_t done = 0; done < run.count; done += unit) {
      const std::uint64_t count = std::min<std::uint64_t>(unit, run.count - done);
      const auto bytes = static_cast<std::size_t>(count << settings_.granule_log2);
      left_.assign(bytes, std::byte{0});
      right_.assign(bytes, std::byte{0});
      const std::uint64_t offset = (run.at + done) << settings_.granule_log2;
      FATCTX_TRY(records_[index_].bytes->read_at(
          offset, std::span(left_).first(static_cast<std::size_t>(std::min<std::uint64_t>(bytes, size_ - offset)))));
      FATCTX_TRY(read_stored(run.granule + static_cast<std::uint32_t>(done), static_cast<std::uint32_t>(count)));
      if (equal_bytes(left_, right_)) continue;
      for (std::uint64_t i = 0; i < count; ++i) {
        const auto from = static_cast<std::size_t>(i << settings_.granule_log2);
        const auto size = static_cast<std::size_t>(granule_size_);
        if (equal_bytes(ByteView(left_).subspan(from, size), ByteView(right_).subspan(from, size))) continue;
        unequal_.insert({run.at + done + i, run.granule + static_cast<std::uint32_t>(done + i)});
      }
    }
    return Done{};
  }

  // Reads stored granules of one extent into right_, which holds zeros.
  Status read_stored(std::uint32_t granule, std::uint32_t count) {
    const StoreExtent extent = store_.extent_of(granule);
    const bool is_present = extent.store < present_.size();
    const RecordBytes& source = is_present ? *present_[extent.store] : *records_[extent.store - present_.size()].bytes;
    if (&source != source_ && source_ != nullptr && source_ != records_[index_].bytes) source_->close();
    source_ = &source;
    std::size_t filled = 0;
    while (count != 0) {
      std::uint64_t at = granule - extent.first;  // in the source
      std::uint32_t here = count;
      if (!is_present) {
        const Run& own = own_run_with(extent.store - present_.size(), granule);
        at = own.at + (granule - own.granule);
        here = std::min(count, own.granule + own.count - granule);
      }
      const std::uint64_t offset = at << settings_.granule_log2;
      const auto size =
          static_cast<std::size_t>(std::min(std::uint64_t{here} << settings_.granule_log2, source.size() - offset));
      FATCTX_TRY(source.read_at(offset, std::span(right_).subspan(filled, size)));
      filled += static_cast<std::size_t>(std::uint64_t{here} << settings_.granule_log2);
      granule += here;
      count -= here;
    }
    return Done{};
  }

  [[nodiscard]] const Run& own_run_with(std::size_t record, std::uint32_t granule) const {
    // Own runs ascend in the store, found ones do not.
    const auto found = std::find_if(runs_[record].begin(), runs_[record].end(), [&](const Run& run) {
      return run.own && run.granule <= granule && granule - run.granule < run.count;
    });
    return *found;
  }

  [[nodiscard]] static bool continues(const Run& a, const Run& b, const GranuleStore& store) {
    return a.granule + a.count == b.granule && &store.extent_of(a.granule) == &store.extent_of(b.granule);
  }

  [[nodiscard]] std::uint64_t piece_count(std::size_t index) const {
    const std::vector<Run>& runs = runs_[index];
    std::uint64_t count = runs.empty() ? 0 : 1;
    for (std::size_t i = 1; i < runs.size(); ++i) {
      if (!continues(runs[i - 1], runs[i], store_)) ++count;
    }
    return count;
  }

  [[nodiscard]] PageRecord result_of(std::size_t index) const {
    PageRecord result;
    const std::uint64_t size = records_[index].bytes->size();
    const std::vector<Run>& runs = runs_[index];
    for (std::size_t i = 0; i < runs.size(); ++i) {
      const Run& run = runs[i];
      const std::uint64_t at = run.at << settings_.granule_log2;
      const std::uint64_t bytes = std::min(std::uint64_t{run.count} << settings_.granule_log2, size - at);
      if (run.own) {
        result.own.push_back({at, bytes});
        result.own_bytes += bytes;
      }
      const StoreExtent& extent = store_.extent_of(run.granule);
      if (i != 0 && continues(runs[i - 1], run, store_)) {
        result.pieces.back().range.size += bytes;
      } else {
        result.pieces.push_back(
            {extent.store, {std::uint64_t{run.granule - extent.first} << settings_.granule_log2, bytes}});
      }
    }
    return result;
  }

  std::span<const PageInput> records_;
  std::span<const RecordBytes* const> present_;
  const PageSettings& settings_;
  const std::uint64_t granule_size_;
  std::vector<std::vector<std::uint64_t>> present_granules_;
  std::vector<ContentScan> scans_;
  LayoutGroups layout_;
  GranuleStore store_{0};
  std::vector<std::vector<Run>> runs_;  // of each record, ascending by `at`

  // The record that is being planned.
  std::size_t index_ = 0;
  const std::vector<std::uint64_t>* hashes_ = nullptr;
  std::uint64_t size_ = 0;
  std::set<std::pair<std::uint64_t, std::uint32_t>> unequal_;
  std::set<std::uint64_t> alone_;  // granules that collided too often

  const RecordBytes* source_ = nullptr;
  std::vector<std::byte> left_;
  std::vector<std::byte> right_;
};

}  // namespace

Result<PagePlan> plan_pages(std::span<const PageInput> records, std::span<const RecordBytes* const> present,
                            const PageSettings& settings) {
  return PagePlanner(records, present, settings).run();
}

}  // namespace fatctx::container::sharing
