#include "container/sharing/byte_plan.h"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>

#include "container/format/disk_format.h"
#include "container/sharing/byte_runs.h"
#include "container/sharing/content_scan.h"
#include "container/sharing/parallel.h"
#include "container/sharing/stored_bytes.h"

namespace fatctx::container::sharing {
namespace {

using Kind = RecipeStep::Kind;

constexpr std::uint64_t kGivenLiteral = 256;         // a shorter one is rarely found again
constexpr std::uint64_t kWorthASegment = kLeafSize;  // segments begin on multiples of this

// Turns the runs into copies and fills, and the bytes between them into literals.
std::vector<Draft> drafts_of(const std::vector<ByteRun>& runs, std::uint64_t size) {
  std::vector<Draft> drafts;
  std::uint64_t at = 0;
  for (const ByteRun& run : runs) {
    if (run.target > at) drafts.push_back({.target = at, .size = run.target - at});
    drafts.push_back({run.fill ? Kind::kFill : Kind::kCopy, run.target, run.size, run.store, run.source});
    at = run.end();
  }
  if (at < size) drafts.push_back({.target = at, .size = size - at});
  return drafts;
}

class Planner {
 public:
  Planner(std::span<const RecordBytes* const> records, std::span<const RecordBytes* const> present,
          const ByteSettings& settings)
      : records_(records), present_(present), settings_(settings), granule_(std::uint64_t{1} << settings.granule_log2) {
    plan_.records.resize(records.size());
    stores_.sizes.resize(present.size() + records.size());
    stores_.places = settings.places;
  }

  Result<BytePlan> run() {
    FATCTX_TRY(make_groups());
    for (std::size_t i = 0; i < present_.size(); ++i)
      FATCTX_TRY(add_store(*present_[i], static_cast<std::uint32_t>(i)));
    std::size_t left = records_.size();
    for (const LayoutGroup& group : plan_.layout.groups) {
      for (const std::size_t index : group.members) {
        FATCTX_TRY(plan_record(index, index == group.members.front(), --left == 0));
      }
    }
    return std::move(plan_);
  }

 private:
  Status make_groups() {
    std::vector<ContentScan> scans(records_.size());
    std::vector<GroupInput> groups;
    FATCTX_TRY(for_each_index(settings_.threads, records_.size(), [&](std::size_t at) -> Status {
      FATCTX_ASSIGN(scans[at], scan_chunks(*records_[at]));
      return Done{};
    }));
    for (std::size_t i = 0; i < records_.size(); ++i) groups.push_back({records_[i]->size(), &scans[i]});
    plan_.layout = layout_groups(groups);
    return Done{};
  }

  Status add_store(const RecordBytes& bytes, std::uint32_t number) {
    stores_.sizes[number] = bytes.size();
    return stored_.add(bytes, number, settings_.threads);
  }

  // No record copies from the last one, so its anchors are not needed.
  Status plan_record(std::size_t index, bool is_base, bool is_last) {
    const RecordBytes& bytes = *records_[index];
    ByteRecord& record = plan_.records[index];
    const auto store = static_cast<std::uint32_t>(present_.size() + index);
    FATCTX_TRY(make_recipe(index, store, is_base));
    if (!record.recipe) {
      record = {};
      record.own = {{0, bytes.size()}};
      record.own_bytes = bytes.size();
      if (!is_last) FATCTX_TRY(add_store(bytes, store));
    } else if (record.own_bytes != 0 && !is_last) {
      owns_.emplace_back(bytes, record.own);
      FATCTX_TRY(add_store(owns_.back(), store));
    }
    bytes.close();
    return Done{};
  }

  // Makes a recipe if it saves enough. In the first record of a layout group, fills are no reason for one.
  Status make_recipe(std::size_t index, std::uint32_t store, bool is_base) {
    const std::uint64_t divisor = settings_.min_saving_divisor;
    const RecordBytes& bytes = *records_[index];
    ByteRecord& record = plan_.records[index];
    FATCTX_ASSIGN(std::vector<ByteRun> runs, find_runs(stored_, bytes, settings_.min_copy_bytes, settings_.threads));
    std::uint64_t found = 0;
    for (const ByteRun& run : runs) found += run.fill && is_base ? 0 : run.size;
    if (found * divisor < bytes.size()) return Done{};
    keep_best_sources(runs);
    keep_within_steps(runs, bytes.size());
    std::vector<Draft> drafts = with_own(drafts_of(runs, bytes.size()), store, record);
    FATCTX_ASSIGN(bool fits, encode(drafts, store, record));
    if (give_away_literals(drafts, store, record)) {
      FATCTX_ASSIGN(fits, encode(drafts, store, record));
    }
    const std::uint64_t stored = record.own_bytes + record.program.size();
    record.recipe = fits && stored <= bytes.size() && (bytes.size() - stored) * divisor >= bytes.size();
    return Done{};
  }

  // Keeps only the best sources: every source takes a row in the table of slices.
  void keep_best_sources(std::vector<ByteRun>& runs) const {
    std::map<std::uint32_t, std::uint64_t> bytes_by_store;
    for (const ByteRun& run : runs) {
      if (!run.fill) bytes_by_store[run.store] += run.size;
    }
    const std::size_t most = settings_.max_sources - 1;  // its own bytes are one more source
    if (bytes_by_store.size() <= most) return;
    std::vector<std::pair<std::uint64_t, std::uint32_t>> ranked;
    ranked.reserve(bytes_by_store.size());
    for (const auto& [store, bytes] : bytes_by_store) ranked.emplace_back(bytes, store);
    std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
      return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    for (std::size_t i = most; i < ranked.size(); ++i) bytes_by_store.erase(ranked[i].second);
    std::erase_if(runs, [&](const ByteRun& run) { return !run.fill && !bytes_by_store.contains(run.store); });
  }

  // Drops the shortest runs of a record that has too many. Own bytes can turn one literal into three steps, of which
  // two are literals again, but only a literal of at least `min_literal_bytes`.
  void keep_within_steps(std::vector<ByteRun>& runs, std::uint64_t size) const {
    const std::uint64_t with_own = 2 * (size / settings_.min_literal_bytes);
    for (std::uint64_t least = settings_.min_copy_bytes * 2;
         !runs.empty() && drafts_of(runs, size).size() + with_own > most_steps(size); least *= 2) {
      std::erase_if(runs, [&](const ByteRun& run) { return run.size < least; });
    }
  }

  // Moves whole granules of long literals to a segment of the record, where they can be mapped; the rest stays literal.
  std::vector<Draft> with_own(std::vector<Draft> drafts, std::uint32_t store, ByteRecord& record) const {
    const std::uint64_t size = records_[store - present_.size()]->size();
    std::vector<Draft> result;
    for (const Draft& draft : drafts) {
      const std::uint64_t end = draft.target + draft.size;
      const std::uint64_t own_from = (draft.target + granule_ - 1) / granule_ * granule_;
      const std::uint64_t own_end = end == size ? end : end / granule_ * granule_;
      if (draft.kind != Kind::kLiteral || draft.size < settings_.min_literal_bytes || own_from >= own_end) {
        result.push_back(draft);
        continue;
      }
      if (own_from > draft.target) result.push_back({.target = draft.target, .size = own_from - draft.target});
      result.push_back({Kind::kCopy, own_from, own_end - own_from, store, record.own_bytes});
      if (end > own_end) result.push_back({.target = own_end, .size = end - own_end});
      record.own.push_back({own_from, own_end - own_from});
      record.own_bytes += own_end - own_from;
    }
    return result;
  }

  // Joins neighbouring copies. A run may continue where the own bytes in front of it end, in the record and in the
  // store. That must be one copy, because a recipe with two is refused.
  static void join_copies(std::vector<Draft>& drafts) {
    std::vector<Draft> joined;
    for (const Draft& draft : drafts) {
      Draft* const last = joined.empty() ? nullptr : &joined.back();
      if (last != nullptr && last->kind == Kind::kCopy && draft.kind == Kind::kCopy && last->store == draft.store &&
          last->source + last->size == draft.source) {
        last->size += draft.size;
      } else {
        joined.push_back(draft);
      }
    }
    drafts = std::move(joined);
  }

  // Moves literals that compress badly to the segment of the record, if they are worth one. In the program they gain
  // nothing, and no other record can copy from them. Returns false if nothing changes.
  bool give_away_literals(std::vector<Draft>& drafts, std::uint32_t store, ByteRecord& record) const {
    std::uint64_t all = 0;
    std::uint64_t given = 0;
    const auto is_given = [](const Draft& draft) {
      return draft.kind == Kind::kLiteral && draft.size >= kGivenLiteral;
    };
    for (const Draft& draft : drafts) {
      if (draft.kind == Kind::kLiteral) all += draft.size;
      if (is_given(draft)) given += draft.size;
    }
    if (given < kWorthASegment || record.program.size() < all / 4 * 3) return false;
    for (Draft& draft : drafts) {
      if (!is_given(draft)) continue;
      record.own.push_back({draft.target, draft.size});
      draft = {Kind::kCopy, draft.target, draft.size, store, record.own_bytes};
      record.own_bytes += draft.size;
    }
    join_copies(drafts);
    return true;
  }

  // Returns false if the program exceeds its limits.
  Result<bool> encode(const std::vector<Draft>& drafts, std::uint32_t own_store, ByteRecord& record) {
    stores_.sizes[own_store] = record.own_bytes;
    return encode_drafts(*records_[own_store - present_.size()], drafts, stores_, granule_, record);
  }

  std::span<const RecordBytes* const> records_;
  std::span<const RecordBytes* const> present_;
  const ByteSettings& settings_;
  const std::uint64_t granule_;
  Stores stores_;
  std::deque<OwnBytes> owns_;  // a deque, so that addresses stay valid
  StoredBytes stored_;
  BytePlan plan_;
};

}  // namespace

Result<BytePlan> plan_bytes(std::span<const RecordBytes* const> records, std::span<const RecordBytes* const> present,
                            const ByteSettings& settings) {
  return Planner(records, present, settings).run();
}

}  // namespace fatctx::container::sharing
