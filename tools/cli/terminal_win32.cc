// Asks the system whether stdout and stderr are terminals, how wide, and where they lead: the C++ library cannot.
#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
#ifndef NOMINMAX
#define NOMINMAX
#endif
#include <windows.h>

#include <fcntl.h>
#include <io.h>

#include <cstdio>

#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/system/others_output.h"
#include "tools/system/standard_streams.h"

namespace fatctx::tools {

namespace {

constexpr int kStdout = 1;
constexpr int kStderr = 2;

std::size_t columns_of(DWORD stream) noexcept {
  CONSOLE_SCREEN_BUFFER_INFO info = {};
  if (::GetConsoleScreenBufferInfo(::GetStdHandle(stream), &info) == 0) return 0;
  return static_cast<std::size_t>(info.srWindow.Right - info.srWindow.Left) + 1;
}

bool is_console(DWORD stream) noexcept {
  DWORD mode = 0;
  return ::GetConsoleMode(::GetStdHandle(stream), &mode) != 0;
}

}  // namespace

void prepare_standard_streams() noexcept {
  // Otherwise the C library writes a carriage return in front of each line feed.
  (void)::_setmode(kStdout, O_BINARY);
  (void)::_setmode(kStderr, O_BINARY);
  (void)::SetConsoleOutputCP(CP_UTF8);
  for (const DWORD stream : {STD_OUTPUT_HANDLE, STD_ERROR_HANDLE}) {
    DWORD mode = 0;
    HANDLE const handle = ::GetStdHandle(stream);
    // Colours, and the line of progress.
    if (::GetConsoleMode(handle, &mode) != 0) (void)::SetConsoleMode(handle, mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
  }
}

std::size_t result_columns() noexcept { return columns_of(STD_OUTPUT_HANDLE); }
std::size_t note_columns() noexcept { return columns_of(STD_ERROR_HANDLE); }

bool stderr_is_terminal() noexcept { return is_console(STD_ERROR_HANDLE); }
bool stdout_is_terminal() noexcept { return is_console(STD_OUTPUT_HANDLE); }

OthersOutput::OthersOutput() noexcept {
  (void)std::fflush(stdout);
  stdout_ = ::_dup(kStdout);
  if (stdout_ >= 0) (void)::_dup2(kStderr, kStdout);
}

OthersOutput::~OthersOutput() {
  if (stdout_ < 0) return;
  (void)std::fflush(stdout);
  (void)::_dup2(stdout_, kStdout);
  (void)::_close(stdout_);
}

}  // namespace fatctx::tools
