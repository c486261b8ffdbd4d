#include "tools/cli/print.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tools/cli/progress.h"

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

constexpr std::string_view kGreen = "\x1b[32m";
constexpr std::string_view kRed = "\x1b[31m";
constexpr std::string_view kPlain = "\x1b[0m";

// Returns the columns of a cell, one per character: near enough for the names that people use. Colours take none.
std::size_t width(std::string_view text) {
  std::size_t columns = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text.substr(i).starts_with("\x1b[")) {
      i = std::min(text.find('m', i), text.size());
    } else if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U) {
      ++columns;
    }
  }
  return columns;
}

Color& chosen_color() noexcept {
  static Color when = Color::kAuto;
  return when;
}

std::string in_color(std::string_view words, std::string_view color) {
  return result_has_color() ? fmt::format("{}{}{}", color, words, kPlain) : std::string(words);
}

// Returns where the rest of a broken line begins: under the value of "label:  value", otherwise a step to the right.
std::size_t hanging_indent(std::string_view line, std::size_t columns) {
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t gap = line.find("  ", begin);
  const std::size_t value = gap == std::string_view::npos ? gap : line.find_first_not_of(' ', gap);
  return value < columns / 2 ? value : std::min(begin + 2, columns / 2);
}

// Returns the blank to break `line` at: the last one that leaves the front within `columns`, or else the first one
// behind `behind`. npos if there is none.
std::size_t place_to_break(std::string_view line, std::size_t behind, std::size_t columns) {
  std::size_t found = std::string_view::npos;
  for (std::size_t at = line.find(' ', behind + 1); at != std::string_view::npos; at = line.find(' ', at + 1)) {
    const bool fits = width(line.substr(0, at)) <= columns;
    if (fits || found == std::string_view::npos) found = at;
    if (!fits) break;
  }
  return found;
}

void add_fitted_line(std::string_view line, std::size_t columns, std::string& out) {
  if (line.starts_with("  fatctx ")) columns = std::string_view::npos;  // an example of the help, to be copied whole
  const std::size_t hanging = hanging_indent(line, columns);
  std::size_t margin = 0;
  std::size_t behind = hanging;
  while (margin + width(line) > columns) {
    const std::size_t at = place_to_break(line, behind, columns - margin);
    const std::size_t rest = at == std::string_view::npos ? at : line.find_first_not_of(' ', at);
    if (rest == std::string_view::npos) break;
    out.append(margin, ' ');
    out += line.substr(0, line.find_last_not_of(' ', at) + 1);
    out += '\n';
    line.remove_prefix(rest);
    margin = hanging;
    behind = 0;
  }
  out.append(margin, ' ');
  out += line;
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

std::string shortened(const std::string& text, std::size_t columns) {
  constexpr std::string_view kGap = "...";
  const std::size_t all = width(text);
  if (all <= columns || columns <= kGap.size()) return text;
  const std::size_t kept = columns - kGap.size();
  const std::size_t at_end = kept / 2;
  std::string result;
  std::size_t seen = 0;  // characters so far
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool begins = (static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U;
    if (begins && seen == kept - at_end) result += kGap;
    if (begins) ++seen;
    if (seen <= kept - at_end || seen > all - at_end) result += text[i];
  }
  return result;
}

std::vector<std::string> broken_lines(const std::string& text, std::size_t columns) {
  std::vector<std::string> lines(1);
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    if (!lines.back().empty() && width(lines.back()) + 1 + width(word) > columns) lines.emplace_back();
    if (!lines.back().empty()) lines.back() += ' ';
    lines.back() += word;
    begin = end + 1;
  }
  return lines;
}

std::vector<std::size_t> Table::widths() const {
  std::vector<std::size_t> widths;
  for (const Column& column : columns_) widths.push_back(width(column.title));
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  return widths;
}

namespace {

constexpr std::size_t kGap = 2;              // blanks between columns
constexpr std::size_t kLeastShortened = 14;  // of a column: types of records stay whole

// Narrows columns until a line has at most `max_width` characters, or until none may get narrower. A column of numbers
// does not.
void narrow_columns(std::vector<std::size_t>& widths, const std::vector<Table::Column>& columns,
                    std::size_t max_width) {
  std::size_t all = kGap * (widths.size() - 1);
  for (const std::size_t one : widths) all += one;
  std::size_t& last = widths.back();
  const std::size_t least = std::max(width(columns.back().title), max_width / 4);
  if (all > max_width && last > least) {
    const std::size_t less = std::min(last - least, all - max_width);
    last -= less;
    all -= less;
  }
  while (all > max_width) {
    std::size_t widest = widths.size();
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
      const bool may =
          columns[i].align == Table::Align::kLeft && widths[i] > std::max(kLeastShortened, width(columns[i].title));
      if (may && (widest == widths.size() || widths[i] > widths[widest])) widest = i;
    }
    if (widest == widths.size()) return;
    --widths[widest];
    --all;
  }
}

}  // namespace

std::string Table::text(std::string_view indent, std::size_t max_width) const {
  std::vector<std::size_t> widths = this->widths();
  if (max_width != 0) narrow_columns(widths, columns_, max_width - std::min(max_width, indent.size()));
  std::string out;
  const auto add_line = [&](const auto& cell_of) {
    std::string line(indent);
    std::vector<std::string> more;  // lines of the last cell
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (i != 0) line += "  ";
      std::string cell = cell_of(i);
      if (i + 1 == columns_.size() && columns_[i].align == Align::kLeft && width(cell) > widths[i]) {
        more = broken_lines(cell, widths[i]);
        cell = more.front();
      }
      if (i + 1 != columns_.size()) cell = shortened(cell, widths[i]);
      const std::string padding(widths[i] - std::min(widths[i], width(cell)), ' ');
      line += columns_[i].align == Align::kRight ? padding + cell : cell + padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
    std::size_t before = indent.size();
    for (std::size_t i = 0; i + 1 < widths.size(); ++i) before += widths[i] + kGap;
    for (std::size_t i = 1; i < more.size(); ++i) out += std::string(before, ' ') + more[i] + '\n';
  };
  add_line([&](std::size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& row : rows_) add_line([&](std::size_t i) -> const std::string& { return row[i]; });
  return out;
}

void Block::add(std::string label, std::string_view value) { lines_.emplace_back(std::move(label), escaped(value)); }

std::string Block::text(std::size_t max_width) const {
  std::size_t label_width = 0;
  for (const auto& [label, value] : lines_) label_width = std::max(label_width, width(label));
  const std::size_t before = label_width + 2;
  std::string out;
  for (const auto& [label, value] : lines_) {
    const bool breaks = max_width > before && width(value) + before + 1 > max_width;
    const auto parts = breaks ? broken_lines(value, max_width - before - 1) : std::vector<std::string>{value};
    out += fmt::format("{}:{}{}\n", label, std::string(before - width(label), ' '), parts.front());
    for (std::size_t i = 1; i < parts.size(); ++i) out += std::string(before + 1, ' ') + parts[i] + '\n';
  }
  return out;
}

void use_color(Color when) noexcept { chosen_color() = when; }

bool result_has_color() noexcept {
  if (chosen_color() != Color::kAuto) return chosen_color() == Color::kAlways;
  const char* const plain = std::getenv("NO_COLOR");
  return stdout_is_terminal() && (plain == nullptr || *plain == '\0');
}

std::string with_good(std::string text, std::string_view words, std::size_t from) {
  const std::size_t at = text.find(words, from);
  return at == std::string::npos ? text : text.replace(at, words.size(), good(words));
}
std::string with_bad(std::string text, std::string_view words, std::size_t from) {
  const std::size_t at = text.find(words, from);
  return at == std::string::npos ? text : text.replace(at, words.size(), bad(words));
}

std::string good(std::string_view words) { return in_color(words, kGreen); }
std::string bad(std::string_view words) { return in_color(words, kRed); }

std::string json_text(const Json& json) { return write_json(json) + '\n'; }

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

std::string fitted(std::string_view text, std::size_t columns) {
  const bool is_json = text.starts_with('{') || text.starts_with('[');
  if (columns == 0 || is_json) return std::string(text);
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    add_fitted_line(text.substr(0, end), columns, out);
    if (end == text.size()) break;
    out += '\n';
    text.remove_prefix(end + 1);
  }
  return out;
}

void print_as_it_is(std::string_view bytes) { std::fwrite(bytes.data(), 1, bytes.size(), stdout); }
void print_result(std::string_view text) { print_as_it_is(fitted(text, result_columns())); }

void print_note(std::string_view text) {
  const std::string line = fitted(text, note_columns()) + '\n';
  std::fwrite(line.data(), 1, line.size(), stderr);
}

bool flush_result() { return std::fflush(stdout) == 0 && std::ferror(stdout) == 0; }

}  // namespace fatctx::tools
