// Takes keyword arguments that several functions share out of one dictionary, by name and type.
#pragma once

#include <nanobind/nanobind.h>
// Casts of these types work only where their headers come before, so that all files have them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

namespace fatctx::python {

namespace nb = nanobind;

// Removes `name` from `keywords` and returns it as a T, or returns `fallback` if it is missing. `kind` is the
// word for T in the TypeError.
template <typename T>
[[nodiscard]] T take_keyword(nb::dict& keywords, const char* name, T fallback, const char* kind) {
  if (!keywords.contains(name)) return fallback;
  const nb::object value = keywords[name];
  nb::del(keywords[name]);
  T result{};
  if (!nb::try_cast(value, result, false)) {
    const std::string text =
        std::string("keyword ") + name + ": expected " + kind + ", found " + nb::cast<std::string>(nb::repr(value));
    throw nb::type_error(text.c_str());
  }
  return result;
}

}  // namespace fatctx::python
