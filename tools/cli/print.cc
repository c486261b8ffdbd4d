#include "tools/cli/print.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdio>
#include <optional>
#include <utility>

#include <fmt/format.h>

namespace fatctx::tools {

namespace {

struct Decoded {
  char32_t code_point = 0;
  std::size_t size = 0;  // bytes taken
};

// Decodes one well-formed UTF-8 character at the front of `text`. Returns nothing if there is none.
std::optional<Decoded> decode_front(std::string_view text) {
  const auto byte = [&](std::size_t index) { return static_cast<unsigned char>(text[index]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return Decoded{first, 1};
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < size) return std::nullopt;
  char32_t code_point = first & (0xFFU >> (size + 1));
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80U) return std::nullopt;
    code_point = (code_point << 6U) | (byte(i) & 0x3FU);
  }
  constexpr std::array<char32_t, 5> kSmallestOfSize = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code_point >= 0xD800 && code_point <= 0xDFFF;
  if (code_point < kSmallestOfSize[size] || code_point > 0x10FFFF || surrogate) return std::nullopt;
  return Decoded{code_point, size};
}

bool harmful(char32_t c) {
  return c < 0x20 || (c >= 0x7F && c < 0xA0)             // C0, delete, C1
         || c == 0x00AD || c == 0x061C                   // soft hyphen, Arabic letter mark
         || (c >= 0x200B && c <= 0x200F)                 // zero-width characters and direction marks
         || (c >= 0x2028 && c <= 0x202E)                 // line and paragraph separator, embeddings and overrides
         || (c >= 0x2060 && c <= 0x206F)                 // invisible operators, isolates
         || c == 0xFEFF || (c >= 0xFFF9 && c <= 0xFFFB)  // byte order mark, annotation anchors
         || (c >= 0xE0000 && c <= 0xE007F);              // tag characters
}

std::string escape(std::string_view text, bool keep_line_feeds) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto decoded = decode_front(text);
    if (!decoded) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
      text.remove_prefix(1);
      continue;
    }
    const char32_t c = decoded->code_point;
    if (c == U'\n' && keep_line_feeds) {
      out += '\n';
    } else if (!harmful(c)) {
      out += text.substr(0, decoded->size);
    } else if (c < 0x80) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(c));
    } else if (c < 0x10000) {
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += fmt::format("\\U{:08x}", static_cast<unsigned>(c));
    }
    text.remove_prefix(decoded->size);
  }
  return out;
}

// Returns the columns of a cell, one per character: near enough for the names that people use.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

std::string escaped(std::string_view text) { return escape(text, false); }
std::string escaped_lines(std::string_view text) { return escape(text, true); }

std::string grouped(std::uint64_t number) {
  std::string digits = fmt::format("{}", number);
  for (std::size_t at = digits.size(); at > 3;) {
    at -= 3;
    digits.insert(at, ",");
  }
  return digits;
}

std::string short_size_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return count_text(bytes, "byte");
  double value = static_cast<double>(bytes) / 1024.0;
  std::size_t unit = 0;
  // 1023.95 would print as "1024.0".
  while (value >= 1023.95 && unit + 1 < kUnits.size()) {
    value /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1024) return short_size_text(bytes);
  return fmt::format("{} ({} bytes)", short_size_text(bytes), grouped(bytes));
}

std::string offset_text(std::uint64_t offset) { return fmt::format("{:#x}", offset); }

std::string count_text(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

void Table::add_row(std::vector<std::string> cells) {
  assert(cells.size() == columns_.size());
  for (std::string& cell : cells) cell = escaped(cell);
  rows_.push_back(std::move(cells));
}

std::string Table::text(std::string_view indent) const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(width(column.title));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string out;
  const auto add_line = [&](const auto& cell_of) {
    std::string line(indent);
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i != 0) line += "  ";
      const std::string& cell = cell_of(i);
      const std::string padding(widths[i] - width(cell), ' ');
      line += columns_[i].align == Align::kRight ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  };
  add_line([&](std::size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& row : rows_) add_line([&](std::size_t i) -> const std::string& { return row[i]; });
  return out;
}

void Block::add(std::string label, std::string_view value) { lines_.emplace_back(std::move(label), escaped(value)); }

std::string Block::text() const {
  std::size_t label_width = 0;
  for (const auto& [label, value] : lines_) label_width = std::max(label_width, width(label));
  std::string out;
  for (const auto& [label, value] : lines_) {
    out += fmt::format("{}:{}{}\n", label, std::string(label_width - width(label) + 2, ' '), value);
  }
  return out;
}

std::string json_text(const Json& json) { return write_json(json) + '\n'; }

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

void print_result(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

void print_note(std::string_view text) {
  const std::string line = fmt::format("{}\n", text);
  std::fwrite(line.data(), 1, line.size(), stderr);
}

bool flush_result() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

}  // namespace fatctx::tools
