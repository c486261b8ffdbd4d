// How many maps this process has, and how many the system lets it have.
#pragma once

#include <cstdint>
#include <optional>

#include "fatctx/base/result.h"

namespace fatctx::mapping {

struct MapCount {
  std::uint64_t in_use = 0;
  std::uint64_t limit = 0;  // vm.max_map_count
};

// Empty where the system does not say. Cost: it lists every map of the process.
[[nodiscard]] std::optional<MapCount> count_maps();

// no_resource, with the remedy, if `more` maps do not fit beside those in use.
[[nodiscard]] Status check_map_budget(const MapCount& maps, std::uint64_t more);

}  // namespace fatctx::mapping
