#include "mapping/map_count.h"

namespace fatctx::mapping {

// These systems limit only memory.
std::optional<MapCount> count_maps() { return std::nullopt; }

}  // namespace fatctx::mapping
