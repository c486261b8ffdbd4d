#include "base/json_place.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>

#include "fatctx/base/nearest.h"

namespace fatctx {
namespace {

constexpr std::size_t kShownCharacters = 40;  // longer values are cut in an error

std::string quoted_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", word);
  return text;
}

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

Error JsonPlace::wrong_word(std::string_view found, const std::vector<std::string>& allowed) const {
  const auto near = nearest(found, allowed);
  return error(fmt::format("found \"{}\"; {}allowed: {}", found,
                           near ? fmt::format("did you mean \"{}\"? ", *near) : std::string(), quoted_words(allowed)));
}

Status JsonPlace::only_keys(std::initializer_list<std::string_view> allowed) const {
  if (!is_object()) return wrong("an object");
  const std::vector<std::string> words(allowed.begin(), allowed.end());
  for (const auto& [key, value] : *value_->members()) {
    if (std::find(words.begin(), words.end(), key) != words.end()) continue;
    const auto near = nearest(key, words);
    return member(key, value)
        .error(fmt::format("unknown key; {}allowed: {}",
                           near ? fmt::format("did you mean \"{}\"? ", *near) : std::string(), quoted_words(words)));
  }
  return Done{};
}

JsonPlace JsonPlace::at(std::string_view key) const {
  const Json* const found = value_->find(key);
  assert(found != nullptr);
  return member(key, *found);
}

JsonPlace JsonPlace::member(std::string_view key, const Json& value) const {
  return JsonPlace(*file_, value, pointer_ + json_pointer_to(key));
}

Result<JsonPlace> JsonPlace::required(std::string_view key) const {
  if (!has(key)) return error(fmt::format("the key \"{}\" is missing", key));
  return at(key);
}

Result<std::vector<JsonPlace>> JsonPlace::elements() const {
  if (!is_array()) return wrong("an array");
  const Json::Array& items = *value_->items();
  std::vector<JsonPlace> list;
  list.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    list.push_back(JsonPlace(*file_, items[i], fmt::format("{}/{}", pointer_, i)));
  }
  return list;
}

Result<std::vector<std::pair<std::string, JsonPlace>>> JsonPlace::members() const {
  if (!is_object()) return wrong("an object");
  std::vector<std::pair<std::string, JsonPlace>> list;
  for (const auto& [key, value] : *value_->members()) {
    list.emplace_back(key, member(key, value));
  }
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return list;
}

Result<std::string> JsonPlace::text() const {
  if (value_->text() == nullptr || value_->text()->empty()) return wrong("a string that is not empty");
  return *value_->text();
}

Result<std::uint64_t> JsonPlace::number(std::uint64_t max) const {
  const std::uint64_t* const number = value_->number();
  if (number == nullptr || *number > max) return wrong(fmt::format("a whole number from 0 to {}", max));
  return *number;
}

Result<bool> JsonPlace::boolean() const {
  if (value_->boolean() == nullptr) return wrong("true or false");
  return *value_->boolean();
}

Result<std::vector<std::string>> JsonPlace::texts() const {
  FATCTX_ASSIGN(const std::vector<JsonPlace> list, elements());
  std::vector<std::string> words;
  for (const JsonPlace& element : list) {
    FATCTX_ASSIGN(std::string word, element.text());
    words.push_back(std::move(word));
  }
  return words;
}

}  // namespace fatctx
