#include "tools/facts/json_cursor.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "fatctx/base/nearest.h"

namespace fatctx::tools {

namespace {

constexpr std::size_t kShownCharacters = 40;  // of a value that an error quotes

// Returns one key as a part of a JSON pointer (RFC 6901).
std::string pointer_step(std::string_view key) {
  std::string step = "/";
  for (const char letter : key) {
    if (letter == '~') {
      step += "~0";
    } else if (letter == '/') {
      step += "~1";
    } else {
      step += letter;
    }
  }
  return step;
}

std::string quoted_words(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", word);
  return text;
}

std::string shown(const nlohmann::json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "an array";
  std::string text = value.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  if (text.size() > kShownCharacters) text = text.substr(0, kShownCharacters) + "...";
  return text;
}

// A visitor that finds an object with a repeated key; the parser alone would silently keep the last value.
class RepeatedKeys {
 public:
  bool operator()(int /*depth*/, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
    switch (event) {
      case nlohmann::json::parse_event_t::object_start:
        keys_.emplace_back();
        break;
      case nlohmann::json::parse_event_t::key:
        if (!keys_.back().insert(parsed.get<std::string>()).second && !found_) found_ = parsed.get<std::string>();
        break;
      case nlohmann::json::parse_event_t::object_end:
        keys_.pop_back();
        break;
      default:
        break;
    }
    return true;
  }
  [[nodiscard]] const std::optional<std::string>& found() const noexcept { return found_; }

 private:
  std::vector<std::set<std::string>> keys_;
  std::optional<std::string> found_;
};

// Returns the position of a byte as "line 3, column 7", both counted from 1.
std::string place_of(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::min(byte, text.size()));
  const auto line = std::count(before.begin(), before.end(), '\n') + 1;
  const auto line_start = before.rfind('\n');
  const std::size_t column = before.size() - (line_start == std::string_view::npos ? 0 : line_start + 1);
  return fmt::format("line {}, column {}", line, std::max<std::size_t>(column, 1));
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

Result<nlohmann::json> parse_json(std::string_view text, const std::string& file) {
  RepeatedKeys repeated;
  try {
    nlohmann::json root = nlohmann::json::parse(
        text,
        [&repeated](int depth, nlohmann::json::parse_event_t event, nlohmann::json& parsed) {
          return repeated(depth, event, parsed);
        },
        true, true);
    if (repeated.found())
      return invalid_argument(fmt::format("{}: the key \"{}\" appears twice in one object", file, *repeated.found()));
    return root;
  } catch (const nlohmann::json::parse_error& error) {
    std::string why = error.what();  // "[json.exception.parse_error.101] parse error at line 1, column 2: why"
    const auto last = why.find(": ");
    if (last != std::string::npos) why = why.substr(last + 2);
    return invalid_argument(fmt::format("{}: {}: not JSON: {}", file, place_of(text, error.byte), why));
  } catch (const nlohmann::json::out_of_range&) {  // tells the number, but not its position
    return invalid_argument(fmt::format("{}: a number is too large for any machine; the largest whole one is {}", file,
                                        std::numeric_limits<std::uint64_t>::max()));
  }
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
  if (!value_->is_object()) return wrong("an object");
  const std::vector<std::string> words(allowed.begin(), allowed.end());
  for (const auto& [key, value] : value_->items()) {
    if (std::find(words.begin(), words.end(), key) != words.end()) continue;
    const auto near = nearest(key, words);
    return JsonCursor(*file_, value, pointer_ + pointer_step(key))
        .error(fmt::format("unknown key; {}allowed: {}",
                           near ? fmt::format("did you mean \"{}\"? ", *near) : std::string(), quoted_words(words)));
  }
  return Done{};
}

bool JsonCursor::has(std::string_view key) const { return value_->is_object() && value_->contains(key); }

JsonCursor JsonCursor::at(std::string_view key) const {
  return JsonCursor(*file_, value_->at(std::string(key)), pointer_ + pointer_step(key));
}

Result<JsonCursor> JsonCursor::required(std::string_view key) const {
  if (!has(key)) return error(fmt::format("the key \"{}\" is missing", key));
  return at(key);
}

Result<std::vector<JsonCursor>> JsonCursor::elements() const {
  if (!value_->is_array()) return wrong("an array");
  std::vector<JsonCursor> list;
  list.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i) {
    list.push_back(JsonCursor(*file_, (*value_)[i], fmt::format("{}/{}", pointer_, i)));
  }
  return list;
}

Result<std::vector<std::pair<std::string, JsonCursor>>> JsonCursor::members() const {
  if (!value_->is_object()) return wrong("an object");
  std::vector<std::pair<std::string, JsonCursor>> list;
  for (const auto& [key, value] : value_->items()) {
    list.emplace_back(key, JsonCursor(*file_, value, pointer_ + pointer_step(key)));
  }
  return list;
}

Result<std::string> JsonCursor::text() const {
  if (!value_->is_string() || value_->get_ref<const std::string&>().empty()) return wrong("a string that is not empty");
  return value_->get<std::string>();
}

Result<std::uint64_t> JsonCursor::number(std::uint64_t max) const {
  if (!value_->is_number_unsigned() || value_->get<std::uint64_t>() > max) {
    return wrong(fmt::format("a whole number from 0 to {}", max));
  }
  return value_->get<std::uint64_t>();
}

Result<bool> JsonCursor::boolean() const {
  if (!value_->is_boolean()) return wrong("true or false");
  return value_->get<bool>();
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
