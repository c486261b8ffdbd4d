// Uses a Python function as the library's progress callback.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "errors.h"
#include "fatctx/container.h"

namespace fatctx::python {

namespace nb = nanobind;

// A call of the library with progress. An exception of the function ends the work, and so does Ctrl-C, with
// or without a function. Inside the library it travels as a C++ exception without Python objects, because the
// library destroys its objects without the GIL.
class ProgressCall {
 public:
  explicit ProgressCall(nb::object function) : function_(std::move(function)) {}
  ProgressCall(const ProgressCall&) = delete;
  ProgressCall& operator=(const ProgressCall&) = delete;

  // Returns the callback for work inside run(). Lifetime: the result borrows from this object. It takes the
  // GIL for each call.
  [[nodiscard]] Progress callback() {
    return [this](std::uint64_t done_bytes, std::uint64_t total_bytes) {
      if (!wants_telling_ && std::chrono::steady_clock::now() < next_look_) return;
      call_python([&] {
        if (PyErr_CheckSignals() != 0) throw nb::python_error();
        if (wants_telling_) function_(done_bytes, total_bytes);
      });
      next_look_ = std::chrono::steady_clock::now() + kBetweenLooks;
    };
  }
  // Calls `body` with the GIL, for other callbacks of the same work; an exception of `body` ends the work.
  template <typename Body>
  void call_python(const Body& body) {
    const nb::gil_scoped_acquire acquired;
    try {
      body();
    } catch (nb::python_error& error) {
      raised_.emplace(std::move(error));
      throw Stopped{};
    }
  }

  // Runs `work` with the GIL released. Returns its value, or raises its error or the exception that stopped
  // it. Requires: the GIL.
  template <typename Work>
  auto run(Work work) {
    try {
      return take(without_gil(std::move(work)));
    } catch (const Stopped&) {
      throw std::move(*raised_);
    }
  }

 private:
  struct Stopped {};
  // Another thread may hold the GIL for milliseconds, so taking it for every 64 KiB would be too slow.
  static constexpr std::chrono::milliseconds kBetweenLooks{25};

  nb::object function_;
  const bool wants_telling_ = !function_.is_none();
  std::chrono::steady_clock::time_point next_look_ = std::chrono::steady_clock::now() + kBetweenLooks;
  std::optional<nb::python_error> raised_;
};

}  // namespace fatctx::python
