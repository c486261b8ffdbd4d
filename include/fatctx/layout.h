// The field tables of the format, as the code has them: for `fatctx info --layout` and for the test that compares
// docs/format.md with the structs.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace fatctx {

struct LayoutField {
  std::string_view name;
  std::uint64_t offset = 0;  // bytes from the first byte of the struct
  std::uint64_t size = 0;    // bytes
};

struct LayoutTable {
  std::string_view name;  // "Prologue", "Slot", ...
  std::uint64_t size = 0;
  std::span<const LayoutField> fields;  // in file order, without gaps
};

// Returns the field tables. Lifetime: static storage.
[[nodiscard]] std::span<const LayoutTable> layout_tables() noexcept;

// Returns "1.0": the format this library writes. It reads every 1.x, and 0.1.
[[nodiscard]] std::string_view format_version() noexcept;

}  // namespace fatctx
