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
  [[nodiscard]] std::string text(std::string_view indent = "") const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

// A list of "label:   value" lines with aligned values. It escapes values.
class Block {
 public:
  void add(std::string label, std::string_view value);
  [[nodiscard]] std::string text() const;

 private:
  std::vector<std::pair<std::string, std::string>> lines_;
};

// Returns indented, pure ASCII JSON (so that no name can harm a terminal), with a final line feed.
[[nodiscard]] std::string json_text(const Json& json);
// Returns null for a text that is empty because the fact is not known.
[[nodiscard]] Json text_or_null(const std::string& text);

// The result goes to stdout, messages to stderr. Neither escapes: the text must already be harmless.
void print_result(std::string_view text);
void print_note(std::string_view text);  // adds the line feed

// Flushes stdout. Returns false if anything written there was lost (a full disk behind a redirection).
[[nodiscard]] bool flush_result();

}  // namespace fatctx::tools
