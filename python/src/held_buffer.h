// Holds the bytes of an object with Python's buffer protocol for as long as they are needed.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>

#include "fatctx/base/bytes.h"

namespace fatctx::python {

// An owner of a buffer. It may be destroyed on any thread, with or without the GIL.
class HeldBuffer {
 public:
  // Gets the buffer. Raises BufferError if it is not one run of bytes. Requires: the GIL.
  explicit HeldBuffer(nanobind::handle object) {
    if (PyObject_GetBuffer(object.ptr(), &buffer_, PyBUF_C_CONTIGUOUS) != 0) throw nanobind::python_error();
  }
  ~HeldBuffer() {
    if (Py_IsInitialized() == 0) return;  // the interpreter has ended, and the buffer with it
    const nanobind::gil_scoped_acquire lock;
    PyBuffer_Release(&buffer_);
  }
  HeldBuffer(const HeldBuffer&) = delete;
  HeldBuffer& operator=(const HeldBuffer&) = delete;
  [[nodiscard]] ByteView bytes() const noexcept {
    return {static_cast<const std::byte*>(buffer_.buf), static_cast<std::size_t>(buffer_.len)};
  }

 private:
  Py_buffer buffer_ = {};
};

}  // namespace fatctx::python
