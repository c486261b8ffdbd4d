// Descriptors as the library takes them from its caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#ifdef _WIN32
#include "mapping/unique_handle.h"
#include "mapping/windows_api.h"
#else
#include <fcntl.h>
#include <unistd.h>
#endif
#include "mapping/unique_fd.h"

namespace fatctx::support {

// Opens a file for reading. On Windows the descriptor is the number of a handle.
[[nodiscard]] inline mapping::UniqueFd open_descriptor(const std::string& path) {
#ifdef _WIN32
  return mapping::UniqueFd(mapping::descriptor_of(::CreateFileA(path.c_str(), GENERIC_READ, mapping::kShareAll, nullptr,
                                                                OPEN_EXISTING, FILE_ATTRIBUTE_NORMAL, nullptr)));
#else
  return mapping::UniqueFd(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
#endif
}

// Reads `size` bytes from `offset` on of a descriptor that the library hands out. Returns false if it has fewer.
[[nodiscard]] inline bool read_descriptor(int descriptor, void* to, std::size_t size, std::uint64_t offset) {
#ifdef _WIN32
  OVERLAPPED at{};
  at.Offset = static_cast<DWORD>(offset);
  at.OffsetHigh = static_cast<DWORD>(offset >> 32);
  DWORD got = 0;
  return ::ReadFile(mapping::handle_of(descriptor), to, static_cast<DWORD>(size), &got, &at) != 0 && got == size;
#else
  return ::pread(descriptor, to, size, static_cast<off_t>(offset)) == static_cast<ssize_t>(size);
#endif
}

}  // namespace fatctx::support
