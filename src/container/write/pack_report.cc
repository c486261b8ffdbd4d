#include "container/write/pack_report.h"

#include <optional>
#include <utility>

namespace fatctx::container {

std::vector<PackedRecordReport> record_reports(const Plan& plan) {
  std::vector<PackedRecordReport> reports;
  for (std::size_t i = 0; i < plan.records.size(); ++i) {
    const PlannedRecord& planned = plan.records[i];
    const PlannedRecord& stored = plan.records[planned.stored_as];
    const std::optional<PlannedRecipe>& recipe = stored.recipe;
    PackedRecordReport record;
    record.name = planned.record.name;
    record.id = planned.id;
    record.size_bytes = planned.input.size();
    record.stored_bytes = planned.stored_as == i ? planned.own_bytes : 0;
    if (recipe && planned.stored_as == i) record.stored_bytes += recipe->program.size();
    record.shared_bytes = (recipe ? record.size_bytes : planned.stored_size) - record.stored_bytes;
    record.shifted_bytes = planned.stored_as == i ? planned.shifted_bytes : 0;
    record.reordered_bytes = planned.stored_as == i ? planned.reordered_bytes : 0;
    record.sharing_order = stored.sharing_order;
    if (recipe) {
      record.recipe_steps = recipe->steps;
      record.recipe_bytes = recipe->program.size();
      record.mappable_bytes = recipe->mappable_bytes;
    } else {
      record.pieces = static_cast<std::uint32_t>(stored.slices.size());
    }
    reports.push_back(std::move(record));
  }
  return reports;
}

std::uint32_t stored_elsewhere(const Plan& plan) {
  std::uint32_t count = 0;
  for (std::size_t i = 0; i < plan.records.size(); ++i) {
    if (plan.records[i].stored_as != i || plan.records[i].present_row) ++count;
  }
  return count;
}

}  // namespace fatctx::container
