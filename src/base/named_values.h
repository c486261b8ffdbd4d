// Tables of an enumeration's values and their names, read in both directions.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string_view>

namespace fatctx {

// A row of a table; tables may have rows with further members. Names are literals: the C interface hands them out
// directly, terminated by a NUL.
template <typename Enum>
struct NamedValue {
  Enum value;
  std::string_view name;
};

// Returns the row of `value`; null if there is none.
template <typename Row, std::size_t Size>
[[nodiscard]] constexpr const Row* row_of(const Row (&rows)[Size], decltype(Row::value) value) noexcept {
  const Row* row = std::find_if(rows, rows + Size, [&](const Row& each) { return each.value == value; });
  return row == rows + Size ? nullptr : row;
}

template <typename Row, std::size_t Size>
[[nodiscard]] constexpr std::string_view name_in(const Row (&rows)[Size], decltype(Row::value) value) noexcept {
  const Row* row = row_of(rows, value);
  return row == nullptr ? "unknown" : row->name;
}

template <typename Row, std::size_t Size>
[[nodiscard]] constexpr auto value_in(const Row (&rows)[Size], std::string_view name) noexcept
    -> std::optional<decltype(Row::value)> {
  for (const Row& row : rows) {
    if (row.name == name) return row.value;
  }
  return std::nullopt;
}

}  // namespace fatctx
