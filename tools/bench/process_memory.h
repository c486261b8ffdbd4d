// How much memory this process has, kind by kind, as the system counts it.
#pragma once

#include <cstdint>
#include <optional>

namespace fatctx::tools {

struct ProcessMemory {
  std::int64_t anonymous_bytes = 0;    // heap and stacks: nobody else pays for them
  std::int64_t file_backed_bytes = 0;  // pages of files, which other processes may share
};

// Empty where the system does not say (anything but Linux).
[[nodiscard]] std::optional<ProcessMemory> process_memory();

// Gives what the heap keeps of freed memory back to the system, where the C library can. What is allocated next then
// counts as new memory, as it would in a process of its own.
void give_back_freed_memory() noexcept;

}  // namespace fatctx::tools
