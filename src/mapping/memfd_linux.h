// The common code of sealed files and sealed memory on Linux. For the files of this folder only.
#pragma once

#include "fatctx/base/result.h"

namespace fatctx::mapping {

// Returns the descriptor of a sealable file in memory, or -1 and errno.
[[nodiscard]] int make_memory_file() noexcept;

// Replaces the descriptor, under the same number, by one that cannot write. Before Linux 6.7 a descriptor that can
// write allows no shared map of sealed memory, not even a read-only one. Errors: those of open (/proc is needed).
[[nodiscard]] Status make_read_only(int descriptor);

}  // namespace fatctx::mapping
