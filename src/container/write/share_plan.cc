// Makes two searches: for parts with known boundaries (tensors, named ranges), and for equal runs at any place. If both
// find something, the bytes that the second would store without the first decide (docs/decisions/0010).
#include "container/write/share_plan.h"

#include <algorithm>
#include <deque>
#include <set>
#include <string_view>
#include <utility>

#include "container/format/disk_format.h"
#include "container/sharing/byte_plan.h"
#include "container/sharing/page_plan.h"
#include "container/sharing/parallel.h"
#include "container/sharing/part_plan.h"
#include "container/sharing/stored_bytes.h"

namespace fatctx::container {
namespace {

// Returns whether the record is worth a search for pages: consumers map it, or may map it.
bool may_share_pages(const PlannedRecord& planned) {
  return !planned.alone && !small_record(planned) && planned.codec == Codec::kNone && planned.input.size() != 0;
}

// Returns whether the record is worth a search at any byte offset: a smaller one saves hardly more than its steps cost.
bool may_become_recipe(const PlannedRecord& planned) {
  return may_share_pages(planned) && planned.input.size() > kLeafSize;
}

class Finder {
 public:
  Finder(Plan& plan, const PackOptions& options, WorkProgress& progress)
      : plan_(plan), options_(options), progress_(progress), rows_(plan.records.size()), fixed_(plan.records.size()) {
    for (const PlannedRecord& planned : plan.records) ++rows_[planned.stored_as];
  }

  Status run() {
    FATCTX_ASSIGN(const bool tied, find_parts());
    if (tied) {
      FATCTX_TRY(find_runs());
      if (!choose_families()) return Done{};
      forget_runs();
    }
    return find_runs();
  }

 private:
  [[nodiscard]] Status find_runs() {
    return options_.sharing == Sharing::kPages ? find_equal_pages() : find_equal_bytes();
  }

  void begin_pass(const std::vector<std::size_t>& looked_at) {
    std::uint64_t bytes = 0;
    for (const std::size_t index : looked_at) bytes += plan_.records[index].input.size();
    progress_.begin(bytes);
  }

  // Returns how many rows of the slice table the records outside of `looked_at` take. Equal records repeat those of the
  // one that stores them.
  [[nodiscard]] std::uint64_t rows_without(const std::vector<std::size_t>& looked_at) const {
    std::uint64_t rows = 0;
    std::set<std::size_t> left_out(looked_at.begin(), looked_at.end());
    for (std::size_t i = 0; i < plan_.records.size(); ++i) {
      const PlannedRecord& planned = plan_.records[i];
      if (planned.stored_as != i || planned.input.size() == 0 || left_out.contains(i)) continue;
      rows += rows_[i] * (planned.recipe ? 1 + planned.recipe->sources.size() : 1);
    }
    return rows;
  }

  // Returns how many sources each of these may have; there is room for one more slice of each. Requires: at least one.
  [[nodiscard]] std::uint32_t most_sources(const std::vector<std::size_t>& looked_at, std::uint32_t wished) const {
    std::uint64_t rows = 0;
    for (const std::size_t index : looked_at) rows += rows_[index];
    const std::uint64_t most = (kMaxSlices - rows_without(looked_at)) / rows;  // at least 4: kMaxRecords is a quarter
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(wished, most - 1));
  }

  // Returns which records consumers take as one range: a session takes a binary, and the weights that it refers to.
  [[nodiscard]] std::vector<bool> taken_as_a_whole() const {
    std::set<std::string_view> weights;
    for (const PlannedRecord& planned : plan_.records) {
      if (planned.record.type != RecordType::kContextBinary) continue;
      weights.insert(planned.record.weights.begin(), planned.record.weights.end());
    }
    std::vector<bool> whole(plan_.records.size());
    for (const PlannedRecord& planned : plan_.records) {
      const bool is_whole = planned.record.type == RecordType::kContextBinary || weights.contains(planned.record.name);
      if (is_whole) whole[planned.stored_as] = true;
    }
    return whole;
  }

  // Returns false if nothing is found.
  Result<bool> find_parts() {
    const std::vector<bool> whole = taken_as_a_whole();
    std::vector<std::vector<sharing::KnownPart>> parts(plan_.records.size());  // of equal records, those of all
    for (const PlannedRecord& planned : plan_.records) {
      std::vector<sharing::KnownPart>& of_all = parts[planned.stored_as];
      of_all.insert(of_all.end(), planned.parts.begin(), planned.parts.end());
    }
    std::vector<sharing::PartInput> inputs;
    for (std::size_t i = 0; i < plan_.records.size(); ++i) {
      if (parts[i].empty() || !may_become_recipe(plan_.records[i])) continue;
      if (whole[i] && options_.sharing == Sharing::kPages) continue;
      with_parts_.push_back(i);
      inputs.push_back({&plan_.records[i].input, std::move(parts[i])});
    }
    if (inputs.empty()) return false;
    sharing::PartSettings settings;
    settings.granule_log2 = options_.granule_log2;
    settings.threads = sharing::thread_count(options_.threads);
    std::vector<std::size_t> all;  // they share the slice table; the other search gets the rest
    for (std::size_t i = 0; i < plan_.records.size(); ++i) {
      if (plan_.records[i].stored_as == i && may_become_recipe(plan_.records[i])) all.push_back(i);
    }
    settings.max_sources = most_sources(all, settings.max_sources);
    begin_pass(with_parts_);
    FATCTX_ASSIGN(parts_, sharing::plan_parts(inputs, settings));
    return !parts_.families.empty();
  }

  // Selects the families that are stored by parts. Their parts must need less, or hardly more, than the result of the
  // other search. A page keeps a record in one range of addresses, so pages win if parts save less than a 64th. Runs at
  // any offset do not, so they lose unless they save more than a 64th. Returns false if no family is selected.
  bool choose_families() {
    bool chosen = false;
    for (const std::vector<std::size_t>& family : parts_.families) {
      std::uint64_t by_parts = 0;
      std::uint64_t by_runs = 0;
      std::uint64_t all = 0;
      for (const std::size_t member : family) {
        const PlannedRecord& planned = plan_.records[with_parts_[member]];
        const sharing::ByteRecord& found = parts_.records[member];
        by_parts += found.own_bytes + found.program.size();
        by_runs += planned.own_bytes + (planned.recipe ? planned.recipe->program.size() : 0);
        all += planned.input.size();
      }
      const std::uint64_t margin = all / kWorthARecipe;
      const bool better =
          options_.sharing == Sharing::kPages ? by_parts + margin <= by_runs : by_parts <= by_runs + margin;
      if (!better) continue;
      chosen = true;
      for (const std::size_t member : family) fixed_[with_parts_[member]] = true;
    }
    return chosen;
  }

  // Forgets what the search has found, except that selected families get the result for their parts. The next search
  // sets again how the others are stored, and in which order.
  void forget_runs() {
    order_ = 0;
    for (PlannedRecord& planned : plan_.records) {
      planned.slices.clear();
      planned.shifted_bytes = 0;
      planned.reordered_bytes = 0;
      planned.recipe.reset();
    }
    for (const std::vector<std::size_t>& family : parts_.families) {
      for (const std::size_t member : family) {
        if (fixed_[with_parts_[member]]) store_as(with_parts_[member], parts_.records[member], with_parts_);
      }
    }
  }

  // `stores`: the index of the record of each store.
  void store_as(std::size_t index, sharing::ByteRecord& found, const std::vector<std::size_t>& stores) {
    PlannedRecipe* const recipe = store_by_runs(plan_.records[index], found, ++order_);
    if (recipe == nullptr) return;
    for (const std::uint32_t store : found.sources) recipe->sources.push_back(stores[store]);
  }

  // Returns the decided stores, which the search may use and must not change; their records in the order of the file.
  std::vector<std::size_t> fixed_stores() {
    std::vector<std::size_t> indexes;
    for (const std::size_t index : with_parts_) {
      const PlannedRecord& planned = plan_.records[index];
      if (!fixed_[index] || planned.own_bytes == 0) continue;
      indexes.push_back(index);
      fixed_bytes_.emplace_back(planned.input, planned.own);
    }
    return indexes;
  }

  [[nodiscard]] std::vector<const sharing::RecordBytes*> fixed_bytes() const {
    std::vector<const sharing::RecordBytes*> bytes;
    for (const sharing::OwnBytes& own : fixed_bytes_) bytes.push_back(&own);
    return bytes;
  }

  Status find_equal_pages() {
    std::vector<std::size_t> indexes;
    std::vector<sharing::PageInput> inputs;
    for (std::size_t i = 0; i < plan_.records.size(); ++i) {
      const PlannedRecord& planned = plan_.records[i];
      if (planned.stored_as != i || fixed_[i] || !may_share_pages(planned)) continue;
      indexes.push_back(i);
      inputs.push_back({&planned.input, rows_[i]});
    }
    std::vector<std::size_t> stores = fixed_stores();
    const std::vector<const sharing::RecordBytes*> present = fixed_bytes();
    stores.insert(stores.end(), indexes.begin(), indexes.end());
    sharing::PageSettings settings;
    settings.granule_log2 = options_.granule_log2;
    settings.max_pieces = options_.max_pieces;
    settings.explain = options_.explain_sharing;
    settings.max_slices = kMaxSlices - rows_without(indexes);
    begin_pass(indexes);
    settings.threads = sharing::thread_count(options_.threads);
    FATCTX_ASSIGN(const sharing::PagePlan pages, sharing::plan_pages(inputs, present, settings));
    for (std::size_t i = 0; i < indexes.size(); ++i) {
      PlannedRecord& planned = plan_.records[indexes[i]];
      for (const sharing::Piece& piece : pages.records[i].pieces) {
        planned.slices.push_back({stores[piece.store], piece.range});
      }
      planned.own = pages.records[i].own;
      planned.own_bytes = pages.records[i].own_bytes;
      planned.shifted_bytes = pages.records[i].shifted_bytes;
      planned.reordered_bytes = pages.records[i].reordered_bytes;
    }
    for (const sharing::LayoutGroup& group : pages.layout.groups) {
      for (const std::size_t member : group.members) plan_.records[indexes[member]].sharing_order = ++order_;
    }
    return Done{};
  }

  // Finds runs at any offset. The first record of each layout group stays as it is.
  Status find_equal_bytes() {
    std::vector<std::size_t> indexes;
    std::vector<const sharing::RecordBytes*> inputs;
    for (std::size_t i = 0; i < plan_.records.size(); ++i) {
      if (plan_.records[i].stored_as != i || fixed_[i] || !may_become_recipe(plan_.records[i])) continue;
      indexes.push_back(i);
      inputs.push_back(&plan_.records[i].input);
    }
    if (indexes.empty()) return Done{};
    std::vector<std::size_t> stores = fixed_stores();
    const std::vector<const sharing::RecordBytes*> present = fixed_bytes();
    stores.insert(stores.end(), indexes.begin(), indexes.end());
    sharing::ByteSettings settings;
    settings.granule_log2 = options_.granule_log2;
    settings.max_sources = most_sources(indexes, settings.max_sources);
    settings.threads = sharing::thread_count(options_.threads);
    begin_pass(indexes);
    for (const std::size_t index : stores) settings.places.push_back(static_cast<std::uint32_t>(index));
    FATCTX_ASSIGN(sharing::BytePlan bytes, sharing::plan_bytes(inputs, present, settings));
    for (const sharing::LayoutGroup& group : bytes.layout.groups) {
      for (const std::size_t member : group.members) store_as(indexes[member], bytes.records[member], stores);
    }
    return Done{};
  }

  Plan& plan_;
  const PackOptions& options_;
  WorkProgress& progress_;
  std::vector<std::uint32_t> rows_;      // how many records have the bytes of this one
  std::vector<std::size_t> with_parts_;  // records that were searched for equal parts, ascending
  sharing::PartPlan parts_;
  std::vector<bool> fixed_;  // decided by parts
  std::deque<sharing::OwnBytes> fixed_bytes_;
  std::uint32_t order_ = 0;
};

}  // namespace

PlannedRecipe* store_by_runs(PlannedRecord& planned, sharing::ByteRecord& found, std::uint32_t order) {
  planned.own = std::move(found.own);
  planned.own_bytes = found.own_bytes;
  planned.sharing_order = order;
  if (!found.recipe) return nullptr;
  PlannedRecipe& recipe = planned.recipe.emplace();
  recipe.program = std::move(found.program);
  recipe.packed = found.packed;
  recipe.steps = found.steps;
  recipe.mappable_bytes = found.mappable_bytes;
  return &recipe;
}

Status find_shared_bytes(Plan& plan, const PackOptions& options, WorkProgress& progress) {
  if (options.sharing == Sharing::kOff) return Done{};
  return Finder(plan, options, progress).run();
}

}  // namespace fatctx::container
