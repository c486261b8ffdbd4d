#include "container/write/append_runs.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "container/format/disk_format.h"
#include "container/sharing/byte_plan.h"
#include "container/sharing/parallel.h"
#include "container/write/share_plan.h"

namespace fatctx::container {
namespace {

class SegmentBytes final : public sharing::RecordBytes {
 public:
  SegmentBytes(const mapping::OsFile& file, ByteRange range) : file_(file), range_(range) {}
  [[nodiscard]] std::uint64_t size() const noexcept override { return range_.size; }
  [[nodiscard]] Status read_at(std::uint64_t offset, std::span<std::byte> buffer) const override {
    return file_.read_at(range_.offset + offset, buffer);
  }
  void close() const noexcept override {}  // the appender has the file open

 private:
  const mapping::OsFile& file_;
  ByteRange range_;
};

// Returns whether the record has slices of others, or may have them: consumers map it as it is.
bool may_have_slices(const Plan& plan, std::size_t index) {
  const PlannedRecord& planned = plan.records[index];
  return !planned.alone && planned.stored_as == index && !planned.present_row && !small_record(planned) &&
         planned.codec == Codec::kNone && planned.input.size() != 0;
}

std::uint64_t stored_bytes(const PlannedRecord& planned) {
  return planned.slices.empty() ? planned.input.size() : planned.own_bytes;
}

std::uint32_t most_sources(const Plan& plan, const std::vector<std::size_t>& records, std::uint64_t free_slices,
                           std::uint32_t wished) {
  std::uint64_t rows = 0;  // equal records repeat the slices of the one that stores them
  for (const PlannedRecord& planned : plan.records) {
    if (std::binary_search(records.begin(), records.end(), planned.stored_as)) ++rows;
  }
  const std::uint64_t most = free_slices / std::max<std::uint64_t>(rows, 1);  // one is that of the program
  return static_cast<std::uint32_t>(std::min<std::uint64_t>(wished, most == 0 ? 0 : most - 1));
}

}  // namespace

std::vector<std::size_t> records_for_runs(const Plan& plan) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < plan.records.size(); ++i) {
    if (may_have_slices(plan, i) && plan.records[i].input.size() > kLeafSize) found.push_back(i);
  }
  return found;
}

Status find_runs_in_file(Plan& plan, const mapping::OsFile& file, std::span<const PresentSegment> segments,
                         std::uint64_t free_slices, const PackOptions& options, WorkProgress& progress) {
  const std::vector<std::size_t> records = records_for_runs(plan);
  sharing::ByteSettings settings;
  settings.granule_log2 = options.granule_log2;
  settings.threads = sharing::thread_count(options.threads);
  settings.max_sources = most_sources(plan, records, free_slices, settings.max_sources);
  if (records.empty() || settings.max_sources == 0) return Done{};

  std::deque<SegmentBytes> bytes;
  std::vector<const sharing::RecordBytes*> present;
  for (const PresentSegment& segment : segments) present.push_back(&bytes.emplace_back(file, segment.range));
  std::vector<const sharing::RecordBytes*> inputs;
  std::uint64_t all = 0;
  for (const std::size_t index : records) {
    inputs.push_back(&plan.records[index].input);
    all += plan.records[index].input.size();
  }
  progress.begin(all);
  FATCTX_ASSIGN(sharing::BytePlan found, sharing::plan_bytes(inputs, present, settings));

  std::uint64_t by_slices = 0;
  std::uint64_t by_runs = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    by_slices += stored_bytes(plan.records[records[i]]);
    const sharing::ByteRecord& made = found.records[i];
    by_runs += made.recipe ? made.own_bytes + made.program.size() : plan.records[records[i]].input.size();
  }
  if (by_runs + all / kWorthARecipe > by_slices) return Done{};

  // All of them, because slices of one may be bytes that another stores.
  for (PlannedRecord& planned : plan.records) planned.slices.clear();
  std::uint32_t order = 0;
  for (const sharing::LayoutGroup& group : found.layout.groups) {
    for (const std::size_t member : group.members) {
      PlannedRecipe* const recipe = store_by_runs(plan.records[records[member]], found.records[member], ++order);
      if (recipe == nullptr) continue;
      for (const std::uint32_t store : found.records[member].sources) {
        if (store < segments.size()) {
          recipe->present_sources.push_back(segments[store].index);
        } else {
          recipe->sources.push_back(records[store - segments.size()]);
        }
      }
    }
  }
  return Done{};
}

}  // namespace fatctx::container
