// Counts the work of a call: system calls, bytes read and written, hashes, allocations. The numbers do not depend on
// the machine, so tests compare them exactly.
#pragma once

#include <functional>
#include <string>

namespace fatctx::faults {

// Returns the work of `call` as text: calls by name in order of the names, then bytes and hashes, such as
// "fstat 1, openat 1, pread 2; 4096 bytes read, 0 written; 3 hashes of 4608 bytes".
[[nodiscard]] std::string work_of(const std::function<void()>& call);

// Returns the number of allocations that this thread makes in `call`.
[[nodiscard]] long allocations_of(const std::function<void()>& call);

// Returns the number of pages that the process faults in during `call`.
[[nodiscard]] long page_faults_of(const std::function<void()>& call);

}  // namespace fatctx::faults
