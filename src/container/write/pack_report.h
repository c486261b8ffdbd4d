// Summarises a plan for the reports of packing and appending.
#pragma once

#include <cstdint>
#include <vector>

#include "container/write/plan.h"
#include "fatctx/packer.h"

namespace fatctx::container {

// Returns the reports in the order of the plan.
[[nodiscard]] std::vector<PackedRecordReport> record_reports(const Plan& plan);

// Fills in the records and their sums, in the report of a pack or an append.
template <typename Report>
void put_records(const Plan& plan, Report& report) {
  report.records = record_reports(plan);
  for (const PackedRecordReport& record : report.records) {
    report.input_bytes += record.size_bytes;
    report.stored_bytes += record.stored_bytes;
    report.shared_bytes += record.shared_bytes;
  }
}
// Returns how many records store nothing, because another record has their bytes.
[[nodiscard]] std::uint32_t stored_elsewhere(const Plan& plan);

}  // namespace fatctx::container
