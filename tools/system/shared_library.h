// Libraries that the command loads at run time, when it needs them.
#pragma once

#include <span>

namespace fatctx::tools {

// Returns the first library of these names that loads, or null. On Windows it looks beside the program and in the
// system's folder alone, elsewhere as dlopen() does. The library stays until the end of the process.
[[nodiscard]] void* load_library(std::span<const char* const> names) noexcept;

// Returns a function of a library, or null.
[[nodiscard]] void* function_of(void* library, const char* name) noexcept;

// Returns false if this program cannot load any library: a static one with musl.
[[nodiscard]] bool loads_libraries() noexcept;

}  // namespace fatctx::tools
