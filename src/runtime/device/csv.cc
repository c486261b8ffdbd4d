#include "runtime/device/csv.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"

namespace fatctx::runtime {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string_view without_blanks(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

class CsvReader {
 public:
  CsvReader(std::string_view text, std::string_view name) : rest_(text), name_(name) {
    if (rest_.starts_with(kByteOrderMark)) rest_.remove_prefix(kByteOrderMark.size());
  }

  Result<std::vector<CsvRow>> read() {
    std::vector<CsvRow> rows;
    while (!rest_.empty()) {
      CsvRow row{.line = line_, .cells = {}};
      do {
        cell_ = row.cells.size() + 1;
        FATCTX_ASSIGN(std::string cell, read_cell());
        row.cells.push_back(std::move(cell));
      } while (take(','));
      if (!end_line() && !rest_.empty()) return fault("text behind a closing quote", "put the whole cell into quotes");
      if (row.cells.size() > 1 || !row.cells.front().empty()) rows.push_back(std::move(row));
    }
    return rows;
  }

 private:
  Error fault(std::string_view found, std::string_view remedy) const {
    return {ErrorCode::kInvalidArgument,
            fmt::format("{}:{}: cell {}: found {}; {}", name_, line_, cell_, found, remedy)};
  }

  bool take(char wanted) {
    if (!rest_.starts_with(wanted)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  bool end_line() {
    if (rest_.starts_with("\r\n")) rest_.remove_prefix(1);
    if (!take('\n')) return false;
    ++line_;
    return true;
  }

  Result<std::string> read_cell() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size()));
    if (rest_.starts_with('"')) return read_quoted();
    std::string_view plain = rest_.substr(0, std::min(rest_.find_first_of(",\n"), rest_.size()));
    if (plain.ends_with('\r')) plain.remove_suffix(1);
    plain = without_blanks(plain);
    rest_.remove_prefix(plain.size());
    FATCTX_TRY(check(plain));
    if (plain.find('"') != std::string_view::npos) {
      return fault("a quote within a cell", "put the whole cell into quotes, with each quote in it doubled");
    }
    skip_blanks();
    return std::string(plain);
  }

  Result<std::string> read_quoted() {
    std::string cell;
    rest_.remove_prefix(1);
    for (;;) {
      const auto quote = rest_.find('"');
      if (quote == std::string_view::npos) return fault("a quote that is not closed", "close it on the same line");
      FATCTX_TRY(check(rest_.substr(0, quote)));
      cell += rest_.substr(0, quote);
      rest_.remove_prefix(quote + 1);
      if (!take('"')) break;
      cell += '"';
    }
    skip_blanks();
    return cell;
  }

  void skip_blanks() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size())); }

  // Accepts only one line of text: cells are for people to read.
  Status check(std::string_view cell) const {
    for (std::size_t at = 0; at < cell.size();) {
      const auto point = decode_utf8(cell, at);
      if (!point) return fault("bytes that are not UTF-8", "save the file as UTF-8");
      if (point->value == '\n') return fault("a quote that is not closed", "close it on the same line");
      if (point->value < 0x20 || point->value == 0x7F) return fault("a control character", "remove it");
      at += point->size;
    }
    return Done{};
  }

  std::string_view rest_;
  std::string_view name_;
  std::uint32_t line_ = 1;
  std::size_t cell_ = 1;
};

}  // namespace

Result<std::vector<CsvRow>> read_csv(std::string_view text, std::string_view name) {
  return CsvReader(text, name).read();
}

}  // namespace fatctx::runtime
