// Treats Ctrl-C as a request: the work ends at its next step and leaves nothing half done. A second one ends
// the process.
#pragma once

#include <atomic>

namespace fatctx::tools {

// A guard that sets its flag at the first SIGINT or SIGTERM. Only one may exist at a time.
class Interrupt {
 public:
  Interrupt() noexcept;
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Returns the flag. Lifetime: the program's.
  [[nodiscard]] const std::atomic<bool>* flag() const noexcept;

 private:
  using Handler = void (*)(int);
  Handler before_int_;
  Handler before_term_;
};

}  // namespace fatctx::tools
