#include "tools/facts/qnn_operators.h"

#include <algorithm>
#include <array>
#include <cassert>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/cli/print.h"
#include "tools/facts/qnn_operators_data.h"

namespace fatctx::tools {

namespace {

constexpr std::string_view kHeader = "operator,";

// Removes and returns the text before the next `separator`, or all of it.
std::string_view take_until(char separator, std::string_view& text) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return taken;
}

QnnOperator operator_of(std::string_view line) {
  QnnOperator row;
  row.name = take_until(',', line);
  row.since = take_until(',', line);
  row.backends = take_until(',', line);
  std::string_view pairs = take_until(',', line);
  while (!pairs.empty()) {
    std::string_view right = take_until(' ', pairs);
    const std::string_view left = take_until('*', right);
    row.types.emplace_back(left, right);
  }
  row.note = line;
  return row;
}

bool has_word(std::string_view words, std::string_view word) {
  while (!words.empty()) {
    if (take_until(' ', words) == word) return true;
  }
  return false;
}

const QnnOperator* find(const std::vector<QnnOperator>& table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const QnnOperator& row) { return row.name == name; });
  return found == table.end() ? nullptr : &*found;
}

std::string nodes_text(std::string_view what, std::uint64_t count) {
  return fmt::format("{} ({})", what, count_text(count, "node"));
}

std::vector<std::string> unlisted_operators(const std::vector<QnnOperator>& table, const OperatorUse& used,
                                            std::string_view backend) {
  std::vector<std::string> names;
  for (const auto& [name, count] : used.nodes) {
    const QnnOperator* row = find(table, name);
    const bool taken = row != nullptr && (row->backends.empty() || has_word(row->backends, backend));
    if (!taken) names.push_back(nodes_text(name, count));
  }
  return names;
}

std::vector<std::string> unlisted_pairs(const QnnOperator& matmul, const OperatorUse& used) {
  std::vector<std::string> pairs;
  for (const auto& [types, count] : used.matmul_types) {
    const std::pair<std::string_view, std::string_view> pair(types);
    const bool listed = std::find(matmul.types.begin(), matmul.types.end(), pair) != matmul.types.end();
    if (!listed) pairs.push_back(nodes_text(fmt::format("{} with {}", pair.first, pair.second), count));
  }
  return pairs;
}

}  // namespace

std::vector<QnnOperator> qnn_operators() {
  std::vector<QnnOperator> table;
  std::string_view text = qnn_operators_data();
  while (!text.empty()) {
    const std::string_view line = take_until('\n', text);
    if (!line.empty() && !line.starts_with('#') && !line.starts_with(kHeader)) table.push_back(operator_of(line));
  }
  return table;
}

std::vector<std::string> beyond_qnn_operators(const OperatorUse& used, std::string_view backend) {
  const std::vector<QnnOperator> table = qnn_operators();
  std::vector<std::string> lines;
  if (const std::vector<std::string> names = unlisted_operators(table, used, backend); !names.empty()) {
    lines.push_back(
        fmt::format("operators that QNN's provider does not list for {}: {}; these nodes run on the CPU, which compile "
                    "allows with --allow-cpu, unless ONNX Runtime removes or replaces them",
                    backend, fmt::join(names, ", ")));
  }
  if (backend != "htp") return lines;
  const QnnOperator* const matmul = find(table, "MatMul");
  assert(matmul != nullptr);
  if (const std::vector<std::string> pairs = unlisted_pairs(*matmul, used); !pairs.empty()) {
    std::vector<std::string> listed;
    for (const auto& [left, right] : matmul->types) listed.push_back(fmt::format("{} with {}", left, right));
    lines.push_back(
        fmt::format("MatMul of types that QNN's provider does not list for htp: {}; the listed ones are {}, and the "
                    "compiler decides whether these nodes run in floating point or on the CPU",
                    fmt::join(pairs, ", "), fmt::join(listed, ", ")));
  }
  return lines;
}

}  // namespace fatctx::tools
