#include <algorithm>

#include "loader/fmt/format.h"

namespace fmt {
namespace {

struct Field {
  bool prefix = false;  // 0x
  bool zeros = false;
  std::size_t width = 0;
  char type = 'd';
};

Field field_of(std::string_view spec) {
  Field field;
  for (const char c : spec) {
    if (c == '#') {
      field.prefix = true;
    } else if (c == '0' && field.width == 0) {
      field.zeros = true;
    } else if (c >= '0' && c <= '9') {
      field.width = field.width * 10 + static_cast<std::size_t>(c - '0');
    } else {
      field.type = c;
    }
  }
  return field;
}

void append_number(std::string& text, std::uint64_t number, bool negative, const Field& field) {
  const unsigned base = field.type == 'd' ? 10 : field.type == 'o' ? 8 : 16;
  const char* const digits = field.type == 'X' ? "0123456789ABCDEF" : "0123456789abcdef";
  char reversed[64];
  std::size_t size = 0;
  do {
    reversed[size++] = digits[number % base];
    number /= base;
  } while (number != 0);
  if (negative) text += '-';
  if (field.prefix) text += "0x";
  for (std::size_t i = size; i < field.width; ++i) text += field.zeros ? '0' : ' ';
  while (size != 0) text += reversed[--size];
}

void append(std::string& text, const LoaderArgument& argument, std::string_view spec) {
  switch (argument.kind_or_size) {
    case LoaderArgument::kCharacter:
      text += static_cast<char>(argument.number);
      return;
    case LoaderArgument::kSigned: {
      const bool negative = static_cast<std::int64_t>(argument.number) < 0;
      append_number(text, negative ? 0 - argument.number : argument.number, negative, field_of(spec));
      return;
    }
    case LoaderArgument::kUnsigned:
      append_number(text, argument.number, false, field_of(spec));
      return;
    default:
      text.append(argument.text, static_cast<std::size_t>(argument.kind_or_size));
  }
}

}  // namespace

std::string loader_format(std::string_view literal, const LoaderArgument* arguments, std::size_t count) {
  std::string text;
  std::size_t next = 0;
  while (!literal.empty()) {
    const char c = literal.front();
    literal.remove_prefix(1);
    if ((c == '{' || c == '}') && !literal.empty() && literal.front() == c) {
      literal.remove_prefix(1);
      text += c;
    } else if (c == '{') {
      const std::size_t end = std::min(literal.find('}'), literal.size());
      std::string_view inside = literal.substr(0, end);
      literal.remove_prefix(std::min(end + 1, literal.size()));
      std::size_t index = next;
      if (!inside.empty() && inside.front() >= '0' && inside.front() <= '9') {
        index = static_cast<std::size_t>(inside.front() - '0');
        inside.remove_prefix(1);
      } else {
        ++next;
      }
      if (!inside.empty() && inside.front() == ':') inside.remove_prefix(1);
      if (index < count) append(text, arguments[index], inside);
    } else {
      text += c;
    }
  }
  return text;
}

}  // namespace fmt
