#include "fatctx/mapping_guard.h"

#include "mapping/bus_guard.h"

namespace fatctx {

Status install_mapping_guard() { return mapping::install_bus_guard(); }
bool mapping_guard_installed() noexcept { return mapping::bus_guard_installed(); }
std::uint64_t lost_mappings() noexcept { return mapping::bus_guard_losses(); }

}  // namespace fatctx
