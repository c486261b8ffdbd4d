// A JSON document in memory that can be given up when memory runs out.
//
// It replaces a library, because the available ones end the process when memory runs out (docs/decisions/0008). Members
// keep their order, and a key appears once in an object. Whole numbers of 64 bits have a value; others keep their text.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace fatctx {

struct JsonStyle {
  int indent = 2;     // blanks for each level; below 0: all in one line
  bool ascii = true;  // write non-ASCII characters as \u escapes
};

template <typename T>
concept JsonNatural = std::unsigned_integral<T> && !std::same_as<T, bool>;

class Json {
 public:
  struct Member;
  using Array = std::vector<Json>;
  using Object = std::vector<Member>;

  // Implicit, so that a document is written as it looks: {{"id", 3}, {"name", "m"}}.
  Json() noexcept;
  Json(std::nullptr_t) noexcept;
  template <std::same_as<bool> T>
  Json(T value) noexcept;
  template <std::signed_integral T>
  Json(T value) noexcept;
  template <JsonNatural T>
  Json(T value) noexcept;
  // Writes the shortest number that reads back as the same one, with a fraction or an exponent; null if not finite.
  Json(double value);
  Json(std::string value) noexcept;
  Json(std::string_view value);
  Json(const char* value);
  template <typename T>
  Json(const std::optional<T>& value);
  template <typename T>
  Json(const std::vector<T>& values);
  template <typename T>
  Json(std::span<const T> values);
  Json(std::initializer_list<Member> members);

  [[nodiscard]] static Json array();
  [[nodiscard]] static Json object();
  // Returns a value that is a text of write_json() already. Requires: written in the style of the whole document.
  [[nodiscard]] static Json written(std::string json) noexcept;

  [[nodiscard]] bool is_null() const noexcept { return std::holds_alternative<std::nullptr_t>(value_); }
  // The accessors return null if the value is of another kind.
  [[nodiscard]] const bool* boolean() const noexcept { return std::get_if<bool>(&value_); }
  [[nodiscard]] const std::uint64_t* number() const noexcept { return std::get_if<std::uint64_t>(&value_); }
  [[nodiscard]] const std::string* text() const noexcept { return std::get_if<std::string>(&value_); }
  [[nodiscard]] const Array* items() const noexcept { return std::get_if<Array>(&value_); }
  [[nodiscard]] const Object* members() const noexcept { return std::get_if<Object>(&value_); }
  // Returns a whole number that fits; nothing for others, such as 2.0, and for other kinds.
  [[nodiscard]] std::optional<std::int64_t> whole() const noexcept;
  // Returns any number, rounded; nothing if it is too large for a double, and for other kinds.
  [[nodiscard]] std::optional<double> real() const;

  // Returns the member of an object; null if it does not exist or if this is not an object. Searches linearly.
  [[nodiscard]] const Json* find(std::string_view key) const noexcept;

  // Adds an item to an array.
  void push_back(Json item);
  // Adds a member to an object, which must not have one with this name.
  void add(std::string key, Json value);

  [[nodiscard]] bool operator==(const Json& other) const = default;

 private:
  friend class JsonTree;
  friend class JsonWriter;
  struct Written {  // any other number, or a document
    std::string text;

    [[nodiscard]] bool operator==(const Written& other) const = default;
  };
  using Kind = std::variant<std::nullptr_t, bool, std::uint64_t, std::int64_t, Written, std::string, Array, Object>;
  explicit Json(Kind value) noexcept;

  Kind value_;
};

struct Json::Member {
  std::string key;
  Json value;

  [[nodiscard]] bool operator==(const Member& other) const = default;
};

// Writes the document. Bytes that are not UTF-8 become U+FFFD: names of a container are foreign text.
[[nodiscard]] std::string write_json(const Json& json, const JsonStyle& style = {});
// Writes one line, pure ASCII.
[[nodiscard]] std::string json_line(const Json& json);

// Behind Member, because a constructor may have to destroy it, and clang requires its destructor by then.
inline Json::Json() noexcept = default;
inline Json::Json(std::nullptr_t) noexcept {}
template <std::same_as<bool> T>
Json::Json(T value) noexcept : value_(value) {}
template <std::signed_integral T>
Json::Json(T value) noexcept  // one form for each number, so that equal ones compare equal
    : value_(value < 0 ? Kind(std::int64_t{value}) : Kind(static_cast<std::uint64_t>(value))) {}
template <JsonNatural T>
Json::Json(T value) noexcept : value_(std::uint64_t{value}) {}
inline Json::Json(std::string value) noexcept : value_(std::move(value)) {}
inline Json::Json(std::string_view value) : value_(std::string(value)) {}
inline Json::Json(const char* value) : value_(std::string(value)) {}
template <typename T>
Json::Json(const std::optional<T>& value) {
  if (value) *this = Json(*value);
}
template <typename T>
Json::Json(const std::vector<T>& values) : Json(std::span<const T>(values)) {}
template <typename T>
Json::Json(std::span<const T> values) : value_(Array(values.begin(), values.end())) {}
inline Json::Json(Kind value) noexcept : value_(std::move(value)) {}
inline Json Json::array() { return Json(Kind(Array())); }
inline Json Json::object() { return Json(Kind(Object())); }
inline Json Json::written(std::string json) noexcept { return Json(Kind(Written{std::move(json)})); }

struct JsonFault {
  enum class Kind : std::uint8_t { kNotJson, kTooDeep, kKeyTwice };
  Kind kind = Kind::kNotJson;
  std::size_t position = 0;  // kNotJson: first byte that is not JSON, counted from 1
  std::string pointer;       // kKeyTwice: the key, as in RFC 6901
};

// Reads one document that is strict JSON (RFC 8259, in UTF-8, with or without a byte order mark), no deeper than
// `max_depth` arrays and objects. Otherwise returns nothing and fills in `fault`.
[[nodiscard]] std::optional<Json> read_json(std::string_view text, std::size_t max_depth, JsonFault& fault);

// Returns "/" and the key, with "~" and "/" in it escaped (RFC 6901).
[[nodiscard]] std::string json_pointer_to(std::string_view key);

// Returns the decimal number that is all of `text`, rounded: "0.5", "-1e-3", ".5". Returns nothing for other texts,
// such as "inf", "0x1" and "+1", and for a number that is too large for a double. The locale has no effect.
[[nodiscard]] std::optional<double> real_number(std::string_view text);

}  // namespace fatctx
