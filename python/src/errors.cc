#include "errors.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>

namespace fatctx::python {

nb::object text_for_people(std::string_view text) {
  PyObject* decoded = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
  if (decoded == nullptr) throw nb::python_error();
  return nb::steal(decoded);
}

nb::object exception_of(const Error& error) {
  nb::object file_offset = nb::none();
  nb::object record_id = nb::none();
  nb::object rule = nb::none();
  if (error.where.file_offset) file_offset = nb::cast(*error.where.file_offset);
  if (error.where.record_id) record_id = nb::cast(*error.where.record_id);
  if (!error.where.rule.empty()) rule = text_for_people(error.where.rule);
  // The classes are defined in Python, where their documentation and their built-in bases are readable.
  return nb::module_::import_("fatctx.errors")
      .attr("_from_library")(static_cast<int>(error.code), text_for_people(error.message),
                             text_for_people(to_text(error)), rule, file_offset, record_id, error.where.os_error);
}

void raise_error(const Error& error) {
  const nb::object exception = exception_of(error);
  PyErr_SetObject(reinterpret_cast<PyObject*>(Py_TYPE(exception.ptr())), exception.ptr());
  throw nb::python_error();
}

void bind_errors(nb::module_& module) {
  nb::enum_<ErrorCode> codes(module, "ErrorCode", nb::is_arithmetic(),
                             "Stable numbers and words of errors, as in the table of docs/errors.md.");
  constexpr int kMost = 1000;  // more than there are
  for (int number = 0; number < kMost; ++number) {
    const auto code = static_cast<ErrorCode>(number);
    std::string name(error_code_name(code));
    if (name == "unknown") continue;
    std::ranges::transform(name, name.begin(), [](char c) { return static_cast<char>(std::toupper(c)); });
    codes.value(name.c_str(), code);
  }
  module.def(
      "_raise_sample",
      [](int code, int os_error) {
        Error error{static_cast<ErrorCode>(code), "a sample", {}};
        error.where.file_offset = 4096;
        error.where.record_id = 3;
        error.where.rule = "F16";
        error.where.os_error = os_error;
        raise_error(error);
      },
      nb::arg("code"), nb::arg("os_error") = 0, "Raises the exception of an error number, for tests.");
}

}  // namespace fatctx::python
