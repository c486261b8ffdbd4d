#include "container/write/settle_sharing.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace fatctx::container {
namespace {

SharingCandidate candidate_of(const PackRecord& record) {
  return {.name = record.name,
          .type = record.type,
          .group = record.key.group,
          .unit = record.key.unit,
          .weights = record.weights,
          .description = &record.description};
}

}  // namespace

Status check_compatible(const std::vector<PackRecord>& records) {
  std::vector<SharingCandidate> candidates;
  candidates.reserve(records.size());
  for (const PackRecord& record : records) candidates.push_back(candidate_of(record));
  const SharingRules rules = sharing_rules(candidates);
  return rules.refusal ? Status(*rules.refusal) : Status(Done{});
}

Status settle_sharing(Plan& plan, std::vector<SharingCandidate> present, const PackOptions& options) {
  const std::size_t first_new = present.size();
  std::vector<SharingCandidate> candidates = std::move(present);
  for (const PlannedRecord& planned : plan.records) candidates.push_back(candidate_of(planned.record));
  SharingRules rules = sharing_rules(candidates);
  plan.present_alone.assign(rules.alone.begin(), rules.alone.begin() + static_cast<std::ptrdiff_t>(first_new));
  for (std::size_t i = 0; i < plan.records.size(); ++i) plan.records[i].alone = rules.alone[first_new + i];
  if (options.sharing == Sharing::kOff) return Done{};
  for (SharingWarning& warning : rules.warnings) {
    std::erase_if(warning.records, [&](std::size_t record) { return record < first_new; });
    for (std::size_t& record : warning.records) record -= first_new;
    if (warning.records.empty()) continue;  // about records that the file had before
    if (options.strict_sharing) {
      return Error{ErrorCode::kUnsupported, fmt::format("{}; strict sharing was requested", warning.text)};
    }
    plan.sharing_warnings.push_back(std::move(warning));
  }
  return Done{};
}

void warn_of_sharing(Plan& plan) {
  for (const SharingWarning& warning : plan.sharing_warnings) {
    std::string text = warning.text;
    if (warning.counts_bytes) {
      std::uint64_t all = 0;
      std::uint64_t own = 0;
      for (const std::size_t index : warning.records) {
        const PlannedRecord& planned = plan.records[index];
        all += planned.input.size();
        if (planned.stored_as == index && !planned.present_row) own += planned.own_bytes;
      }
      text += fmt::format(": {} of their {} bytes are not shared", own, all);
    }
    plan.warnings.push_back(std::move(text));
  }
}

}  // namespace fatctx::container
