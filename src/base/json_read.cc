// Reads a JSON text into a tree.
#include <algorithm>

#include "base/json_reader.h"
#include "base/json_tree.h"

namespace fatctx {
namespace {

const std::string* second_of_its_name(const Json::Object& members) {
  std::vector<const std::string*> keys;
  keys.reserve(members.size());
  for (const Json::Member& member : members) keys.push_back(&member.key);
  std::sort(keys.begin(), keys.end(), [](const auto* a, const auto* b) { return *a < *b; });
  const auto twice =
      std::adjacent_find(keys.begin(), keys.end(), [](const auto* a, const auto* b) { return *a == *b; });
  return twice == keys.end() ? nullptr : *twice;
}

}  // namespace

bool JsonTree::end_object() {
  if (const std::string* twice = second_of_its_name(*open_.back()->members())) {
    key_given_twice_ = pointer() + json_pointer_to(*twice);
    return false;
  }
  open_.pop_back();
  return true;
}

Json& JsonTree::place(Json value) {
  if (open_.empty()) return root_ = std::move(value);
  if (auto* items = std::get_if<Json::Array>(&open_.back()->value_)) return items->emplace_back(std::move(value));
  auto& members = std::get<Json::Object>(open_.back()->value_);
  return members.emplace_back(Json::Member{std::move(key_), std::move(value)}).value;
}

std::string JsonTree::pointer() const {
  std::string text;
  for (std::size_t i = 0; i + 1 < open_.size(); ++i) {  // each is the newest value of the one around it
    if (const Json::Array* items = open_[i]->items()) {
      text += "/" + std::to_string(items->size() - 1);
    } else {
      text += json_pointer_to(open_[i]->members()->back().key);
    }
  }
  return text;
}

std::optional<Json> read_json(std::string_view text, std::size_t max_depth, JsonFault& fault) {
  JsonTree tree;
  JsonReader reader(text, max_depth, tree);
  switch (reader.read()) {
    case JsonOutcome::kWhole:
      return std::move(tree).take();
    case JsonOutcome::kNotJson:
      fault = {.kind = JsonFault::Kind::kNotJson, .position = reader.position(), .pointer = {}};
      return std::nullopt;
    case JsonOutcome::kTooDeep:
      fault = {.kind = JsonFault::Kind::kTooDeep, .position = 0, .pointer = {}};
      return std::nullopt;
    case JsonOutcome::kStopped:
      break;
  }
  fault = {.kind = JsonFault::Kind::kKeyTwice, .position = 0, .pointer = tree.key_given_twice()};
  return std::nullopt;
}

}  // namespace fatctx
