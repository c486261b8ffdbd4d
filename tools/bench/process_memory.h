// The memory of this process by kind, as the system counts it.
#pragma once

#include <cstdint>
#include <optional>

namespace fatctx::tools {

struct ProcessMemory {
  std::int64_t anonymous_bytes = 0;    // heap and stacks, which no other process shares
  std::int64_t file_backed_bytes = 0;  // pages of files, which other processes may share
};

// Returns the memory of this process, or nothing where the system does not report it (anything but Linux).
[[nodiscard]] std::optional<ProcessMemory> process_memory();

// Returns freed heap memory to the system, where the C library can. Memory that is allocated next then counts
// as new, as it would in a process of its own.
void give_back_freed_memory() noexcept;

}  // namespace fatctx::tools
