// The allocations of a thread, as the replaced operator new of this program counts them (allocation_test.cc).
#pragma once

namespace fatctx::faults {

[[nodiscard]] long allocations_of_this_thread() noexcept;

}  // namespace fatctx::faults
