#include "mapping/map_count.h"

namespace fatctx::mapping {

// Memory is the only limit here.
std::optional<MapCount> count_maps() { return std::nullopt; }

}  // namespace fatctx::mapping
