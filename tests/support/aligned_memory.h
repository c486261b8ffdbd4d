// Memory that begins at a multiple of a number, for allocators of tests. The C library of Windows has calls of its own.
#pragma once

#ifdef _WIN32
#include <malloc.h>
#endif

#include <cstddef>
#include <cstdlib>

namespace fatctx::support {

// `size` is a multiple of `alignment`.
[[nodiscard]] inline void* aligned_memory(std::size_t alignment, std::size_t size) {
#ifdef _WIN32
  return ::_aligned_malloc(size, alignment);
#else
  return std::aligned_alloc(alignment, size);
#endif
}

inline void free_aligned(void* memory) {
#ifdef _WIN32
  ::_aligned_free(memory);
#else
  std::free(memory);
#endif
}

}  // namespace fatctx::support
