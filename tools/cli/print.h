// Prints the output of the command. No other place makes foreign text harmless.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace fatctx::tools {

// Returns `text` with each character escaped that could move the cursor, reorder the line or hide. These are
// control characters, bidirectional marks, line separators, invisible marks and bytes that are not UTF-8:
// "\x1b", "\u202e".
[[nodiscard]] std::string escaped(std::string_view text);
// Does the same, but keeps line feeds.
[[nodiscard]] std::string escaped_lines(std::string_view text);

[[nodiscard]] std::string grouped(std::uint64_t number);                           // "22,888,448"
[[nodiscard]] std::string size_text(std::uint64_t bytes);                          // "21.8 MiB (22,888,448 bytes)"
[[nodiscard]] std::string short_size_text(std::uint64_t bytes);                    // "21.8 MiB"
[[nodiscard]] std::string offset_text(std::uint64_t offset);                       // "0x30000"
[[nodiscard]] std::string count_text(std::uint64_t count, std::string_view noun);  // "1 record", "2 records"

// The columns of a terminal for which text is made.
inline constexpr std::size_t kTerminalWidth = 80;

// Returns the text with "..." instead of its middle, if it has more than `columns` characters: the ends of machine
// names tell them apart. Requires: escaped text.
[[nodiscard]] std::string shortened(const std::string& text, std::size_t columns);
// Returns lines of at most `columns` characters, broken between words. A longer word has a line of its own.
[[nodiscard]] std::vector<std::string> broken_lines(const std::string& text, std::size_t columns);

// Returns the columns of the terminal that reads the result; 0 if none does, or its width is not known.
[[nodiscard]] std::size_t result_columns() noexcept;
[[nodiscard]] std::size_t note_columns() noexcept;  // the same for messages
// Breaks lines of more than `columns` columns (0: no limit) at blanks. It indents the rest of a line, for
// "label:  value" as far as the value.
[[nodiscard]] std::string fitted(std::string_view text, std::size_t columns);

// When the result has colours: on a terminal, unless the variable NO_COLOR forbids it; always; never.
enum class Color { kAuto, kAlways, kNever };
// Decides for the whole run of the command. Call it before the first result.
void use_color(Color when) noexcept;
[[nodiscard]] bool result_has_color() noexcept;
// Returns the words of a verdict in green or red, if the result has colours.
[[nodiscard]] std::string good(std::string_view words);
[[nodiscard]] std::string bad(std::string_view words);
// Does it for the first of these words behind `from`, if there are any.
[[nodiscard]] std::string with_good(std::string text, std::string_view words, std::size_t from = 0);
[[nodiscard]] std::string with_bad(std::string text, std::string_view words, std::size_t from = 0);

// A table of plain text in aligned columns, two blanks apart. It escapes cells; callers pass raw names.
class Table {
 public:
  enum class Align { kLeft, kRight };
  struct Column {
    std::string title;
    Align align = Align::kLeft;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // Requires: as many cells as columns.
  void add_row(std::vector<std::string> cells);
  // Returns lines of at most `max_width` columns, if that is not 0. It first breaks the last column between words, down
  // to a quarter of the width, then shortens the widest other columns in the middle, down to a few characters.
  [[nodiscard]] std::string text(std::string_view indent = "", std::size_t max_width = result_columns()) const;

 private:
  [[nodiscard]] std::vector<std::size_t> widths() const;
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// A list of "label:   value" lines with aligned values. It escapes values.
class Block {
 public:
  void add(std::string label, std::string_view value);
  // Returns lines of at most `max_width` columns, if that is not 0; breaks values between words.
  [[nodiscard]] std::string text(std::size_t max_width = 0) const;

 private:
  std::vector<std::pair<std::string, std::string>> lines_;
};

// Returns indented, pure ASCII JSON (so that no name can harm a terminal), with a final line feed.
[[nodiscard]] std::string json_text(const Json& json);
// Returns null for a text that is empty because the fact is not known.
[[nodiscard]] Json text_or_null(const std::string& text);

// The result goes to stdout, messages to stderr. Neither escapes: the text must already be harmless. Both fit text for
// people to the width of a terminal; JSON stays as it is.
void print_result(std::string_view text);
void print_note(std::string_view text);  // adds the line feed
// Writes a result that no terminal changes: bytes of a record, CSV, wide tables, scripts.
void print_as_it_is(std::string_view bytes);

// Flushes stdout. Returns false if anything written there was lost (a full disk behind a redirection).
[[nodiscard]] bool flush_result();

}  // namespace fatctx::tools
