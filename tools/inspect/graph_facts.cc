#include "tools/inspect/graph_facts.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/cli/print.h"
#include "tools/inspect/csv_text.h"

namespace fatctx::tools {

namespace {

constexpr const char* kOpsRemark =
    "Each graph has these operators of the converted model. A DLC states their range, not their names.";

constexpr std::string_view kFirstOp = "startOpIndex";
constexpr std::string_view kLastOp = "endOpIndex";
constexpr std::string_view kQnnCompiler = "qnn";  // the owner of facts that its metadata states

enum class Kind { kLevel, kSwitch, kThreads, kCores, kMegabytes, kFirst, kLast, kBytes };

struct FactWords {
  std::string_view key;
  Kind kind;
  std::string_view words;
};

// The numbers that a QNN compiler states about a graph, in the order of the answer.
constexpr FactWords kWords[] = {
    {"optimizationLevel", Kind::kLevel, "optimisation level"},
    {"numHvxThreads", Kind::kThreads, "HVX thread"},
    {"numCores", Kind::kCores, "core"},
    {"htpDlbc", Kind::kSwitch, "DLBC"},
    {"vtcmSize", Kind::kMegabytes, "VTCM"},
    {kFirstOp, Kind::kFirst, "operators"},
    {kLastOp, Kind::kLast, "to"},
    {"ioTensorSize", Kind::kBytes, "inputs and outputs"},
    {"opDataSize", Kind::kBytes, "operator data"},
    {"constSize", Kind::kBytes, "constants"},
    {"ddrTensorSize", Kind::kBytes, "DDR tensors"},
    {"sharedWeightsSize", Kind::kBytes, "shared weights"},
};

std::optional<std::uint64_t> number_in_text(const std::string& text) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number);
  return error == std::errc() && stop == end ? std::optional(number) : std::nullopt;
}

std::string in_words(const FactWords& fact, std::uint64_t number) {
  switch (fact.kind) {
    case Kind::kThreads:
    case Kind::kCores:
      return count_text(number, fact.words);
    case Kind::kSwitch:
      return fmt::format("{} {}", fact.words, number == 0 ? "off" : "on");
    case Kind::kMegabytes:
      return fmt::format("{} MB of {}", number, fact.words);
    case Kind::kBytes:
      return fmt::format("{} {}", fact.words, short_size_text(number));
    case Kind::kLevel:
    case Kind::kFirst:
    case Kind::kLast:
      break;
  }
  return fmt::format("{} {}", fact.words, number);
}

// Returns the parts behind `head`, and behind as many blanks in further lines.
std::string lines_behind(std::string_view head, const std::vector<std::string>& parts, std::size_t width) {
  if (parts.empty()) return {};
  const std::string text = escaped(fmt::format("{}", fmt::join(parts, ", ")));
  const std::vector<std::string> lines =
      width > head.size() ? broken_lines(text, width - head.size()) : std::vector{text};
  std::string out;
  for (const std::string& line : lines) {
    out += (out.empty() ? std::string(head) : std::string(head.size(), ' ')) + line + '\n';
  }
  return out;
}

std::string labelled_lines(std::string_view label, const std::vector<std::string>& parts, std::size_t width) {
  return lines_behind(fmt::format("    {:<10}  ", label), parts, width);
}

std::string csv_number(const std::optional<std::uint64_t>& number) {
  return number ? fmt::format("{}", *number) : std::string();
}

}  // namespace

std::string graph_facts_text(const std::vector<DescribedOption>& facts, std::size_t width) {
  std::vector<std::string> compiled;
  std::vector<std::string> memory;
  std::vector<std::string> others;
  const auto said = [&](std::string_view key) {
    const auto found = std::find_if(facts.begin(), facts.end(), [&](const auto& fact) { return fact.key == key; });
    return found == facts.end() ? std::nullopt : number_in_text(found->value);
  };
  for (const FactWords& words : kWords) {
    const std::optional<std::uint64_t> number = said(words.key);
    if (!number) continue;
    if (words.kind == Kind::kLast && said(kFirstOp)) {
      compiled.back() += " " + in_words(words, *number);
    } else if (words.kind == Kind::kLast) {
      compiled.push_back("operators " + in_words(words, *number));
    } else {
      (words.kind == Kind::kBytes ? memory : compiled).push_back(in_words(words, *number));
    }
  }
  for (const DescribedOption& fact : facts) {
    const auto* const known = std::find_if(std::begin(kWords), std::end(kWords),
                                           [&](const FactWords& words) { return words.key == fact.key; });
    if (known == std::end(kWords) || !number_in_text(fact.value)) others.push_back(fact.key + " " + fact.value);
  }
  return labelled_lines("compiled", compiled, width) + labelled_lines("memory", memory, width) +
         labelled_lines("facts", others, width);
}

std::string said_facts_text(const std::vector<DescribedOption>& facts, std::size_t width) {
  constexpr std::size_t kLongestLabel = 32;  // columns
  Block block;
  for (const DescribedOption& fact : facts) {
    const std::string label = escaped(fact.key);
    block.add(width == 0 ? label : shortened(label, kLongestLabel), fact.value);
  }
  return block.text(width);
}

std::string producer_text(const std::string& producer, const std::vector<DescribedOption>& facts, std::size_t width) {
  std::vector<std::string> parts;
  if (!producer.empty()) parts.push_back(producer);
  for (const DescribedOption& fact : facts) {
    if (fact.owner == kQnnCompiler) parts.push_back(fact.key + " " + fact.value);
  }
  return lines_behind("  made by  ", parts, width);
}

std::optional<OpRange> op_range(std::string binary, const DescribedGraph& graph) {
  OpRange range{.binary = std::move(binary), .record = {}, .graph = graph.name, .first = {}, .last = {}};
  for (const DescribedOption& fact : graph.options) {
    if (fact.key == kFirstOp) range.first = number_in_text(fact.value);
    if (fact.key == kLastOp) range.last = number_in_text(fact.value);
  }
  return range.first || range.last ? std::optional(std::move(range)) : std::nullopt;
}

std::string op_ranges_text(const std::vector<OpRange>& ranges, std::size_t width) {
  std::string out;
  for (const std::string& line : broken_lines(kOpsRemark, width == 0 ? std::string::npos : width)) out += line + "\n";
  Table table({{"context binary"}, {"graph"}, {"first", Table::Align::kRight}, {"last", Table::Align::kRight}});
  const auto cell = [](const std::optional<std::uint64_t>& number) {
    return number ? grouped(*number) : std::string();
  };
  for (const OpRange& range : ranges) {
    table.add_row({range.binary, range.graph, cell(range.first), cell(range.last)});
  }
  return out + "\n" + table.text("", width);
}

std::string op_ranges_csv(const std::vector<OpRange>& ranges, const std::string& binaries) {
  CsvText csv({binaries, "graph", "first", "last"});
  for (const OpRange& range : ranges) {
    csv.add_row({range.binary, range.graph, csv_number(range.first), csv_number(range.last)});
  }
  return csv.text();
}

Json op_ranges_json(const std::vector<OpRange>& ranges) {
  Json list = Json::array();
  for (const OpRange& range : ranges) {
    Json row = Json::object();
    if (range.record) {
      row.add("record", *range.record);
    } else {
      row.add("entry", range.binary);
    }
    row.add("graph", range.graph);
    row.add("first", range.first);
    row.add("last", range.last);
    list.push_back(std::move(row));
  }
  return list;
}

}  // namespace fatctx::tools
