// An index by which one name is found among many without reading the others.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "container/format/disk_format.h"
#include "container/format/hash.h"
#include "fatctx/base/result.h"

namespace fatctx::container {

// Returns the index of a list of names: a row for each, ascending by the name's hash, then by its place in the list.
[[nodiscard]] std::vector<NameIndexEntry> name_index(std::span<const std::string_view> names);

// Returns the place of the first row with at least this hash, in an index of `count` rows. `row_at(place)` returns a
// Result with a row. Hashes are spread evenly, so the search begins where the hash belongs and goes on from there in
// growing steps: it reads few rows, in one page or two. Rows in any order cost a logarithm of their number at most.
template <typename RowAt>
[[nodiscard]] Result<std::uint64_t> first_row_of(std::uint32_t hash, std::uint64_t count, const RowAt& row_at) {
  std::uint64_t low = 0;
  std::uint64_t high = count;
  std::uint64_t at = std::min((count * hash) >> 32U, count == 0 ? 0 : count - 1);
  for (std::uint64_t step = 1; low < high; step *= 2) {  // until rows on both sides are known
    FATCTX_ASSIGN(const NameIndexEntry row, row_at(at));
    if (row.hash < hash) {
      low = at + 1;
      if (high != count || low >= high) break;
      at = std::min(low + step, high - 1);
    } else {
      high = at;
      if (low != 0 || low >= high) break;
      at = high > step ? high - step : 0;
    }
  }
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    FATCTX_ASSIGN(const NameIndexEntry row, row_at(middle));
    if (row.hash < hash) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Returns what `name_is(row)` accepts: the number of the record or tensor with this name; nothing if there is none.
// `name_is` returns a Result with a bool.
template <typename RowAt, typename NameIs>
[[nodiscard]] Result<std::optional<std::uint32_t>> find_name(std::string_view name, std::uint64_t count,
                                                             const RowAt& row_at, const NameIs& name_is) {
  const std::uint32_t hash = name_hash(name);
  FATCTX_ASSIGN(std::uint64_t at, first_row_of(hash, count, row_at));
  for (; at < count; ++at) {
    FATCTX_ASSIGN(const NameIndexEntry row, row_at(at));
    if (row.hash != hash) break;
    FATCTX_ASSIGN(const bool found, name_is(std::uint32_t{row.record}));
    if (found) return std::optional<std::uint32_t>(row.record);
  }
  return std::optional<std::uint32_t>();
}

}  // namespace fatctx::container
