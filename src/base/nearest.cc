#include "fatctx/base/nearest.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <vector>

namespace fatctx {

namespace {

// Counts edits: one character inserted, removed or replaced, or two neighbours swapped.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last(b.size() + 1);
  std::vector<std::size_t> last(b.size() + 1);
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last.swap(last);
    last.swap(row);
  }
  return last[b.size()];
}

}  // namespace

std::optional<std::string> nearest(std::string_view typed, std::span<const std::string> known) {
  const std::string* best = nullptr;
  std::size_t best_distance = 0;
  for (const std::string& word : known) {
    // A truncated word is nearer than any other word.
    const bool begins = typed.size() >= 2 && word.starts_with(typed);
    const std::size_t distance = begins ? 1 : edit_distance(typed, word);
    if (best == nullptr || distance < best_distance) {
      best = &word;
      best_distance = distance;
    }
  }
  const std::size_t tolerated = std::max<std::size_t>(1, typed.size() / 3);
  if (best == nullptr || best_distance > tolerated) return std::nullopt;
  return *best;
}

}  // namespace fatctx
