// A Python function as the library's progress callback.
#pragma once

#include <nanobind/nanobind.h>

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "errors.h"
#include "fatctx/container.h"

namespace fatctx::python {

namespace nb = nanobind;

// Exceptions do not cross the library: the first one is kept, later calls are left out, and `finish` raises it. Work
// that can be ended is given `cancel()` too, and then ends with it.
class ProgressCall {
 public:
  explicit ProgressCall(nb::object function) : function_(std::move(function)) {}
  ProgressCall(const ProgressCall&) = delete;
  ProgressCall& operator=(const ProgressCall&) = delete;

  // Lifetime: the result borrows from this object. It takes the GIL for each call.
  [[nodiscard]] Progress callback() {
    if (function_.is_none()) return {};
    return [this](std::uint64_t done_bytes, std::uint64_t total_bytes) {
      const nb::gil_scoped_acquire acquired;
      if (raised_) return;
      try {
        function_(done_bytes, total_bytes);
      } catch (nb::python_error& error) {
        keep(std::move(error));
      }
    };
  }

  // The same, but what the function raises stops the work; only for work that lets exceptions through.
  struct Stopped {};
  [[nodiscard]] Progress stopping_callback() {
    if (function_.is_none()) return {};
    return [this, plain = callback()](std::uint64_t done_bytes, std::uint64_t total_bytes) {
      plain(done_bytes, total_bytes);
      if (raised_) throw Stopped{};
    };
  }
  // Runs `work` with the GIL released and gives its value, or raises its error or what stopped it. Requires: the GIL.
  template <typename Work>
  [[nodiscard]] auto run(Work work) {
    try {
      auto result = without_gil(std::move(work));
      finish();
      return take(std::move(result));
    } catch (const Stopped&) {
      finish();
      throw;  // not reached: whoever threw it has raised something
    }
  }

  // Whether a call raised something. Only from the thread that calls back, or after the work.
  [[nodiscard]] bool raised() const noexcept { return raised_.has_value(); }
  // The same for work that may be ended: also Ctrl-C ends it, with or without a function.
  [[nodiscard]] Progress ending_callback() {
    return [this, told = callback()](std::uint64_t done_bytes, std::uint64_t total_bytes) {
      const nb::gil_scoped_acquire acquired;
      if (!raised_ && PyErr_CheckSignals() != 0) keep(nb::python_error());
      if (told) told(done_bytes, total_bytes);
    };
  }
  // Set when something was raised. Lifetime: that of this object.
  [[nodiscard]] const std::atomic<bool>* cancel() const noexcept { return &cancel_; }

  // Requires: the GIL.
  void finish() {
    if (raised_) throw std::move(*raised_);
  }

 private:
  void keep(nb::python_error error) {
    raised_.emplace(std::move(error));
    cancel_ = true;
  }

  nb::object function_;
  std::optional<nb::python_error> raised_;
  std::atomic<bool> cancel_ = false;
};

}  // namespace fatctx::python
