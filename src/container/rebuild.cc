#include "container/rebuild.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "container/hash.h"

namespace fatctx::container {
namespace {

constexpr std::uint64_t kUnit = std::uint64_t{1} << 20;

Error differs(const PlannedRecord& planned, std::uint64_t offset) {
  auto unchanged = planned.input.check_unchanged();
  if (!unchanged.ok()) return std::move(unchanged).error();
  return Error{ErrorCode::kInternal, fmt::format("record \"{}\": what was written differs from {} at byte {}",
                                                 planned.record.name, planned.input.name(), offset)};
}

Status rebuild(const Plan& plan, PlannedRecord& planned, const mapping::OsFile& file) {
  Hasher hasher;
  std::vector<std::byte> given;
  std::vector<std::byte> written;
  std::uint64_t at = 0;  // in the record
  for (const PlannedSlice& slice : planned.slices) {
    for (std::uint64_t done = 0; done < slice.range.size;) {
      const auto size = static_cast<std::size_t>(std::min(kUnit, slice.range.size - done));
      given.resize(size);
      written.resize(size);
      FATCTX_TRY(planned.input.read_at(at, given));
      FATCTX_TRY(file.read_at(plan.segments[slice.segment].offset + slice.range.offset + done, written));
      if (given != written) return differs(planned, at);
      hasher.update(written);
      at += size;
      done += size;
    }
  }
  if (at != planned.input.size()) return differs(planned, at);
  planned.hash = hasher.digest();
  return Done{};
}

}  // namespace

Status check_rebuilt(Plan& plan, const mapping::OsFile& file) {
  for (std::size_t i = 0; i < plan.records.size(); ++i) {
    PlannedRecord& planned = plan.records[i];
    if (planned.stored_as != i || !planned.shares()) continue;  // equal records have been compared with each other
    FATCTX_TRY(rebuild(plan, planned, file));
    FATCTX_TRY(planned.input.check_unchanged());
    planned.input.close();
  }
  return Done{};
}

}  // namespace fatctx::container
