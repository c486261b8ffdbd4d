// Reads JSON files that people write. Comments are allowed, and everything unexpected is refused. Every error
// names the file, the position (a JSON pointer), the found and the allowed values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "fatctx/base/result.h"
#include "fatctx/record.h"

namespace fatctx::tools {

inline constexpr std::uint64_t kMaxJsonFileSize = std::uint64_t{64} << 20;
inline constexpr std::size_t kMaxJsonDepth = 64;  // arrays and objects; reading and writing recurse

// Returns the bytes of a text file. Errors: not_found, not_regular_file, limit_exceeded, io; all name the
// file.
[[nodiscard]] Result<std::string> read_text_file(const std::string& path);

// Parses JSON with // and /* */ comments, in which no object repeats a key.
// Errors: invalid_argument with line and column, or with the pointer of the object.
[[nodiscard]] Result<Json> parse_json(std::string_view text, const std::string& file);

// Returns a text as it is, and a number or a truth value as JSON writes it. Returns nothing for other kinds, and for
// numbers that are too large.
[[nodiscard]] std::optional<std::string> scalar_text(const Json& value);

// Returns true if a JSON text can hold these bytes.
[[nodiscard]] bool is_utf8(std::string_view text);

// A value with its position. Cheap to copy. Lifetime: borrows from the document and from `file`.
class JsonCursor {
 public:
  JsonCursor(const std::string& file, const Json& root) : file_(&file), value_(&root) {}

  // Returns "m.json: /records/0/type: <message>" (invalid_argument).
  [[nodiscard]] Error error(std::string_view message) const;
  // Does the same for a value of another kind than expected: "found 7; allowed: a string".
  [[nodiscard]] Error wrong(std::string_view allowed) const;
  // Does the same for a word that is not among `allowed`, and names the nearest of them.
  [[nodiscard]] Error wrong_word(std::string_view found, const std::vector<std::string>& allowed) const;

  // Refuses anything but an object whose keys are all among these.
  [[nodiscard]] Status only_keys(std::initializer_list<std::string_view> allowed) const;
  [[nodiscard]] bool has(std::string_view key) const;
  // Returns a member. Requires: an object that has `key`.
  [[nodiscard]] JsonCursor at(std::string_view key) const;
  // Returns a member; refuses an object that lacks `key`. Requires: an object.
  [[nodiscard]] Result<JsonCursor> required(std::string_view key) const;
  // Returns the elements of an array; refuses anything else.
  [[nodiscard]] Result<std::vector<JsonCursor>> elements() const;
  // Returns the members of an object in order of their keys; refuses anything else.
  [[nodiscard]] Result<std::vector<std::pair<std::string, JsonCursor>>> members() const;

  [[nodiscard]] Result<std::string> text() const;  // a string that is not empty
  [[nodiscard]] Result<std::uint64_t> number(std::uint64_t max) const;
  [[nodiscard]] Result<bool> boolean() const;
  [[nodiscard]] Result<std::vector<std::string>> texts() const;
  [[nodiscard]] Result<DType> dtype() const;  // by its name, "float16"

  [[nodiscard]] bool is_object() const noexcept { return value_->members() != nullptr; }
  [[nodiscard]] bool is_array() const noexcept { return value_->items() != nullptr; }
  [[nodiscard]] const Json& value() const noexcept { return *value_; }
  [[nodiscard]] const std::string& pointer() const noexcept { return pointer_; }

 private:
  JsonCursor(const std::string& file, const Json& value, std::string pointer)
      : file_(&file), value_(&value), pointer_(std::move(pointer)) {}

  const std::string* file_;
  const Json* value_;
  std::string pointer_;  // empty: the whole document
};

// Moves a parsed value into `target`: for values that are optional in the file.
template <typename T, typename Target>
[[nodiscard]] Status store(Result<T> result, Target& target) {
  if (!result.ok()) return std::move(result).error();
  target = std::move(result).value();
  return Done{};
}

}  // namespace fatctx::tools
