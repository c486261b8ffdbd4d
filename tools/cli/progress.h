// Prints the progress of a long job as one line on stderr, only on a terminal, and only after half a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "fatctx/container.h"

namespace fatctx::tools {

// A progress line. Not copyable; the destructor wipes it.
//
//   ProgressLine line("verify");
//   FATCTX_ASSIGN(const VerifyReport report, container.verify({.progress = line.callback()}));
class ProgressLine {
 public:
  static constexpr std::chrono::milliseconds kFirstAfter{500};

  explicit ProgressLine(std::string label);
  // For tests: `draw` turns drawing on or off, `first_after` is the delay before the first line.
  ProgressLine(std::string label, bool draw, std::chrono::milliseconds first_after = kFirstAfter);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Returns a callback. Lifetime: it borrows this object.
  [[nodiscard]] Progress callback();
  // Reports a job that counts steps instead of bytes: "compile  2 of 4  x86-64-v3".
  void step(std::uint64_t done, std::uint64_t total, std::string_view what);
  // Reports a job that counts bytes: "pack   34 %  1.2 GiB of 3.5 GiB, 850.3 MiB/s, 3 s left". Where the count begins
  // again, as `Progress` says, the line names the pass: "pack, pass 2    5 %  …".
  void bytes(std::uint64_t done, std::uint64_t total);

  // Returns ", 850.3 MiB/s, 12 s left" for so many bytes in so much time; nothing in the first 200 ms.
  [[nodiscard]] static std::string pace_text(std::uint64_t done, std::uint64_t total, std::chrono::milliseconds spent);

 private:
  void draw(const std::string& text);
  [[nodiscard]] bool due();

  std::string label_;
  bool draw_;
  bool shown_ = false;
  std::uint64_t first_done_ = 0;  // bytes that were done when the count began; it begins anew with each pass
  std::uint64_t last_done_ = 0;
  unsigned pass_ = 1;
  std::chrono::steady_clock::time_point begun_;
  std::chrono::steady_clock::time_point next_;
};

// Returns true if a person is likely to read stderr, or the result, now.
[[nodiscard]] bool stderr_is_terminal() noexcept;
[[nodiscard]] bool stdout_is_terminal() noexcept;

}  // namespace fatctx::tools
