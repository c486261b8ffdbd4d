// A value of a JSON document with its position, for errors that say where something else was expected.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "fatctx/base/result.h"

namespace fatctx::container::dlc {

// Cheap to copy. Lifetime: borrows from the document and from `file`.
class JsonPlace {
 public:
  // `file` is named in errors, unless it is empty.
  JsonPlace(const std::string& file, const Json& root) : file_(&file), value_(&root) {}

  // Returns "m.json: /info/graphs: <message>" (invalid_argument).
  [[nodiscard]] Error error(std::string_view message) const;
  // Returns "...: found 7; allowed: <allowed>".
  [[nodiscard]] Error wrong(std::string_view allowed) const;

  [[nodiscard]] const Json& value() const noexcept { return *value_; }
  [[nodiscard]] bool is_object() const noexcept { return value_->members() != nullptr; }
  [[nodiscard]] bool has(std::string_view key) const noexcept { return value_->find(key) != nullptr; }
  // Requires: has(key).
  [[nodiscard]] JsonPlace at(std::string_view key) const;
  // Returns the place of a member that a loop over the object found.
  [[nodiscard]] JsonPlace member(std::string_view key, const Json& value) const;
  // Errors of these: invalid_argument.
  [[nodiscard]] Result<JsonPlace> required(std::string_view key) const;
  [[nodiscard]] Result<std::vector<JsonPlace>> elements() const;
  [[nodiscard]] Result<std::string> text() const;                       // not empty
  [[nodiscard]] Result<std::uint64_t> number(std::uint64_t max) const;  // from 0

 private:
  JsonPlace(const std::string& file, const Json& value, std::string pointer)
      : file_(&file), value_(&value), pointer_(std::move(pointer)) {}

  const std::string* file_;
  const Json* value_;
  std::string pointer_ = {};  // empty: the whole document
};

}  // namespace fatctx::container::dlc
