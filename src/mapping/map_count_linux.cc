#include <algorithm>
#include <array>
#include <fstream>

#include <fmt/format.h>

#include "mapping/map_count.h"

namespace fatctx::mapping {
namespace {

// Threads start and allocators grow while nobody counts.
constexpr std::uint64_t kSpare = 64;

}  // namespace

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

Status check_map_budget(const MapCount& maps, std::uint64_t more) {
  if (maps.in_use + more + kSpare <= maps.limit) return Done{};
  return Error{
      ErrorCode::kNoResource,
      fmt::format("{} more maps do not fit: the process has {}, the system allows {}; close other views, raise "
                  "vm.max_map_count to {} or more, or open with file mapping \"disabled\" to copy",
                  more, maps.in_use, maps.limit, maps.in_use + more + kSpare)};
}

}  // namespace fatctx::mapping
