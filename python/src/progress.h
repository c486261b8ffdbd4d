// A Python function as the library's progress callback.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "errors.h"
#include "fatctx/container.h"

namespace fatctx::python {

namespace nb = nanobind;

// Exceptions do not cross the library: the first one is kept, later calls are left out, and `finish` raises it.
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
        raised_.emplace(std::move(error));
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

  // Requires: the GIL.
  void finish() {
    if (raised_) throw std::move(*raised_);
  }

 private:
  nb::object function_;
  std::optional<nb::python_error> raised_;
};

}  // namespace fatctx::python
