#include "container/read/record_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "container/read/pieces.h"
#include "container/read/recipe_record.h"
#include "container/read/record_stream.h"

namespace fatctx::container {

Status RecordRanges::fill(ByteRange in_file, std::span<std::byte> out) {
  auto at = out.begin();
  return checked_.read(in_file, [&](ByteView bytes) -> Status {
    at = std::copy(bytes.begin(), bytes.end(), at);
    return Done{};
  });
}

void RecordRanges::rest() noexcept {
  checked_.rest();
  recipes_.clear();
  unpacked_.clear();
}

Result<const Recipe*> RecordRanges::recipe_of(const RecordInfo& record) {
  auto found = recipes_.find(record.id);
  if (found == recipes_.end()) {
    auto recipe = read_recipe(checked_, toc_, record, budget_);
    if (!recipe.ok() && is_over_budget(recipe.error()) && !recipes_.empty()) {
      recipes_.clear();
      recipe = read_recipe(checked_, toc_, record, budget_);
    }
    if (!recipe.ok()) return std::move(recipe).error();
    found = recipes_.emplace(record.id, std::move(recipe).value()).first;
  }
  return &found->second;
}

Result<ByteView> RecordRanges::unpacked(const RecordInfo& record) {
  auto found = unpacked_.find(record.id);
  if (found == unpacked_.end()) {
    std::vector<std::byte> bytes;
    FATCTX_TRY(stream_logical(file_, toc_, record, budget_, [&](ByteView piece) -> Status {
      bytes.insert(bytes.end(), piece.begin(), piece.end());
      return Done{};
    }));
    found = unpacked_.emplace(record.id, std::move(bytes)).first;
  }
  return ByteView(found->second);
}

Status RecordRanges::read(const RecordInfo& record, std::uint64_t offset, std::span<std::byte> out) {
  FATCTX_TRY(check_readable(record, toc_.forms[toc_.index_of(record)]));
  if (!within({offset, out.size()}, record.size_bytes)) {
    return Error{ErrorCode::kMalformed,
                 fmt::format("bytes {} to {} of a record that has {}", offset, offset + out.size(), record.size_bytes)};
  }
  FATCTX_TRY(budget_.make(out.size()));
  if (record.recipe) {
    FATCTX_ASSIGN(const Recipe* recipe, recipe_of(record));
    return recipe->apply(
        {offset, out.size()},
        [&](std::uint64_t at, std::span<std::byte> to) {
          return fill({at, to.size()}, to);
        },
        out);
  }
  if (record.codec != Codec::kNone) {
    FATCTX_ASSIGN(const ByteView bytes, unpacked(record));
    const ByteView part = bytes.subspan(static_cast<std::size_t>(offset), out.size());
    std::copy(part.begin(), part.end(), out.begin());
    return Done{};
  }
  for (const ByteRange& slice : slices_in_file(toc_, record)) {
    if (out.empty()) break;
    if (offset >= slice.size) {
      offset -= slice.size;
      continue;
    }
    const std::uint64_t size = std::min<std::uint64_t>(slice.size - offset, out.size());
    FATCTX_TRY(fill({slice.offset + offset, size}, out.first(static_cast<std::size_t>(size))));
    out = out.subspan(static_cast<std::size_t>(size));
    offset = 0;
  }
  return Done{};
}

}  // namespace fatctx::container
