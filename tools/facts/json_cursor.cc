#include "tools/facts/json_cursor.h"

#include <algorithm>
#include <cassert>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "fatctx/base/nearest.h"

namespace fatctx::tools {

namespace {

constexpr std::size_t kShownCharacters = 40;  // of a value that an error quotes

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

// Returns the position of a byte as "line 3, column 7", both counted from 1.
std::string place_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const auto line_start = before.rfind('\n');
  const std::size_t column = before.size() - (line_start == std::string_view::npos ? 0 : line_start + 1) + 1;
  return fmt::format("line {}, column {}", line, column);
}

// Returns the reason why the reader refused a byte: the usual mistakes by name.
std::string refused(std::string_view text, std::size_t offset) {
  if (offset >= text.size()) return "the text ends in the middle of a value";
  const char byte = text[offset];
  const auto before = text.substr(0, offset).find_last_not_of(" \t\r\n");
  const char previous = before == std::string_view::npos ? '\0' : text[before];
  const bool printable = byte > 0x20 && byte < 0x7f;
  std::string found =
      printable ? fmt::format("found {}", byte) : fmt::format("found byte 0x{:02x}", static_cast<unsigned char>(byte));
  if (previous == ',' && (byte == '}' || byte == ']')) return found + " behind a comma; take the comma out";
  const bool begins = byte == '"' || byte == '[' || byte == '{';
  const bool ended = previous == '"' || previous == ']' || previous == '}';
  if (begins && ended) return found + ", and a comma or a colon is missing before it";
  return found + " where it is not allowed";
}

// Returns the text with blanks instead of // and /* */ comments, so that every other byte keeps its position.
std::string without_comments(std::string_view text) {
  std::string blanked(text);
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (quoted || text[at] != '/') {
      if (quoted && text[at] == '\\') {
        ++at;  // an escaped quote does not end the string
      } else if (text[at] == '"') {
        quoted = !quoted;
      }
      continue;
    }
    const std::string_view opening = text.substr(at, 2);
    const bool block = opening == "/*";
    if (!block && opening != "//") continue;
    std::size_t end = block ? text.find("*/", at + 2) : std::min(text.find_first_of("\r\n", at), text.size());
    if (end == std::string_view::npos) return blanked;  // the reader refuses a comment without an end
    if (block) end += 2;
    for (; at < end; ++at) {
      if (text[at] != '\n') blanked[at] = ' ';
    }
    --at;
  }
  return blanked;
}

}  // namespace

Result<std::string> read_text_file(const std::string& path) {
  std::error_code status;
  const std::filesystem::file_status kind = std::filesystem::status(path, status);
  if (!std::filesystem::exists(kind)) return Error{ErrorCode::kNotFound, fmt::format("{}: not there", path)};
  if (!std::filesystem::is_regular_file(kind)) {
    return Error{ErrorCode::kNotRegularFile, fmt::format("{}: not a regular file", path)};
  }
  std::ifstream in(path, std::ios::binary);
  std::string text;
  std::vector<char> piece(std::size_t{1} << 16);
  while (in) {
    in.read(piece.data(), static_cast<std::streamsize>(piece.size()));
    text.append(piece.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > kMaxJsonFileSize) {
      return Error{ErrorCode::kLimitExceeded, fmt::format("{}: more than {} bytes", path, kMaxJsonFileSize)};
    }
  }
  if (!in.eof()) return Error{ErrorCode::kIo, fmt::format("{}: cannot be read", path)};
  return text;
}

Result<Json> parse_json(std::string_view text, const std::string& file) {
  const std::string blanked = without_comments(text);
  JsonFault fault;
  if (auto document = read_json(blanked, kMaxJsonDepth, fault)) return *std::move(document);
  switch (fault.kind) {
    case JsonFault::Kind::kKeyTwice:
      return invalid_argument(fmt::format("{}: {}: the key appears twice in one object", file, fault.pointer));
    case JsonFault::Kind::kTooDeep:
      return invalid_argument(fmt::format("{}: arrays and objects are nested more than {} deep", file, kMaxJsonDepth));
    case JsonFault::Kind::kNotJson:
      break;
  }
  const std::size_t offset = fault.position - 1;
  return invalid_argument(fmt::format("{}: {}: not JSON: {}", file, place_of(text, offset), refused(blanked, offset)));
}

std::optional<std::string> scalar_text(const Json& value) {
  if (value.text() != nullptr) return *value.text();
  if (value.number() != nullptr || value.whole() || value.boolean() != nullptr) return json_line(value);
  if (const auto real = value.real()) return json_line(*real);
  return std::nullopt;
}

bool is_utf8(std::string_view text) {
  // Quotes and backslashes would need escapes, and like all ASCII they do not matter here.
  std::string quoted = "\"";
  std::copy_if(text.begin(), text.end(), std::back_inserter(quoted),
               [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
  JsonFault fault;
  return read_json(quoted + '"', 0, fault).has_value();
}

Error JsonCursor::error(std::string_view message) const {
  return invalid_argument(fmt::format("{}: {}: {}", *file_, pointer_.empty() ? "the whole file" : pointer_, message));
}

Error JsonCursor::wrong(std::string_view allowed) const {
  return error(fmt::format("found {}; allowed: {}", shown(*value_), allowed));
}

Error JsonCursor::wrong_word(std::string_view found, const std::vector<std::string>& allowed) const {
  const auto near = nearest(found, allowed);
  return error(fmt::format("found \"{}\"; {}allowed: {}", found,
                           near ? fmt::format("did you mean \"{}\"? ", *near) : std::string(), quoted_words(allowed)));
}

Status JsonCursor::only_keys(std::initializer_list<std::string_view> allowed) const {
  if (!is_object()) return wrong("an object");
  const std::vector<std::string> words(allowed.begin(), allowed.end());
  for (const auto& [key, value] : *value_->members()) {
    if (std::find(words.begin(), words.end(), key) != words.end()) continue;
    const auto near = nearest(key, words);
    return JsonCursor(*file_, value, pointer_ + json_pointer_to(key))
        .error(fmt::format("unknown key; {}allowed: {}",
                           near ? fmt::format("did you mean \"{}\"? ", *near) : std::string(), quoted_words(words)));
  }
  return Done{};
}

bool JsonCursor::has(std::string_view key) const { return value_->find(key) != nullptr; }

JsonCursor JsonCursor::at(std::string_view key) const {
  const Json* const found = value_->find(key);
  assert(found != nullptr);
  return JsonCursor(*file_, *found, pointer_ + json_pointer_to(key));
}

Result<JsonCursor> JsonCursor::required(std::string_view key) const {
  if (!has(key)) return error(fmt::format("the key \"{}\" is missing", key));
  return at(key);
}

Result<std::vector<JsonCursor>> JsonCursor::elements() const {
  if (!is_array()) return wrong("an array");
  const Json::Array& items = *value_->items();
  std::vector<JsonCursor> list;
  list.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    list.push_back(JsonCursor(*file_, items[i], fmt::format("{}/{}", pointer_, i)));
  }
  return list;
}

Result<std::vector<std::pair<std::string, JsonCursor>>> JsonCursor::members() const {
  if (!is_object()) return wrong("an object");
  std::vector<std::pair<std::string, JsonCursor>> list;
  for (const auto& [key, value] : *value_->members()) {
    list.emplace_back(key, JsonCursor(*file_, value, pointer_ + json_pointer_to(key)));
  }
  std::sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return list;
}

Result<std::string> JsonCursor::text() const {
  if (value_->text() == nullptr || value_->text()->empty()) return wrong("a string that is not empty");
  return *value_->text();
}

Result<std::uint64_t> JsonCursor::number(std::uint64_t max) const {
  const std::uint64_t* const number = value_->number();
  if (number == nullptr || *number > max) return wrong(fmt::format("a whole number from 0 to {}", max));
  return *number;
}

Result<bool> JsonCursor::boolean() const {
  if (value_->boolean() == nullptr) return wrong("true or false");
  return *value_->boolean();
}

Result<DType> JsonCursor::dtype() const {
  FATCTX_ASSIGN(const std::string name, text());
  if (const auto dtype = dtype_from_name(name)) return *dtype;
  std::vector<std::string> allowed;
  for (std::uint16_t number = 1; dtype_bits(static_cast<DType>(number)) != 0; ++number) {
    allowed.emplace_back(dtype_name(static_cast<DType>(number)));
  }
  return wrong_word(name, allowed);
}

Result<std::vector<std::string>> JsonCursor::texts() const {
  FATCTX_ASSIGN(const std::vector<JsonCursor> list, elements());
  std::vector<std::string> words;
  for (const JsonCursor& element : list) {
    FATCTX_ASSIGN(std::string word, element.text());
    words.push_back(std::move(word));
  }
  return words;
}

}  // namespace fatctx::tools
