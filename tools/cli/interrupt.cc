#include "tools/cli/interrupt.h"

#include <csignal>

namespace fatctx::tools {

namespace {

std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

extern "C" void note_signal(int signal) {
  interrupted.store(true, std::memory_order_relaxed);
  std::signal(signal, SIG_DFL);
}

// Installs the handler, except for a signal that the parent process made this one ignore.
void (*take(int signal) noexcept)(int) {
  const auto before = std::signal(signal, note_signal);
  if (before == SIG_IGN) std::signal(signal, SIG_IGN);
  return before;
}

void give_back(int signal, void (*before)(int)) noexcept {
  if (before != SIG_ERR && before != SIG_IGN) std::signal(signal, before);
}

}  // namespace

Interrupt::Interrupt() noexcept : before_int_(take(SIGINT)), before_term_(take(SIGTERM)) {}

Interrupt::~Interrupt() {
  give_back(SIGINT, before_int_);
  give_back(SIGTERM, before_term_);
  interrupted.store(false, std::memory_order_relaxed);
}

const std::atomic<bool>* Interrupt::flag() const noexcept { return &interrupted; }

}  // namespace fatctx::tools
