#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#include <shellapi.h>

#include "tools/system/arguments.h"
#include "tools/system/text_path_win32.h"

namespace fatctx::tools {

std::vector<std::string> program_arguments(int argc, char** argv) {
  int count = 0;
  wchar_t** const wide = ::CommandLineToArgvW(::GetCommandLineW(), &count);
  if (wide == nullptr) return {argv, argv + argc};
  std::vector<std::string> arguments;
  for (int i = 0; i < count; ++i) arguments.push_back(text_of_wide(wide[i]));
  (void)::LocalFree(wide);
  return arguments;
}

}  // namespace fatctx::tools
