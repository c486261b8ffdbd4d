#include <windows.h>

#include "tools/system/shared_library.h"

namespace fatctx::tools {

void* load_library(std::span<const char* const> names) noexcept {
  for (const char* const name : names) {
    // Not in the current folder, nor in those of PATH, where anybody may have put a library of this name.
    HMODULE const library =
        ::LoadLibraryExA(name, nullptr, LOAD_LIBRARY_SEARCH_APPLICATION_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32);
    if (library != nullptr) return library;
  }
  return nullptr;
}

void* function_of(void* library, const char* name) noexcept {
  return reinterpret_cast<void*>(::GetProcAddress(static_cast<HMODULE>(library), name));
}

bool loads_libraries() noexcept { return true; }

}  // namespace fatctx::tools
