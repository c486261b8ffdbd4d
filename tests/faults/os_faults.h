// Makes a call to the operating system fail: the n-th one from now on, once or for ever.
//
// The linker leads the library's calls here (--wrap, tests/CMakeLists.txt), so that the library itself knows nothing of
// it. Calls that only give back (munmap, munlock, unlinkat) are counted by nobody and never fail; close does if asked.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

namespace fatctx::faults {

enum class Kind : std::uint8_t {
  kError,      // returns `error_number`
  kInterrupt,  // EINTR, from calls that the system may interrupt
  kShort,      // half of what was asked for, or `at_most` bytes, from reads and writes
};

struct Fault {
  Kind kind = Kind::kError;
  int error_number = 0;
  long call = 0;          // 0: the next one; counts the calls that this kind of fault can meet
  bool for_ever = false;  // and all after it; an interrupt comes at most 50 times in a row, or nobody could ever go on
  bool descriptors_only = false;  // only calls that make a descriptor
  bool closes_only = false;       // only close, which gives the descriptor back all the same
  long at_most = -1;              // of kShort; -1: half
};

// While it lives, on all threads. One at a time.
class Injected {
 public:
  explicit Injected(const Fault& fault);
  ~Injected();
  Injected(const Injected&) = delete;
  Injected& operator=(const Injected&) = delete;
  // True once a call was made to fail; `call` says which.
  [[nodiscard]] bool met() const;
  [[nodiscard]] std::string call() const;
};

// While it lives, `act` runs before each call of that name, on its thread, with no fault in it.
class Before {
 public:
  Before(const std::string& call, std::function<void()> act);
  ~Before();
  Before(const Before&) = delete;
  Before& operator=(const Before&) = delete;
};

// Counts calls of the library by name while it lives, on all threads; none of them fails.
class Counted {
 public:
  Counted();
  ~Counted();
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  [[nodiscard]] std::map<std::string, int> calls() const;
};

}  // namespace fatctx::faults
