#include "container/write/rebuild.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "container/format/hash.h"
#include "container/read/recipe_record.h"
#include "container/sharing/parallel.h"
#include "container/sharing/stored_bytes.h"

namespace fatctx::container {
namespace {

constexpr std::uint64_t kPart = std::uint64_t{1} << 20;

Error differs(const PlannedRecord& planned, std::uint64_t offset) {
  auto unchanged = planned.input.check_unchanged();
  if (!unchanged.ok()) return std::move(unchanged).error();
  return Error{ErrorCode::kInternal, fmt::format("record \"{}\": the written bytes differ from {} at byte {}",
                                                 planned.record.name, planned.input.name(), offset)};
}

Status rebuild(const Plan& plan, PlannedRecord& planned, const mapping::OsFile& file) {
  Hasher hasher;
  std::vector<std::byte> given;
  std::vector<std::byte> written;
  std::uint64_t at = 0;  // offset in the record
  for (const PlannedSlice& slice : planned.slices) {
    for (std::uint64_t done = 0; done < slice.range.size;) {
      const auto size = static_cast<std::size_t>(std::min(kPart, slice.range.size - done));
      given.resize(size);
      written.resize(size);
      FATCTX_TRY(planned.input.read_at(at, given));
      FATCTX_TRY(file.read_at(plan.place_of(slice).offset + done, written));
      if (!sharing::equal_bytes(given, written)) return differs(planned, at);
      hasher.update(written);
      at += size;
      done += size;
    }
  }
  if (at != planned.input.size()) return differs(planned, at);
  planned.hash = hasher.digest();
  return Done{};
}

// Rebuilds the record as a reader does: from the bytes of the program and of its sources in the file.
Status rebuild_by_recipe(const Plan& plan, PlannedRecord& planned, const mapping::OsFile& file) {
  const ByteRange where = plan.place_of(planned.slices.front());
  std::vector<std::byte> stored(static_cast<std::size_t>(where.size));
  FATCTX_TRY(file.read_at(where.offset, stored));
  std::vector<ByteRange> sources;
  for (std::size_t i = 1; i < planned.slices.size(); ++i) sources.push_back(plan.place_of(planned.slices[i]));
  FATCTX_ASSIGN(std::vector<std::byte> program, unpack_program(std::move(stored), planned.recipe->packed, where));
  FATCTX_ASSIGN(const Recipe recipe, Recipe::read(std::move(program), planned.input.size(), sources));
  Hasher hasher;
  std::vector<std::byte> given;
  std::vector<std::byte> made;
  for (std::uint64_t at = 0; at < planned.input.size(); at += made.size()) {
    made.resize(static_cast<std::size_t>(std::min(kPart, planned.input.size() - at)));
    given.resize(made.size());
    FATCTX_TRY(planned.input.read_at(at, given));
    FATCTX_TRY(recipe.apply(
        {at, made.size()}, [&](std::uint64_t offset, std::span<std::byte> out) { return file.read_at(offset, out); },
        made));
    if (!sharing::equal_bytes(given, made)) return differs(planned, at);
    hasher.update(made);
  }
  planned.hash = hasher.digest();
  return Done{};
}

}  // namespace

Status check_rebuilt(Plan& plan, const mapping::OsFile& file, unsigned threads, WorkProgress& progress) {
  std::vector<std::size_t> shared;
  std::uint64_t bytes = 0;
  for (std::size_t i = 0; i < plan.records.size(); ++i) {
    const PlannedRecord& planned = plan.records[i];
    if (planned.stored_as != i || planned.present_row || !planned.shares())
      continue;  // equal records have been compared with each other
    shared.push_back(i);
    bytes += planned.input.size();
  }
  progress.begin(bytes);
  return sharing::for_each_index(
      sharing::thread_count(threads), shared.size(),
      [&](std::size_t at) -> Status {
        PlannedRecord& planned = plan.records[shared[at]];
        FATCTX_TRY(planned.recipe ? rebuild_by_recipe(plan, planned, file) : rebuild(plan, planned, file));
        FATCTX_TRY(planned.input.check_unchanged());
        planned.input.close();
        return Done{};
      },
      [&] { (void)progress.go_on(); });
}

}  // namespace fatctx::container
