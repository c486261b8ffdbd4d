#include "tools/arguments.h"

#include <memory>

// shellapi.h needs windows.h before it.
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

#include <shellapi.h>

namespace fatctx::tools {
namespace {

struct FreeLocal {
  void operator()(void* memory) const noexcept { (void)::LocalFree(memory); }
};

std::string utf8_of(const wchar_t* wide) {
  const int size = ::WideCharToMultiByte(CP_UTF8, 0, wide, -1, nullptr, 0, nullptr, nullptr);
  if (size <= 1) return {};
  std::string text(static_cast<std::size_t>(size), '\0');
  (void)::WideCharToMultiByte(CP_UTF8, 0, wide, -1, text.data(), size, nullptr, nullptr);
  text.pop_back();  // the terminator
  return text;
}

}  // namespace

std::vector<std::string> program_arguments(int argc, char** argv) {
  int count = 0;
  const std::unique_ptr<wchar_t*, FreeLocal> wide(::CommandLineToArgvW(::GetCommandLineW(), &count));
  if (!wide) return {argv + (argc > 0 ? 1 : 0), argv + argc};
  std::vector<std::string> arguments;
  for (int i = 1; i < count; ++i) arguments.push_back(utf8_of(wide.get()[i]));
  return arguments;
}

}  // namespace fatctx::tools
