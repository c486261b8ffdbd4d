// Survives the truncation of a file while it is mapped.
//
// Touching a mapped byte that the file no longer has raises SIGBUS, which ends the process. Replacing a file by rename
// never causes that. The guard is for hosts that cannot vouch for every writer of their files.
#pragma once

#include <cstdint>

#include "fatctx/base/result.h"

namespace fatctx {

// Installs a handler of SIGBUS for the whole process, permanently; further calls do nothing. After a fault, the lost
// bytes of a container and all behind them read as zeros. Every later call for that container, and the end of every
// session that uses it, answers mapping_lost. Results computed from zeros are therefore not reported as good.
//
// Off unless called: crash reporters, virtual machines and sanitizers have handlers of their own. A fault at any other
// address goes to the previous handler. A handler installed later must pass on unknown faults. Memory mapped by a
// MappingProvider is not guarded.
//
// Threads: any. Errors: unsupported (no such thing on this system), io.
[[nodiscard]] Status install_mapping_guard();
[[nodiscard]] bool mapping_guard_installed() noexcept;

// Returns the number of mappings of this process that have lost bytes so far. Any thread.
[[nodiscard]] std::uint64_t lost_mappings() noexcept;

}  // namespace fatctx
