// The same work for many items on several threads.
#pragma once

#include <cstddef>
#include <functional>

#include "fatctx/base/result.h"

namespace fatctx::container::sharing {

// Calls `work` once for each index below `count`, on at most `threads` threads, this one included; where the system
// gives fewer, on those. After an error no further index is begun; of several errors that of the lowest index is
// returned. What a call throws comes out of this function. `while_waiting` is called from time to time on this thread
// when it has no work left and others are not done; what it throws stops them.
[[nodiscard]] Status for_each_index(unsigned threads, std::size_t count, const std::function<Status(std::size_t)>& work,
                                    const std::function<void()>& while_waiting = {});

// 0 stands for as many as there are processors, at most 8: more wait for memory.
[[nodiscard]] unsigned thread_count(unsigned asked) noexcept;

}  // namespace fatctx::container::sharing
