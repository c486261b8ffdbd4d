// Counts the maps of this process, and compares them with the limit of the system.
#pragma once

#include <cstdint>
#include <optional>

#include "fatctx/base/result.h"

namespace fatctx::mapping {

struct MapCount {
  std::uint64_t in_use = 0;
  std::uint64_t limit = 0;  // vm.max_map_count
};

// Counts the maps; returns nothing if the system does not report them. Cost: lists every map of the process.
[[nodiscard]] std::optional<MapCount> count_maps();

// Returns no_resource, with the remedy, if `more` maps do not fit beside those in use.
[[nodiscard]] Status check_map_budget(const MapCount& maps, std::uint64_t more);

}  // namespace fatctx::mapping
