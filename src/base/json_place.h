// A value of a JSON document with its position. Its errors name the file, the position (a JSON pointer), the value
// found and the values allowed.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "fatctx/base/result.h"

namespace fatctx {

// Cheap to copy. Lifetime: borrows from the document and from `file`. Errors of all functions: invalid_argument.
class JsonPlace {
 public:
  // Errors name `file`, unless it is empty.
  JsonPlace(const std::string& file, const Json& root) : file_(&file), value_(&root) {}

  // Returns "m.json: /records/0/type: <message>".
  [[nodiscard]] Error error(std::string_view message) const;
  // Does the same for a value of another kind than expected: "found 7; allowed: a string".
  [[nodiscard]] Error wrong(std::string_view allowed) const;
  // Does the same for a word that is not among `allowed`, and names the nearest of them.
  [[nodiscard]] Error wrong_word(std::string_view found, const std::vector<std::string>& allowed) const;

  // Refuses anything but an object whose keys are all among these.
  [[nodiscard]] Status only_keys(std::initializer_list<std::string_view> allowed) const;
  [[nodiscard]] bool has(std::string_view key) const noexcept { return value_->find(key) != nullptr; }
  // Returns a member. Requires: has(key).
  [[nodiscard]] JsonPlace at(std::string_view key) const;
  // Returns the place of a member that a loop over the object found.
  [[nodiscard]] JsonPlace member(std::string_view key, const Json& value) const;
  // Returns a member; refuses an object that lacks `key`. Requires: an object.
  [[nodiscard]] Result<JsonPlace> required(std::string_view key) const;
  // Returns the elements of an array; refuses anything else.
  [[nodiscard]] Result<std::vector<JsonPlace>> elements() const;
  // Returns the members of an object in order of their keys; refuses anything else.
  [[nodiscard]] Result<std::vector<std::pair<std::string, JsonPlace>>> members() const;

  [[nodiscard]] Result<std::string> text() const;  // a string that is not empty
  [[nodiscard]] Result<std::uint64_t> number(std::uint64_t max) const;
  [[nodiscard]] Result<bool> boolean() const;
  [[nodiscard]] Result<std::vector<std::string>> texts() const;

  [[nodiscard]] bool is_object() const noexcept { return value_->members() != nullptr; }
  [[nodiscard]] bool is_array() const noexcept { return value_->items() != nullptr; }
  [[nodiscard]] const Json& value() const noexcept { return *value_; }
  [[nodiscard]] const std::string& pointer() const noexcept { return pointer_; }

 private:
  JsonPlace(const std::string& file, const Json& value, std::string pointer)
      : file_(&file), value_(&value), pointer_(std::move(pointer)) {}

  const std::string* file_;
  const Json* value_;
  std::string pointer_ = {};  // empty: the whole document
};

}  // namespace fatctx
