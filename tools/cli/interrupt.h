// Ctrl-C as a request: the work ends at its next step and leaves nothing half done. A second one ends the process.
#pragma once

#include <atomic>

namespace fatctx::tools {

// While it is there, the first SIGINT or SIGTERM sets the flag. One at a time.
class Interrupt {
 public:
  Interrupt() noexcept;
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Lifetime: the program's.
  [[nodiscard]] const std::atomic<bool>* flag() const noexcept;

 private:
  using Handler = void (*)(int);
  Handler before_int_;
  Handler before_term_;
};

}  // namespace fatctx::tools
