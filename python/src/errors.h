// Turns the library's error values into Python's exceptions, and releases the GIL during long calls.
#pragma once

#include <nanobind/nanobind.h>

#include <string_view>
#include <type_traits>
#include <utility>

#include "fatctx/base/result.h"

namespace fatctx::python {

namespace nb = nanobind;

// Raises the exception class of the error's code (fatctx/errors.py). Requires: the GIL.
[[noreturn]] void raise_error(const Error& error);

// Returns the exception object that raise_error() would raise: for lists of findings. Requires: the GIL.
[[nodiscard]] nb::object exception_of(const Error& error);

// Converts text for people that may quote bytes of a path: bytes that are not UTF-8 become escapes, never an
// exception.
[[nodiscard]] nb::object text_for_people(std::string_view text);

// Returns the value, or raises the error. Requires: the GIL.
template <typename T>
[[nodiscard]] T take(Result<T> result) {
  if (!result.ok()) raise_error(result.error());
  return std::move(result).value();
}
// Raises the error, if there is one. Requires: the GIL.
inline void take_status(const Status& status) {
  if (!status.ok()) raise_error(status.error());
}

// Runs `work` with the GIL released: for everything that may read a file or wait for another thread that
// does.
template <typename Work>
[[nodiscard]] std::invoke_result_t<Work> without_gil(Work work) {
  const nb::gil_scoped_release released;
  return work();
}

void bind_errors(nb::module_& module);

}  // namespace fatctx::python
