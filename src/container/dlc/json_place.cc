#include "container/dlc/json_place.h"

#include <fmt/format.h>

#include <cassert>

namespace fatctx::container::dlc {
namespace {

constexpr std::size_t kShownCharacters = 40;  // of a value that an error quotes

std::string shown(const Json& value) {
  if (value.members() != nullptr) return "an object";
  if (value.items() != nullptr) return "an array";
  std::string text = json_line(value);
  if (text.size() > kShownCharacters) text = text.substr(0, kShownCharacters) + "...";
  return text;
}

}  // namespace

Error JsonPlace::error(std::string_view message) const {
  const std::string place = pointer_.empty() ? "the whole file" : pointer_;
  return Error{ErrorCode::kInvalidArgument, file_->empty() ? fmt::format("{}: {}", place, message)
                                                           : fmt::format("{}: {}: {}", *file_, place, message)};
}

Error JsonPlace::wrong(std::string_view allowed) const {
  return error(fmt::format("found {}; allowed: {}", shown(*value_), allowed));
}

JsonPlace JsonPlace::at(std::string_view key) const {
  const Json* found = value_->find(key);
  assert(found != nullptr);
  return member(key, *found);
}

JsonPlace JsonPlace::member(std::string_view key, const Json& value) const {
  return JsonPlace(*file_, value, pointer_ + json_pointer_to(key));
}

Result<JsonPlace> JsonPlace::required(std::string_view key) const {
  if (has(key)) return at(key);
  return error(fmt::format("the key \"{}\" is missing", key));
}

Result<std::vector<JsonPlace>> JsonPlace::elements() const {
  const Json::Array* items = value_->items();
  if (items == nullptr) return wrong("an array");
  std::vector<JsonPlace> places;
  places.reserve(items->size());
  for (std::size_t i = 0; i < items->size(); ++i) {
    places.push_back(JsonPlace(*file_, (*items)[i], fmt::format("{}/{}", pointer_, i)));
  }
  return places;
}

Result<std::string> JsonPlace::text() const {
  if (value_->text() == nullptr || value_->text()->empty()) return wrong("a string that is not empty");
  return *value_->text();
}

Result<std::uint64_t> JsonPlace::number(std::uint64_t max) const {
  const std::uint64_t* number = value_->number();
  if (number == nullptr || *number > max) return wrong(fmt::format("a whole number from 0 to {}", max));
  return *number;
}

}  // namespace fatctx::container::dlc
