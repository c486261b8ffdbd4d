// Survives a file that is cut while it is mapped.
//
// Touching a mapped byte that the file no longer has raises SIGBUS, which ends the process. Files that are replaced by
// rename never do that; this is for hosts that cannot vouch for everybody who writes to their files.
#pragma once

#include <cstdint>

#include "fatctx/base/result.h"

namespace fatctx {

// Installs a handler of SIGBUS for the whole process, for good; further calls do nothing. After it, the lost bytes of
// a container and all behind them read as zeros, and everything that is asked of that container, and the end of every
// session that uses it, answers mapping_lost: what was computed from zeros is not reported as good.
//
// Off unless called: crash reporters, virtual machines and sanitizers have handlers of their own. A fault at any other
// address goes to the handler that was there before. A handler installed later must pass on what it does not know.
// Memory mapped by a MappingProvider is not guarded.
//
// Threads: any. Errors: unsupported (no such thing on this system), io.
[[nodiscard]] Status install_mapping_guard();
[[nodiscard]] bool mapping_guard_installed() noexcept;

// How many mappings of this process have lost bytes so far. Any thread.
[[nodiscard]] std::uint64_t lost_mappings() noexcept;

}  // namespace fatctx
