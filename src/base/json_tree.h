// Builds a tree from the events of a JSON text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace fatctx {

// A builder of a Json for JsonReader. Its contents are meaningless if an event stopped the reader.
class JsonTree {
 public:
  bool null() { return put(Json()); }
  bool boolean(bool value) { return put(Json(value)); }
  bool natural(std::uint64_t value) { return put(Json(value)); }
  bool negative(std::int64_t value) { return put(Json(value)); }
  bool other_number(std::string_view written) { return put(Json::written(std::string(written))); }
  bool text(std::string words) { return put(Json(std::move(words))); }
  bool key(std::string words) {
    key_ = std::move(words);
    return true;
  }
  bool begin_object() { return enter(Json::object()); }
  bool end_object();  // returns false if a key appears twice in it
  bool begin_array() { return enter(Json::array()); }
  bool end_array() {
    open_.pop_back();
    return true;
  }

  // Returns the second of two equal keys after end_object() returned false (RFC 6901).
  [[nodiscard]] const std::string& key_given_twice() const noexcept { return key_given_twice_; }
  [[nodiscard]] Json take() && { return std::move(root_); }

 private:
  // Puts `value` into the innermost open array or object and returns its place.
  Json& place(Json value);
  bool put(Json value) {
    (void)place(std::move(value));
    return true;
  }
  bool enter(Json empty) {
    open_.push_back(&place(std::move(empty)));
    return true;
  }
  [[nodiscard]] std::string pointer() const;  // of the innermost open array or object

  Json root_;
  // Outermost first. Addresses stay valid: an array or object grows only when those inside of it are closed.
  std::vector<Json*> open_;
  std::string key_;
  std::string key_given_twice_;
};

}  // namespace fatctx
