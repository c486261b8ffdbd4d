// Makes a system call fail: the n-th one from now on, once or for ever.
//
// The linker redirects the library's calls to this file (--wrap, tests/CMakeLists.txt), so the library does not know
// it. Calls that only release something (munmap, munlock, unlinkat) are not counted and never fail; close does on
// request.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace fatctx::faults {

enum class Kind : std::uint8_t {
  kError,      // returns `error_number`
  kInterrupt,  // EINTR, from calls that the system may interrupt
  kShort,      // reads and writes transfer only half, or `at_most` bytes
};

struct Fault {
  Kind kind = Kind::kError;
  int error_number = 0;
  long call = 0;                  // 0: the next one; counts the calls that this kind of fault can affect
  bool for_ever = false;          // and all later ones; at most 50 interrupts in a row, so that loops end
  bool descriptors_only = false;  // only calls that create a descriptor
  bool closes_only = false;       // only close, which still releases the descriptor
  long at_most = -1;              // of kShort; -1: half
};

// A fault that is active during its lifetime, on all threads. Only one can exist at a time.
class Injected {
 public:
  explicit Injected(const Fault& fault);
  ~Injected();
  Injected(const Injected&) = delete;
  Injected& operator=(const Injected&) = delete;
  // Returns true once a call was made to fail; `call` names it.
  [[nodiscard]] bool met() const;
  [[nodiscard]] std::string call() const;
};

// A hook: during its lifetime `act` runs before each call of this name, on its thread, without faults.
class Before {
 public:
  Before(const std::string& call, std::function<void()> act);
  ~Before();
  Before(const Before&) = delete;
  Before& operator=(const Before&) = delete;
};

// A counter of the library's calls by name, and of the bytes that they transfer, on all threads, during its lifetime.
// None of them fails.
class Counted {
 public:
  Counted();
  ~Counted();
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  [[nodiscard]] std::map<std::string, int> calls() const;
  [[nodiscard]] std::uint64_t bytes_read() const;
  [[nodiscard]] std::uint64_t bytes_written() const;
};

}  // namespace fatctx::faults
