#include "container/sharing/recipe_draft.h"

#include <algorithm>
#include <map>
#include <utility>

#include "container/format/codec.h"
#include "container/format/disk_format.h"
#include "container/read/recipe_format.h"

namespace fatctx::container::sharing {
namespace {

using Kind = RecipeStep::Kind;

Status read_literals(const RecordBytes& bytes, std::span<const Draft> drafts, std::vector<std::byte>& literals) {
  for (const Draft& draft : drafts) {
    if (draft.kind != Kind::kLiteral) continue;
    if (literals.size() > kMaxRecipeSize) break;  // no program can hold them
    const std::size_t at = literals.size();
    literals.resize(at + static_cast<std::size_t>(draft.size));
    FATCTX_TRY(bytes.read_at(draft.target, std::span(literals).subspan(at)));
  }
  return Done{};
}

}  // namespace

std::uint64_t most_steps(std::uint64_t size) noexcept {
  return std::min(kMaxRecipeSteps, size / kBytesPerStep + kStepsOnTop);
}

Result<bool> encode_drafts(const RecordBytes& bytes, std::span<const Draft> drafts, const Stores& stores,
                           std::uint64_t granule, ByteRecord& record) {
  std::vector<std::byte> literals;
  FATCTX_TRY(read_literals(bytes, drafts, literals));
  record.sources.clear();
  record.mappable_bytes = 0;
  std::map<std::uint32_t, std::pair<std::uint32_t, std::uint64_t>> by_place;  // store, and its start among all
  for (const Draft& draft : drafts) {
    if (draft.kind == Kind::kCopy) by_place.emplace(stores.place_of(draft.store), std::pair(draft.store, 0));
  }
  std::uint64_t end = 0;
  for (auto& [place, source] : by_place) {
    source.second = end;
    end += stores.sizes[source.first];
    record.sources.push_back(source.first);
  }
  std::vector<RecipeStep> steps;
  steps.reserve(drafts.size());
  for (const Draft& draft : drafts) {
    const bool copy = draft.kind == Kind::kCopy;
    const std::uint64_t start = copy ? by_place.at(stores.place_of(draft.store)).second : 0;
    steps.push_back({draft.kind, draft.target, draft.size, start + draft.source});
    if (!copy || (draft.source - draft.target) % granule != 0) continue;
    const std::uint64_t from = (draft.target + granule - 1) / granule * granule;
    const std::uint64_t to = (draft.target + draft.size) / granule * granule;
    record.mappable_bytes += to > from ? to - from : 0;
  }
  record.steps = static_cast<std::uint32_t>(steps.size());
  record.program = encode_recipe(steps, literals);
  if (record.program.size() > kMaxRecipeSize) return false;
  std::vector<std::byte> frame;
  FrameWriter writer(record.program.size());
  const auto keep = [&](ByteView piece) -> Status {
    frame.insert(frame.end(), piece.begin(), piece.end());
    return Done{};
  };
  FATCTX_TRY(writer.write(record.program, keep));
  FATCTX_TRY(writer.finish(keep));
  const bool expands_within = record.program.size() <= frame.size() * kMaxExpansion + kExpansionSlack;
  record.packed = frame.size() < record.program.size() && expands_within;
  if (record.packed) record.program = std::move(frame);
  return true;
}

}  // namespace fatctx::container::sharing
