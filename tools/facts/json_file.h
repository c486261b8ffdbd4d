// Reads JSON files that people write. Comments are allowed, and everything unexpected is refused. Every error
// names the file, the position (a JSON pointer), the found and the allowed values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/json_place.h"
#include "fatctx/base/result.h"
#include "fatctx/record.h"

namespace fatctx::tools {

inline constexpr std::uint64_t kMaxJsonFileSize = std::uint64_t{64} << 20;
inline constexpr std::size_t kMaxJsonDepth = 64;  // arrays and objects; reading and writing recurse

// Returns the bytes of a text file. Errors: not_found, not_regular_file, limit_exceeded, io; all name the
// file.
[[nodiscard]] Result<std::string> read_text_file(const std::string& path);

// Writes a text file, over an existing one. Errors: io.
[[nodiscard]] Status write_text_file(const std::string& path, std::string_view text);

// Parses JSON with // and /* */ comments, in which no object repeats a key.
// Errors: invalid_argument with line and column, or with the pointer of the object.
[[nodiscard]] Result<Json> parse_json(std::string_view text, const std::string& file);

// Returns a text as it is, and a number or a truth value as JSON writes it. Returns nothing for other kinds, and for
// numbers that are too large.
[[nodiscard]] std::optional<std::string> scalar_text(const Json& value);

// Returns true if a JSON text can hold these bytes.
[[nodiscard]] bool is_utf8(std::string_view text);

// Returns the data type with this name, "float16". Errors: invalid_argument, with the nearest name.
[[nodiscard]] Result<DType> dtype_at(const JsonPlace& cursor);

// Moves a parsed value into `target`: for values that are optional in the file.
template <typename T, typename Target>
[[nodiscard]] Status store(Result<T> result, Target& target) {
  if (!result.ok()) return std::move(result).error();
  target = std::move(result).value();
  return Done{};
}

}  // namespace fatctx::tools
