#include "runtime/view/tensor_places.h"

#include <algorithm>

#include "container/read/open.h"
#include "container/read/recipe_record.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/mapped_container.h"

namespace fatctx {
namespace {

using container::Recipe;
using container::RecipeStep;

// Returns nothing if the tensor is not exactly one copy. A tensor without bytes may be anywhere.
std::optional<ByteRange> in_file(const Recipe& recipe, const TensorInfo& tensor) {
  if (tensor.size_bytes == 0) return ByteRange{};
  const auto steps = recipe.steps_in({tensor.offset_in_blob, tensor.size_bytes});  // F33: it is within the blob
  if (steps.size() != 1 || steps[0].kind != RecipeStep::Kind::kCopy) return std::nullopt;
  const std::uint64_t offset = steps[0].source + (tensor.offset_in_blob - steps[0].target);
  const std::uint64_t element = std::max(1U, dtype_bits(tensor.dtype) / 8);
  if (offset % element != 0 && tensor.offset_in_blob % element == 0) return std::nullopt;
  return ByteRange{offset, tensor.size_bytes};
}

}  // namespace

Result<std::optional<std::vector<ByteView>>> tensors_in_place(const Container& container, const RecordInfo& record,
                                                              const container::ParsedTensorTable& table) {
  const MappedContainer& mapped = *mapped_of(container);
  const auto named = [&](Error error) {
    return in_context(container::in_record(std::move(error), record), mapped.name());
  };
  FATCTX_TRY(mapped.recheck());
  auto recipe = container::read_recipe(mapped.file(), mapped.toc(), record,
                                       container::WorkBudget(mapped.toc(), options_of(container).max_made_bytes));
  if (!recipe.ok()) return named(std::move(recipe).error());
  std::vector<ByteRange> ranges;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const auto range = in_file(recipe.value(), table.at(i));
    if (!range) return std::optional<std::vector<ByteView>>();
    ranges.push_back(*range);
  }
  if (options_of(container).verify != VerifyPolicy::kNone) {
    auto verified = mapped.verify_ranges(record, ranges);
    if (!verified.ok()) return named(std::move(verified).error());
  }
  std::vector<ByteView> places;
  places.reserve(ranges.size());
  for (const ByteRange& range : ranges) {
    places.push_back(
        mapped.mapped().subspan(static_cast<std::size_t>(range.offset), static_cast<std::size_t>(range.size)));
  }
  return std::optional(std::move(places));
}

}  // namespace fatctx
