// Asks the system whether stdout and stderr are terminals, how wide, and where they lead: the C++ library cannot.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>

#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/system/others_output.h"
#include "tools/system/standard_streams.h"

namespace fatctx::tools {

namespace {

std::size_t columns_of(int descriptor) noexcept {
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

}  // namespace

void prepare_standard_streams() noexcept {}

std::size_t result_columns() noexcept { return columns_of(STDOUT_FILENO); }
std::size_t note_columns() noexcept { return columns_of(STDERR_FILENO); }

bool stderr_is_terminal() noexcept { return ::isatty(STDERR_FILENO) == 1; }
bool stdout_is_terminal() noexcept { return ::isatty(STDOUT_FILENO) == 1; }

OthersOutput::OthersOutput() noexcept {
  (void)std::fflush(stdout);
  stdout_ = ::dup(STDOUT_FILENO);
  if (stdout_ >= 0) (void)::dup2(STDERR_FILENO, STDOUT_FILENO);
}

OthersOutput::~OthersOutput() {
  if (stdout_ < 0) return;
  (void)std::fflush(stdout);
  (void)::dup2(stdout_, STDOUT_FILENO);
  (void)::close(stdout_);
}

}  // namespace fatctx::tools
