#include "container/format/name_index.h"

#include <algorithm>

#include "container/format/hash.h"

namespace fatctx::container {

std::vector<NameIndexEntry> name_index(std::span<const std::string_view> names) {
  std::vector<NameIndexEntry> index;
  index.reserve(names.size());
  for (std::size_t i = 0; i < names.size(); ++i) {
    index.push_back({name_hash(names[i]), static_cast<std::uint32_t>(i)});
  }
  std::stable_sort(index.begin(), index.end(), [](const NameIndexEntry& a, const NameIndexEntry& b) {
    return std::uint32_t{a.hash} < std::uint32_t{b.hash};
  });
  return index;
}

}  // namespace fatctx::container
