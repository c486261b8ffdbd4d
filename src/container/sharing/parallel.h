// Runs the same work for many items on several threads.
#pragma once

#include <cstddef>
#include <functional>

#include "fatctx/base/result.h"

namespace fatctx::container::sharing {

// Calls `work` once for each index below `count`, on at most `threads` threads including this one. If the system starts
// fewer threads, those do the work. After an error it begins no further index; it returns the error of the lowest
// index. Passes on an exception of a call. Calls `while_waiting` from time to time on this thread when it has no work
// left and others are not done, and once after the last of them. An exception of `while_waiting` stops them.
[[nodiscard]] Status for_each_index(unsigned threads, std::size_t count, const std::function<Status(std::size_t)>& work,
                                    const std::function<void()>& while_waiting = {});

// Returns the threads to use. For 0: one for each processor, at most 8, because more only wait for memory.
[[nodiscard]] unsigned thread_count(unsigned asked) noexcept;

}  // namespace fatctx::container::sharing
