// Exposes read-only views as Python objects: the buffer protocol over mapped bytes, without a copy.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "fatctx/container.h"
#include "fatctx/model.h"

namespace fatctx::python {

namespace nb = nanobind;

// A record view. A memoryview of this object holds the object, the object holds `view`, and `view` holds the
// mapping.
struct BoundRecordView {
  std::variant<Container, Session> owner;  // `info` borrows its strings from it; a session of a file without records
  RecordInfo info;
  RecordView view;
};

// A tensor with its layout in the form of the buffer protocol, which borrows it.
struct BoundWeightView {
  explicit BoundWeightView(WeightView weight);

  WeightView view;
  std::vector<Py_ssize_t> buffer_shape;
  std::vector<Py_ssize_t> buffer_strides;  // bytes
  const char* format;                      // of the struct module; static storage
  Py_ssize_t item_bytes;
};

// Acquires with the GIL released. Raises the errors of Container::acquire.
[[nodiscard]] BoundRecordView acquire_record(const Container& container, const RecordInfo& info);

void bind_views(nb::module_& module);

}  // namespace fatctx::python
