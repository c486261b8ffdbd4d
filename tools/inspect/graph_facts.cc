#include "tools/inspect/graph_facts.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <iterator>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/cli/print.h"

namespace fatctx::tools {

namespace {

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
    {"startOpIndex", Kind::kFirst, "operators"},
    {"endOpIndex", Kind::kLast, "to"},
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
    if (words.kind == Kind::kLast && said("startOpIndex")) {
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

}  // namespace fatctx::tools
