#include "runtime/device/soc_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "fatctx/base/nearest.h"
#include "runtime/device/arch.h"
#include "runtime/device/csv.h"

namespace fatctx::runtime {
namespace {

constexpr std::string_view kTableSchema = "#fatctx.soc_table/1";
constexpr std::string_view kNumber =
    "allowed is a decimal number from 1 to 4294967295; leave the cell empty if it is not known";

// A text that names the fault of a cell and the allowed values; empty if the cell is valid.
using CellFault = std::string;

std::optional<std::uint32_t> decimal(std::string_view text) {
  std::uint32_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc{} || end != text.data() + text.size() || number == 0) return std::nullopt;
  return number;
}

CellFault read_number(std::string_view cell, std::optional<std::uint32_t>& number) {
  if (cell.empty()) return {};
  number = decimal(cell);
  return number ? CellFault() : CellFault(kNumber);
}

CellFault read_vtcm(std::string_view cell, Soc& soc) {
  constexpr std::uint32_t kMostMb = 1024;
  if (CellFault fault = read_number(cell, soc.vtcm_mb); !fault.empty()) return fault;
  if (soc.vtcm_mb <= kMostMb) return {};
  return fmt::format("allowed are 1 to {} MB; leave the cell empty if it is not known", kMostMb);
}

CellFault read_numbers(std::string_view cell, std::vector<std::uint32_t>& numbers) {
  for (const std::string& word : semicolon_words(cell)) {
    const auto number = decimal(word);
    if (!number) return "allowed are decimal numbers with \";\" between them, such as 618;639";
    numbers.push_back(*number);
  }
  return {};
}

CellFault read_variants(std::string_view cell, std::vector<SocVariant>& variants) {
  for (const std::string& word : semicolon_words(cell)) {
    const auto equals = std::min(word.find('='), word.size());
    const auto number = decimal(std::string_view(word).substr(0, equals));
    if (!number || equals + 1 >= word.size()) return "allowed are number=name pairs, such as 639=SM8750P";
    variants.push_back({*number, word.substr(equals + 1)});
  }
  return {};
}

CellFault read_part(std::string_view cell, Soc& soc) {
  soc.part = cell;
  const bool taken = cell.empty() || cell.find_first_of(" ;:\t") != std::string_view::npos ||
                     hexagon_number(cell).has_value() || decimal(cell).has_value();
  return taken ? CellFault(
                     "allowed is a part name such as SM8750: no blanks, no \";\" and \":\", no bare number, no arch")
               : CellFault();
}

CellFault read_vendor(std::string_view cell, Soc& soc) {
  soc.vendor = cell;
  return cell.empty() ? CellFault("name the vendor, such as Qualcomm") : CellFault();
}

std::vector<std::string> blank_words(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    const auto end = std::min(list.find(' '), list.size());
    if (end > 0) words.emplace_back(list.substr(0, end));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return words;
}

struct Column {
  std::string_view name;
  CellFault (*read)(std::string_view cell, Soc& soc);
};
template <std::string Soc::*Member>
CellFault keep(std::string_view cell, Soc& soc) {
  soc.*Member = cell;
  return {};
}
constexpr std::array kColumns = {
    Column{"vendor", read_vendor},
    Column{"name", keep<&Soc::name>},
    Column{"part", read_part},
    Column{"alias_of", keep<&Soc::alias_of>},
    Column{"aliases", [](std::string_view cell, Soc& soc) { return soc.aliases = semicolon_words(cell), CellFault(); }},
    Column{"qnn_soc", [](std::string_view cell, Soc& soc) { return read_number(cell, soc.qnn_soc); }},
    Column{"kernel_ids", [](std::string_view cell, Soc& soc) { return read_numbers(cell, soc.kernel_ids); }},
    Column{"kernel_lookup", [](std::string_view cell, Soc& soc) { return read_numbers(cell, soc.kernel_lookup); }},
    Column{"kernel_variants", [](std::string_view cell, Soc& soc) { return read_variants(cell, soc.kernel_variants); }},
    Column{"arch", keep<&Soc::arch>},
    Column{"vtcm_mb", read_vtcm},
    Column{"runtime", keep<&Soc::runtime>},
    Column{"windows_gpu", keep<&Soc::windows_gpu>},
    Column{"sources", [](std::string_view cell, Soc& soc) { return soc.sources = blank_words(cell), CellFault(); }},
    Column{"notes", keep<&Soc::notes>},
};
constexpr std::array<std::string_view, 2> kNeeded = {"vendor", "part"};

std::vector<std::string> column_names() {
  std::vector<std::string> names;
  names.reserve(kColumns.size());
  for (const Column& column : kColumns) names.emplace_back(column.name);
  return names;
}

class Reader {
 public:
  explicit Reader(std::string_view name) : name_(name) {}

  Result<SocRows> read(std::string_view text) {
    FATCTX_ASSIGN(const std::vector<CsvRow> rows, read_csv(text, name_));
    if (rows.empty() || rows.front().cells.front() != kTableSchema) {
      return Error{
          ErrorCode::kInvalidArgument,
          fmt::format("{}:1: found {}; a table of SoCs begins with the line {}", name_,
                      rows.empty() ? "nothing" : fmt::format("\"{}\"", rows.front().cells.front()), kTableSchema)};
    }
    for (const CsvRow& row : std::span(rows).subspan(1)) {
      place_ = fmt::format("{}:{}", name_, row.line);
      if (row.cells.front().starts_with('#')) {
        FATCTX_TRY(take_directive(row));
      } else if (columns_.empty()) {
        FATCTX_TRY(take_titles(row));
      } else {
        FATCTX_TRY(take_row(row));
      }
    }
    place_ = std::string(name_);
    if (result_.version.empty()) return fault("#version", "nothing", "give the table one, such as #version,2026.11");
    if (columns_.empty()) return fault("part", "no line of column titles", allowed_columns());
    return std::move(result_);
  }

 private:
  Error fault(std::string_view column, std::string_view found, std::string_view remedy) const {
    return bad_soc_cell(place_, column, found, remedy);
  }

  static std::string allowed_columns() { return fmt::format("allowed are {}", fmt::join(column_names(), ", ")); }

  Status take_directive(const CsvRow& row) {
    const std::string& word = row.cells.front();
    if (word == "#" || word.starts_with("# ")) return Done{};
    if (word == "#version" && row.cells.size() == 2 && !row.cells[1].empty()) {
      result_.version = row.cells[1];
    } else if (word == "#extends" && row.cells.size() == 2 && row.cells[1] == "built-in") {
      result_.extends_built_in = true;
    } else if (word == "#source" && row.cells.size() == 3 && !row.cells[1].empty()) {
      const std::string& tag = row.cells[1];
      if (std::any_of(result_.sources.begin(), result_.sources.end(),
                      [&](const SocSource& s) { return s.tag == tag; })) {
        return fault(word, fmt::format("{} a second time", tag), "say once what it means");
      }
      result_.sources.push_back({tag, row.cells[2]});
    } else if (word == "#boundary" && row.cells.size() == 2) {
      const auto arch = hexagon_number(row.cells[1]);
      if (!arch) return fault(word, fmt::format("\"{}\"", row.cells[1]), "allowed is a Hexagon arch such as v73");
      const auto place = std::lower_bound(result_.boundaries.begin(), result_.boundaries.end(), *arch);
      if (place == result_.boundaries.end() || *place != *arch) result_.boundaries.insert(place, *arch);
    } else if (word == "#quirk" && row.cells.size() == 5 && !row.cells[4].empty()) {
      result_.quirks.push_back(
          {{.record = row.cells[1], .device = row.cells[2], .source = row.cells[3], .reason = row.cells[4]}, place_});
    } else {
      return fault(word, fmt::format("\"{}\"", fmt::join(row.cells, ",")),
                   "allowed are #version,WORD and #extends,built-in and #source,TAG,MEANING and #boundary,ARCH and "
                   "#quirk,RECORD,DEVICE,TAG,REASON, and \"# \" in front of a remark");
    }
    return Done{};
  }

  Status take_titles(const CsvRow& row) {
    for (const std::string& title : row.cells) {
      const auto column =
          std::find_if(kColumns.begin(), kColumns.end(), [&](const Column& c) { return c.name == title; });
      if (column == kColumns.end()) {
        const auto near = nearest(title, column_names());
        return fault(title, "an unknown column",
                     near ? fmt::format("did you mean {}? {}", *near, allowed_columns()) : allowed_columns());
      }
      if (std::find(columns_.begin(), columns_.end(), &*column) != columns_.end()) {
        return fault(title, "the column a second time", "give every column once");
      }
      columns_.push_back(&*column);
    }
    for (const std::string_view needed : kNeeded) {
      if (std::find(row.cells.begin(), row.cells.end(), needed) == row.cells.end()) {
        return fault(needed, "no such column", "every table has it");
      }
    }
    return Done{};
  }

  Status take_row(const CsvRow& row) {
    if (row.cells.size() != columns_.size()) {
      return fault(
          columns_[std::min(row.cells.size(), columns_.size()) - 1]->name, fmt::format("{} cells", row.cells.size()),
          fmt::format("the titles name {} columns; put a cell with a comma in it into quotes", columns_.size()));
    }
    SocRow made{.soc = {}, .place = place_};
    for (std::size_t at = 0; at < columns_.size(); ++at) {
      const std::string& cell = row.cells[at];
      if (const CellFault wrong = columns_[at]->read(cell, made.soc); !wrong.empty()) {
        return fault(columns_[at]->name, cell.empty() ? "nothing" : fmt::format("\"{}\"", cell), wrong);
      }
    }
    result_.rows.push_back(std::move(made));
    return Done{};
  }

  std::string_view name_;
  std::string place_;
  std::vector<const Column*> columns_;
  SocRows result_;
};

}  // namespace

Error bad_soc_cell(std::string_view place, std::string_view column, std::string_view found, std::string_view remedy) {
  return {ErrorCode::kInvalidArgument, fmt::format("{}: column {}: found {}; {}", place, column, found, remedy)};
}

std::vector<std::string> semicolon_words(std::string_view list) {
  std::vector<std::string> words;
  while (!list.empty()) {
    std::string_view word = list.substr(0, std::min(list.find(';'), list.size()));
    list.remove_prefix(std::min(word.size() + 1, list.size()));
    word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
    if (!word.empty()) words.emplace_back(word.substr(0, word.find_last_not_of(' ') + 1));
  }
  return words;
}

std::string part_key(std::string_view name) {
  constexpr std::string_view kAround = " \t\r\n\0";
  constexpr std::string_view around(kAround.data(), 5);
  const auto first = name.find_first_not_of(around);
  if (first == std::string_view::npos) return {};
  std::string key(name.substr(first, name.find_last_not_of(around) - first + 1));
  std::transform(key.begin(), key.end(), key.begin(),
                 [](char sign) { return sign >= 'a' && sign <= 'z' ? static_cast<char>(sign - 'a' + 'A') : sign; });
  return key;
}

Result<SocRows> read_soc_rows(std::string_view text, std::string_view name) { return Reader(name).read(text); }

}  // namespace fatctx::runtime
