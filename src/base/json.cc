#include "base/json.h"

#include <algorithm>

namespace fatctx {

Json::Json(std::initializer_list<Member> members) : value_(Object(members)) {}

const Json* Json::find(std::string_view key) const noexcept {
  const Object* object = members();
  if (object == nullptr) return nullptr;
  const auto member = std::find_if(object->begin(), object->end(), [&](const Member& m) { return m.key == key; });
  return member == object->end() ? nullptr : &member->value;
}

void Json::push_back(Json item) { std::get<Array>(value_).push_back(std::move(item)); }

void Json::add(std::string key, Json value) { std::get<Object>(value_).push_back({std::move(key), std::move(value)}); }

std::string json_pointer_to(std::string_view key) {
  std::string pointer = "/";
  for (const char c : key) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
  return pointer;
}

}  // namespace fatctx
