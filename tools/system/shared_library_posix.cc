#include <dlfcn.h>

#include "tools/system/shared_library.h"

namespace fatctx::tools {

void* load_library(std::span<const char* const> names) noexcept {
  for (const char* const name : names) {
    if (void* const library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL); library != nullptr) return library;
  }
  return nullptr;
}

void* function_of(void* library, const char* name) noexcept { return ::dlsym(library, name); }

// A program with musl in it finds not even itself.
bool loads_libraries() noexcept { return ::dlopen(nullptr, RTLD_NOW) != nullptr; }

}  // namespace fatctx::tools
