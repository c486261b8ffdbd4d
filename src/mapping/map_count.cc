#include "mapping/map_count.h"

#include <fmt/format.h>

namespace fatctx::mapping {
namespace {

// Room for threads that start and allocators that grow after the count.
constexpr std::uint64_t kSpare = 64;

}  // namespace

Status check_map_budget(const MapCount& maps, std::uint64_t more) {
  if (maps.in_use + more + kSpare <= maps.limit) return Done{};
  return Error{
      ErrorCode::kNoResource,
      fmt::format("{} more maps do not fit: the process has {}, the system allows {}; close other views, raise "
                  "vm.max_map_count to {} or more, or open with file mapping \"disabled\" to copy",
                  more, maps.in_use, maps.limit, maps.in_use + more + kSpare)};
}

}  // namespace fatctx::mapping
