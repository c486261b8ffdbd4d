// Exposes read-only bytes through Python's buffer protocol and as NumPy arrays.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>

#include "fatctx/base/bytes.h"

namespace fatctx::python {

// Returns an address that is never null. An empty range may have a null address, which users of the buffer
// protocol do not expect.
inline const void* address_or_placeholder(ByteView bytes) {
  static constexpr std::byte kNothing{};
  return bytes.empty() ? &kNothing : bytes.data();
}

// Returns true, with BufferError set, for a request that no view can satisfy. `what` names an object of the
// class.
inline bool refused(PyObject* self, Py_buffer* buffer, int flags, const char* what) {
  if (buffer == nullptr) {
    PyErr_SetString(PyExc_BufferError, "a buffer request without a place for the answer");
    return true;
  }
  buffer->obj = nullptr;
  if (!nanobind::inst_ready(nanobind::handle(self))) {  // created by __new__ alone, so it has no view
    PyErr_Format(PyExc_BufferError, "%s that nobody acquired has no bytes", what);
    return true;
  }
  if ((flags & PyBUF_WRITABLE) != PyBUF_WRITABLE) return false;
  PyErr_Format(PyExc_BufferError, "%s is read-only: its bytes are those of the mapped file; copy them to change them",
               what);
  return true;
}

// Answers a request that was not refused with one run of bytes.
inline int fill_bytes(PyObject* self, Py_buffer* buffer, int flags, ByteView bytes) {
  // Py_buffer has one pointer type for readers and writers; `readonly` forbids writing.
  return PyBuffer_FillInfo(buffer, self, const_cast<void*>(address_or_placeholder(bytes)),
                           static_cast<Py_ssize_t>(bytes.size()), 1, flags);
}

// Returns a NumPy array. Raises ImportError, with the package to install, if NumPy is missing.
[[nodiscard]] nanobind::object as_array(nanobind::handle view);

}  // namespace fatctx::python
