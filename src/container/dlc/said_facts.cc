#include "container/dlc/said_facts.h"

#include <algorithm>
#include <utility>

#include "container/dlc/qnn_graph.h"
#include "container/format/names.h"

namespace fatctx::container::dlc {
namespace {

bool is_scalar(const Json& value) { return value.members() == nullptr && value.items() == nullptr && !value.is_null(); }

std::string scalar_words(const Json& value) { return value.text() != nullptr ? *value.text() : json_line(value); }

// Returns "2.3.0" for {"major": 2, "minor": 3, "patch": 0}; empty for other objects.
std::string version_words(const Json& object) {
  std::string version;
  for (const auto& [key, part] : *object.members()) {
    if (part.number() == nullptr) return {};
    version += (version.empty() ? "" : ".") + std::to_string(*part.number());
  }
  return object.find("major") != nullptr && object.find("minor") != nullptr ? version : std::string();
}

}  // namespace

void SaidFacts::add(std::string key, std::string value) {
  if (value.empty()) return;
  const std::size_t bytes = key.size() + value.size();
  const bool fits = facts_.size() < kMaxSaidFacts && bytes <= kMaxSaidBytes - bytes_;
  if (!fits || !check_name(key, kMaxSaidKey, true, "key").ok() || !is_valid_utf8(value)) {
    ++left_out_;
    return;
  }
  bytes_ += bytes;
  facts_.push_back({std::move(key), std::move(value), std::string(kQnnOwner)});
}

void SaidFacts::add_lines(std::string_view text) {
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    while (line.ends_with('\r') || line.ends_with('\0')) line.remove_suffix(1);
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    add(std::string(line.substr(0, equals)), std::string(line.substr(equals + 1)));
  }
}

// Recurses as deep as the text was allowed to be.
void SaidFacts::add_member(const std::string& key, const Json& value) {
  if (value.is_null()) return;
  if (key.size() > kMaxSaidKey) {
    ++left_out_;
    return;
  }
  if (value.members() != nullptr) {
    std::string version = version_words(value);
    version.empty() ? add_object(value, key + ".") : add(key, std::move(version));
    return;
  }
  if (const Json::Array* const items = value.items()) {
    if (!std::all_of(items->begin(), items->end(), is_scalar)) {
      for (const Json& item : *items) add_member(key, item);
      return;
    }
    std::string list;
    for (const Json& item : *items) {
      list += (list.empty() ? "" : ", ") + scalar_words(item);
      if (list.size() > kMaxSaidBytes) break;
    }
    add(key, std::move(list));
    return;
  }
  add(key, scalar_words(value));
}

void SaidFacts::add_object(const Json& object, const std::string& path) {
  if (object.members() == nullptr) return;
  for (const auto& [key, value] : *object.members()) add_member(path + key, value);
}

}  // namespace fatctx::container::dlc
