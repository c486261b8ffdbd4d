#include <algorithm>
#include <array>
#include <fstream>

#include "mapping/map_count.h"

namespace fatctx::mapping {

std::optional<MapCount> count_maps() {
  MapCount count;
  if (!(std::ifstream("/proc/sys/vm/max_map_count") >> count.limit)) return std::nullopt;
  std::ifstream maps("/proc/self/maps", std::ios::binary);
  if (!maps) return std::nullopt;
  std::array<char, 16384> piece{};
  do {
    maps.read(piece.data(), piece.size());
    count.in_use += static_cast<std::uint64_t>(std::count(piece.data(), piece.data() + maps.gcount(), '\n'));
  } while (maps);
  if (maps.bad() || count.in_use == 0) return std::nullopt;
  return count;
}

}  // namespace fatctx::mapping
