// Text as JSON (RFC 8259). Nothing beyond it is taken: no comment, no trailing comma, no second document.
#include <algorithm>
#include <charconv>

#include "base/json.h"
#include "base/utf8.h"

namespace fatctx {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

const std::string* key_given_twice(const Json::Object& members) {
  std::vector<const std::string*> keys;
  keys.reserve(members.size());
  for (const Json::Member& member : members) keys.push_back(&member.key);
  std::sort(keys.begin(), keys.end(), [](const auto* a, const auto* b) { return *a < *b; });
  const auto twice =
      std::adjacent_find(keys.begin(), keys.end(), [](const auto* a, const auto* b) { return *a == *b; });
  return twice == keys.end() ? nullptr : *twice;
}

}  // namespace

// Goes through the text once. Every function leaves `at_` behind what it took, or at the byte that it refuses.
class JsonReader {
 public:
  JsonReader(std::string_view text, std::size_t max_depth, JsonFault& fault)
      : text_(text), max_depth_(max_depth), fault_(fault) {
    if (text.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  }

  bool document(Json& into) {
    fault_ = {};
    if (value(into, 0)) {
      skip_blanks();
      if (at_ == text_.size()) return true;
    }
    if (fault_.kind == JsonFault::Kind::kNotJson) fault_.position = at_ + 1;
    return false;
  }

 private:
  [[nodiscard]] bool next_is(char c) const { return at_ < text_.size() && text_[at_] == c; }
  bool take(char c) {
    if (!next_is(c)) return false;
    ++at_;
    return true;
  }
  void skip_blanks() {
    while (next_is(' ') || next_is('\n') || next_is('\t') || next_is('\r')) ++at_;
  }

  bool value(Json& into, std::size_t depth) {
    skip_blanks();
    if (next_is('{')) return object(into, depth);
    if (next_is('[')) return array(into, depth);
    if (next_is('"')) return text(into.value_.emplace<std::string>());
    if (next_is('t')) return word("true", into, Json(true));
    if (next_is('f')) return word("false", into, Json(false));
    if (next_is('n')) return word("null", into, Json());
    return number(into);
  }

  bool word(std::string_view letters, Json& into, Json meaning) {
    for (const char letter : letters) {
      if (!take(letter)) return false;
    }
    into = std::move(meaning);
    return true;
  }

  bool digits() {
    if (at_ == text_.size() || !is_digit(text_[at_])) return false;
    while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
    return true;
  }

  bool number(Json& into) {
    const std::size_t start = at_;
    const bool negative = take('-');
    if (!take('0') && !digits()) return false;
    bool whole = true;
    if (take('.')) {
      whole = false;
      if (!digits()) return false;
    }
    if (take('e') || take('E')) {
      whole = false;
      if (!take('+')) (void)take('-');
      if (!digits()) return false;
    }
    const std::string_view written = text_.substr(start, at_ - start);
    if (!whole || !(negative ? integer<std::int64_t>(written, into) : integer<std::uint64_t>(written, into))) {
      into.value_ = Json::OtherNumber{std::string(written)};
    }
    return true;
  }

  template <typename T>
  static bool integer(std::string_view written, Json& into) {
    T number = 0;
    const auto read = std::from_chars(written.data(), written.data() + written.size(), number);
    if (read.ec != std::errc()) return false;  // more than 64 bits
    into = Json(number);
    return true;
  }

  bool text(std::string& into) {
    if (!take('"')) return false;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\') {
        if (!escape(into)) return false;
        continue;
      }
      const auto point = decode_utf8(text_, at_);
      if (!point || point->value < 0x20) return false;
      into.append(text_, at_, point->size);
      at_ += point->size;
    }
    return take('"');
  }

  bool escape(std::string& into) {
    constexpr std::string_view kLetters = "\"\\/bfnrt";
    constexpr std::string_view kMeanings = "\"\\/\b\f\n\r\t";
    ++at_;  // the backslash
    if (at_ == text_.size()) return false;
    if (take('u')) return code_point(into);
    const auto letter = kLetters.find(text_[at_]);
    if (letter == std::string_view::npos) return false;
    ++at_;
    into += kMeanings[letter];
    return true;
  }

  // Behind "\u": four digits, or a pair of surrogates.
  bool code_point(std::string& into) {
    std::uint32_t value = 0;
    if (!four_digits(value)) return false;
    if (value >= 0xdc00 && value <= 0xdfff) return false;
    if (value >= 0xd800 && value <= 0xdbff) {
      std::uint32_t low = 0;
      if (!take('\\') || !take('u') || !four_digits(low)) return false;
      if (low < 0xdc00 || low > 0xdfff) return false;
      value = 0x10000 + ((value - 0xd800) << 10) + (low - 0xdc00);
    }
    append_utf8(into, value);
    return true;
  }

  bool four_digits(std::uint32_t& value) {
    constexpr std::size_t kDigits = 4;
    const std::string_view digits = text_.substr(at_, kDigits);
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    at_ += static_cast<std::size_t>(read.ptr - digits.data());
    return read.ec == std::errc() && digits.size() == kDigits && read.ptr == digits.data() + kDigits;
  }

  bool enter(std::size_t depth) {
    ++at_;  // the bracket
    if (depth < max_depth_) return true;
    fault_.kind = JsonFault::Kind::kTooDeep;
    return false;
  }

  bool array(Json& into, std::size_t depth) {
    if (!enter(depth)) return false;
    auto& items = into.value_.emplace<Json::Array>();
    skip_blanks();
    if (take(']')) return true;
    do {
      if (!value(items.emplace_back(), depth + 1)) return fails_inside("/" + std::to_string(items.size() - 1));
      skip_blanks();
    } while (take(','));
    return take(']');
  }

  bool object(Json& into, std::size_t depth) {
    if (!enter(depth)) return false;
    auto& members = into.value_.emplace<Json::Object>();
    skip_blanks();
    if (take('}')) return true;
    do {
      skip_blanks();
      Json::Member& member = members.emplace_back();
      if (!text(member.key)) return false;
      skip_blanks();
      if (!take(':')) return false;
      if (!value(member.value, depth + 1)) return fails_inside(json_pointer_to(member.key));
      skip_blanks();
    } while (take(','));
    if (!take('}')) return false;
    const std::string* twice = key_given_twice(members);
    if (twice == nullptr) return true;
    fault_.kind = JsonFault::Kind::kKeyTwice;
    fault_.pointer = json_pointer_to(*twice);
    return false;
  }

  // On the way out each level puts its own part in front.
  bool fails_inside(const std::string& part) {
    if (fault_.kind == JsonFault::Kind::kKeyTwice) fault_.pointer.insert(0, part);
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t max_depth_;
  JsonFault& fault_;
};

std::optional<Json> read_json(std::string_view text, std::size_t max_depth, JsonFault& fault) {
  Json json;
  if (!JsonReader(text, max_depth, fault).document(json)) return std::nullopt;
  return json;
}

}  // namespace fatctx
