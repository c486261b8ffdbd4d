// Writes JSON as text.
#include <fmt/format.h>

#include <iterator>

#include "base/json.h"
#include "base/utf8.h"

namespace fatctx {
namespace {

void append_escaped(std::string& text, std::uint32_t unit) {
  fmt::format_to(std::back_inserter(text), "\\u{:04x}", unit);
}

void append_code_point(std::string& text, std::uint32_t value, bool ascii) {
  constexpr std::uint32_t kFirstOfTwoUnits = 0x10000;
  switch (value) {
    case '"':
      text += "\\\"";
      return;
    case '\\':
      text += "\\\\";
      return;
    case '\b':
      text += "\\b";
      return;
    case '\f':
      text += "\\f";
      return;
    case '\n':
      text += "\\n";
      return;
    case '\r':
      text += "\\r";
      return;
    case '\t':
      text += "\\t";
      return;
    default:
      break;
  }
  if (value >= 0x20 && (value < 0x7f || !ascii)) {
    append_utf8(text, value);
  } else if (value < kFirstOfTwoUnits) {
    append_escaped(text, value);
  } else {
    const std::uint32_t rest = value - kFirstOfTwoUnits;
    append_escaped(text, 0xd800 + (rest >> 10));
    append_escaped(text, 0xdc00 + (rest & 0x3ff));
  }
}

void append_quoted(std::string& text, std::string_view words, bool ascii) {
  constexpr std::uint32_t kReplacement = 0xfffd;
  text += '"';
  for (std::size_t at = 0; at < words.size();) {
    const auto point = decode_utf8(words, at);
    append_code_point(text, point ? point->value : kReplacement, ascii);
    at += point ? point->size : 1;
  }
  text += '"';
}

}  // namespace

// A writer of a tree; its recursion is as deep as the tree.
class JsonWriter {
 public:
  explicit JsonWriter(const JsonStyle& style) : style_(style) {}

  void value(const Json& json) {
    std::visit([this](const auto& held) { write(held); }, json.value_);
  }
  [[nodiscard]] std::string take() && { return std::move(text_); }

 private:
  void write(std::nullptr_t) { text_ += "null"; }
  void write(bool truth) { text_ += truth ? "true" : "false"; }
  void write(std::uint64_t number) { text_ += std::to_string(number); }
  void write(std::int64_t number) { text_ += std::to_string(number); }
  void write(const Json::Written& written) {
    for (const char c : written.text) {
      text_ += c;
      if (c == '\n') indent();
    }
  }
  void write(const std::string& words) { append_quoted(text_, words, style_.ascii); }
  void write(const Json::Array& items) {
    list('[', ']', items, [this](const Json& item) { value(item); });
  }
  void write(const Json::Object& members) {
    list('{', '}', members, [this](const Json::Member& member) {
      append_quoted(text_, member.key, style_.ascii);
      text_ += style_.indent < 0 ? ":" : ": ";
      value(member.value);
    });
  }

  template <typename Items, typename Each>
  void list(char open, char close, const Items& items, const Each& each) {
    text_ += open;
    ++level_;
    for (const auto& item : items) {
      if (&item != items.data()) text_ += ',';
      new_line();
      each(item);
    }
    --level_;
    if (!items.empty()) new_line();
    text_ += close;
  }
  void new_line() {
    if (style_.indent < 0) return;
    text_ += '\n';
    indent();
  }
  void indent() { text_.append(static_cast<std::size_t>(style_.indent) * level_, ' '); }

  const JsonStyle& style_;
  std::string text_;
  std::size_t level_ = 0;
};

std::string write_json(const Json& json, const JsonStyle& style) {
  JsonWriter writer(style);
  writer.value(json);
  return std::move(writer).take();
}

std::string json_line(const Json& json) { return write_json(json, {.indent = -1, .ascii = true}); }

}  // namespace fatctx
