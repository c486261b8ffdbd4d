// One line on stderr that says how far a long job is. Only a terminal gets it, and only after half a second.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "fatctx/container.h"

namespace fatctx::tools {

// Not copyable; the line is wiped when the object goes.
//
//   ProgressLine line("verify");
//   FATCTX_ASSIGN(const VerifyReport report, container.verify({.progress = line.callback()}));
class ProgressLine {
 public:
  static constexpr std::chrono::milliseconds kFirstAfter{500};

  explicit ProgressLine(std::string label);
  // For tests: whether to draw at all, and after how long.
  ProgressLine(std::string label, bool draw, std::chrono::milliseconds first_after = kFirstAfter);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Lifetime: the callback borrows this object.
  [[nodiscard]] Progress callback();
  // A job that counts in steps instead of bytes: "compile  2 of 4  x86-64-v3".
  void step(std::uint64_t done, std::uint64_t total, std::string_view what);
  void bytes(std::uint64_t done, std::uint64_t total);

 private:
  void draw(const std::string& text);
  [[nodiscard]] bool due();

  std::string label_;
  bool draw_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point next_;
};

// Whether a person is likely to read stderr, or the result, now.
[[nodiscard]] bool stderr_is_terminal() noexcept;
[[nodiscard]] bool stdout_is_terminal() noexcept;

}  // namespace fatctx::tools
