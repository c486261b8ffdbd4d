// A library that must never be loaded. Loading it creates a file with the library's name and ".loaded".
#include <dlfcn.h>

#include <fstream>
#include <string>

namespace {

[[maybe_unused]] const bool g_loaded = [] {
  Dl_info self = {};
  if (dladdr(reinterpret_cast<const void*>(&g_loaded), &self) == 0) return false;
  return std::ofstream(std::string(self.dli_fname) + ".loaded").good();
}();

}  // namespace
