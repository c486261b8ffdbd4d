#include "tools/compile/shape_sets.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fatctx::tools {

namespace {

constexpr std::int64_t kMaxSize = std::int64_t{1} << 31;

Error wrong_text(const std::string& text, const std::string& why) {
  return invalid_argument(fmt::format(
      "--shape {}: {}; write NAME=SIZE,SIZE for each input, with blanks between several: --shape 'x=1,3,320,320 y=1,5'",
      text, why));
}

std::string joined(const std::vector<std::int64_t>& sizes, std::string_view between) {
  return fmt::format("{}", fmt::join(sizes, between));
}

// Returns the shapes of a set in the model's order of inputs, so that the order of words does not count.
InputShapes in_order_of(const DescribedGraph& graph, const InputShapes& shapes) {
  InputShapes ordered;
  for (const DescribedTensor& input : graph.inputs) {
    const auto found =
        std::find_if(shapes.begin(), shapes.end(), [&](const InputShape& shape) { return shape.name == input.name; });
    if (found != shapes.end()) ordered.push_back(*found);
  }
  return ordered;
}

std::string unit_name(const InputShapes& shapes, bool equal_ones_once) {
  std::vector<std::string> parts;
  for (const InputShape& shape : shapes) {
    std::string part = joined(shape.sizes, "x");
    if (equal_ones_once && std::find(parts.begin(), parts.end(), part) != parts.end()) continue;
    parts.push_back(std::move(part));
  }
  return fmt::format("{}", fmt::join(parts, "_"));
}

void name_units(std::vector<ShapeSet>& sets) {
  for (const bool equal_ones_once : {true, false}) {
    std::set<std::string> names;
    for (ShapeSet& set : sets) names.insert(set.unit = unit_name(set.shapes, equal_ones_once));
    if (names.size() == sets.size()) return;
  }
}

}  // namespace

Result<InputShapes> parse_shapes(const std::string& text) {
  InputShapes shapes;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    const std::size_t equals = word.rfind('=');
    if (equals == std::string::npos || equals == 0) {
      return wrong_text(text, fmt::format("\"{}\" has no name and \"=\" in front of its sizes", word));
    }
    InputShape shape{.name = word.substr(0, equals), .sizes = {}};
    std::string_view rest = std::string_view(word).substr(equals + 1);
    for (bool more = true; more;) {
      const std::string_view digits = rest.substr(0, rest.find(','));
      more = digits.size() < rest.size();
      rest.remove_prefix(std::min(digits.size() + 1, rest.size()));
      std::int64_t size = 0;
      const auto [end, problem] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
      if (problem != std::errc() || end != digits.data() + digits.size() || size < 1 || size > kMaxSize) {
        return wrong_text(text, fmt::format("\"{}\" is not a size, a whole number from 1", digits));
      }
      shape.sizes.push_back(size);
    }
    for (const InputShape& other : shapes) {
      if (other.name != shape.name) continue;
      return wrong_text(text, fmt::format("{} appears twice; each --shape is a set of its own", shape.name));
    }
    shapes.push_back(std::move(shape));
  }
  if (shapes.empty()) return wrong_text(text, "there is no shape");
  return shapes;
}

Result<std::vector<ShapeSet>> shape_sets(const std::vector<InputShapes>& wanted, const DescribedGraph& graph) {
  std::vector<ShapeSet> sets;
  for (const InputShapes& shapes : wanted) {
    const auto fits = check_input_shapes(graph, shapes);
    if (!fits.ok()) return in_context(fits.error(), "--shape");
    ShapeSet set{.shapes = in_order_of(graph, shapes), .unit = {}};
    for (const ShapeSet& other : sets) {
      if (other.shapes == set.shapes) {
        return invalid_argument(fmt::format("--shape {}: this set appears twice", shapes_text(shapes)));
      }
    }
    sets.push_back(std::move(set));
  }
  for (const ShapeSet& set : sets) {
    const auto same_input = [](const InputShape& a, const InputShape& b) { return a.name == b.name; };
    const InputShapes& first = sets.front().shapes;
    if (std::equal(first.begin(), first.end(), set.shapes.begin(), set.shapes.end(), same_input)) continue;
    return invalid_argument(
        fmt::format("--shape {} and --shape {} are two sets, and name other inputs; for one set write --shape '{} {}'",
                    shapes_text(first), shapes_text(set.shapes), shapes_text(first), shapes_text(set.shapes)));
  }
  if (sets.size() > 1) name_units(sets);
  return sets;
}

std::string shapes_text(const InputShapes& shapes) {
  std::vector<std::string> words;
  for (const InputShape& shape : shapes) words.push_back(fmt::format("{}={}", shape.name, joined(shape.sizes, ",")));
  return fmt::format("{}", fmt::join(words, " "));
}

std::string shape_flag_for(const DescribedGraph& graph) {
  std::vector<std::string> words;
  char letter = 'A';
  for (const DescribedTensor& input : graph.inputs) {
    if (std::none_of(input.shape.begin(), input.shape.end(), [](std::int64_t size) { return size < 0; })) continue;
    std::vector<std::string> sizes;
    for (const std::int64_t size : input.shape) {
      sizes.push_back(size < 0 ? std::string(1, letter) : std::to_string(size));
      if (size < 0 && letter != 'Z') ++letter;
    }
    words.push_back(fmt::format("{}={}", input.name, fmt::join(sizes, ",")));
  }
  if (words.empty()) return {};
  const std::string text = fmt::format("{}", fmt::join(words, " "));
  return words.size() == 1 ? "--shape " + text : "--shape '" + text + "'";
}

}  // namespace fatctx::tools
