#include "views.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>

#include "dlpack.h"
#include "errors.h"
#include "read_only_buffer.h"
#include "records.h"

namespace fatctx::python {
namespace {

struct BufferElement {
  const char* format;
  Py_ssize_t item_bytes;
};

// NumPy's int64 is C's `long` if that has 64 bits. Using the same letter keeps arrays from becoming the twin
// "longlong".
constexpr const char* kSigned64 = sizeof(long) == 8 ? "l" : "q";
constexpr const char* kUnsigned64 = sizeof(long) == 8 ? "L" : "Q";

BufferElement element_of(DType dtype) {
  switch (dtype) {
    case DType::kF32:
      return {"f", 4};
    case DType::kF64:
      return {"d", 8};
    case DType::kF16:
      return {"e", 2};
    case DType::kI8:
      return {"b", 1};
    case DType::kI16:
      return {"h", 2};
    case DType::kI32:
      return {"i", 4};
    case DType::kI64:
      return {kSigned64, 8};
    case DType::kU16:
      return {"H", 2};
    case DType::kU32:
      return {"I", 4};
    case DType::kU64:
      return {kUnsigned64, 8};
    case DType::kBool:
      return {"?", 1};
    case DType::kU8:
    case DType::kBF16:  // no format letter of the struct module: bytes
    case DType::kI4:
    case DType::kU4:
      break;
  }
  return {"B", 1};
}

int get_record_buffer(PyObject* self, Py_buffer* buffer, int flags) noexcept {
  if (refused(self, buffer, flags, "a fatctx.RecordView")) return -1;
  return fill_bytes(self, buffer, flags, nb::inst_ptr<BoundRecordView>(nb::handle(self))->view.bytes());
}

int get_weight_buffer(PyObject* self, Py_buffer* buffer, int flags) noexcept {
  if (refused(self, buffer, flags, "a fatctx.WeightView")) return -1;
  auto* bound = nb::inst_ptr<BoundWeightView>(nb::handle(self));
  const ByteView bytes = bound->view.bytes();
  const bool wants_shape = (flags & PyBUF_ND) == PyBUF_ND;
  const bool wants_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
  const bool wants_format = (flags & PyBUF_FORMAT) == PyBUF_FORMAT;
  if ((flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS && bound->buffer_shape.size() > 1) {
    PyErr_SetString(PyExc_BufferError, "a fatctx.WeightView is row-major, not column-major");
    return -1;
  }
  if (wants_format && !wants_shape) {
    PyErr_SetString(PyExc_BufferError, "a format without a shape cannot describe a tensor");
    return -1;
  }
  buffer->buf = const_cast<void*>(address_or_placeholder(bytes));
  buffer->len = static_cast<Py_ssize_t>(bytes.size());
  buffer->itemsize = bound->item_bytes;
  buffer->readonly = 1;
  buffer->format = wants_format ? const_cast<char*>(bound->format) : nullptr;
  buffer->ndim = wants_shape ? static_cast<int>(bound->buffer_shape.size()) : 1;
  buffer->shape = wants_shape ? bound->buffer_shape.data() : nullptr;
  buffer->strides = wants_strides ? bound->buffer_strides.data() : nullptr;
  buffer->suboffsets = nullptr;
  buffer->internal = nullptr;
  buffer->obj = Py_NewRef(self);
  return 0;
}

// Slots hold functions as void*; a function pointer converts to one on every system that Python runs on.
const PyType_Slot kRecordSlots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&get_record_buffer)}, {0, nullptr}};
const PyType_Slot kWeightSlots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&get_weight_buffer)}, {0, nullptr}};

std::uintptr_t address_of(ByteView bytes) { return reinterpret_cast<std::uintptr_t>(bytes.data()); }

void bind_record_view(nb::module_& module) {
  nb::class_<BoundRecordView> bound(
      module, "RecordView", nb::type_slots(kRecordSlots), nb::is_weak_referenceable(),
      "Read-only bytes of one record, in the mapped file itself.\n\n"
      "`memoryview(view)`, `np.asarray(view)` and `bytes(view)` work; only the last one copies. Shape: (size_bytes,),\n"
      "format: unsigned bytes.\n\n"
      "Ownership: the view, and every memoryview or array made from it, keeps the mapping alive; container, model,\n"
      "session and views may go in any order and on any thread.\n"
      "Threads: usable from any number of threads.\n"
      "The file: must not be truncated while mapped; replacing it by rename is safe.");
  add_dlpack(bound, [](const BoundRecordView& self, const DlpackRequest& request) {
    const auto owner = std::make_shared<const RecordView>(self.view);
    const std::uint64_t shape[] = {self.view.size_bytes()};
    return dlpack_capsule(owner, owner->bytes(), DType::kU8, shape, request, "a fatctx.RecordView");
  });
  bound
      .def_prop_ro(
          "record_id", [](const BoundRecordView& self) { return self.info.id; },
          "Id of the record; of a DLC 1 for the first entry, 2 for the next, ...; of a raw binary 0.")
      .def_prop_ro(
          "name", [](const BoundRecordView& self) { return text_for_people(self.info.name); },
          nb::sig("def name(self) -> str"), "Name of the record, or of the entry of a DLC; the path of a raw binary.")
      .def_prop_ro(
          "type", [](const BoundRecordView& self) { return to_str(record_type_name(self.info.type)); },
          "\"context_binary\", \"weight_blob\", \"opaque\", ...")
      .def_prop_ro(
          "unit", [](const BoundRecordView& self) { return to_str(self.info.key.unit); },
          "Unit of a context binary in a container; otherwise empty.")
      .def_prop_ro(
          "record",
          [](const BoundRecordView& self) -> nb::object {
            const auto* const container = std::get_if<Container>(&self.owner);
            if (container == nullptr) return nb::none();
            return nb::cast(BoundRecord{*container, self.info});
          },
          nb::sig("def record(self) -> Record | None"),
          "All facts of the record; None for a DLC and a raw binary, which have no records.")
      .def_prop_ro(
          "size_bytes", [](const BoundRecordView& self) { return self.view.size_bytes(); }, "Size in bytes.")
      .def_prop_ro(
          "nbytes", [](const BoundRecordView& self) { return self.view.size_bytes(); },
          "Size in bytes, under NumPy's name.")
      .def_prop_ro(
          "access_path", [](const BoundRecordView& self) { return to_str(access_path_name(self.view.access_path())); },
          "How the view came to be: \"direct\" is a pointer into the mapping, \"stitched\" pieces of the file mapped "
          "side by side, \"composed\" pages of the file and built memory side by side, \"copied\" a copy of this "
          "process.")
      .def_prop_ro(
          "copied_bytes", [](const BoundRecordView& self) { return self.view.copied_bytes(); },
          "Bytes of memory that it shows instead of pages of the file, shared with the other views of the record.")
      .def_prop_ro(
          "cached_bytes", [](const BoundRecordView& self) { return self.view.cached_bytes(); },
          "Bytes of a file in a cache folder that it shows instead of pages of the container.")
      .def_prop_ro(
          "address", [](const BoundRecordView& self) { return address_of(self.view.bytes()); },
          "Address of the first byte in this process; valid while the view lives.")
      .def(
          "numpy", [](nb::handle_t<BoundRecordView> self) { return as_array(self); },
          nb::sig("def numpy(self) -> \"numpy.ndarray\""),
          "A read-only uint8 array of shape (size_bytes,) over the mapped bytes. Raises ImportError without NumPy.")
      .def("__len__", [](const BoundRecordView& self) { return self.view.size_bytes(); })
      .def("__repr__", [](const BoundRecordView& self) {
        return fmt::format("<fatctx.RecordView of record {} {}, {} bytes, {}>", self.info.id, quoted(self.info.name),
                           self.view.size_bytes(), access_path_name(self.view.access_path()));
      });
}

// Returns the array with the type of ml_dtypes for bfloat16, if that package is there.
nb::object tensor_array(nb::handle_t<BoundWeightView> view) {
  nb::object array = as_array(view);
  if (nb::inst_ptr<BoundWeightView>(view)->view.dtype() != DType::kBF16) return array;
  nb::object types;
  try {
    types = nb::module_::import_("ml_dtypes");
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    return array;
  }
  return array.attr("view")(types.attr("bfloat16"))[nb::make_tuple(nb::borrow(Py_Ellipsis), 0)];
}

void bind_weight_view(nb::module_& module) {
  nb::class_<BoundWeightView> bound(
      module, "WeightView", nb::type_slots(kWeightSlots), nb::is_weak_referenceable(),
      "One tensor of a weight blob: name, element type, shape, and its bytes in the mapped file.\n\n"
      "`memoryview(view)`, `np.asarray(view)` and `view.numpy()` give the tensor's shape and element type without a\n"
      "copy, row-major and read-only. Element types that Python's buffers do not know come as raw unsigned bytes:\n"
      "  bfloat16    shape + (2,): the two little-endian bytes of each element. With the package ml_dtypes,\n"
      "              `numpy()` has the type of that package and the tensor's shape\n"
      "  int4 uint4  (nbytes,): two elements a byte, the first in the low half\n"
      "`dtype` and `shape` always describe the tensor itself.\n\n"
      "Ownership, threads, the file: as RecordView.");
  add_dlpack(bound, [](const BoundWeightView& self, const DlpackRequest& request) {
    const auto owner = std::make_shared<const WeightView>(self.view);
    return dlpack_capsule(owner, owner->bytes(), owner->dtype(), owner->shape(), request, "a fatctx.WeightView");
  });
  bound
      .def_prop_ro(
          "name", [](const BoundWeightView& self) { return to_str(self.view.name()); }, "Name of the tensor.")
      .def_prop_ro(
          "dtype", [](const BoundWeightView& self) { return to_str(dtype_name(self.view.dtype())); },
          "Element type: \"float32\", \"bfloat16\", \"int4\", ...")
      .def_prop_ro(
          "shape",
          [](const BoundWeightView& self) {
            nb::list shape;
            for (const std::uint64_t extent : self.view.shape()) shape.append(extent);
            return nb::tuple(shape);
          },
          nb::sig("def shape(self) -> tuple[int, ...]"), "Elements per dimension, outermost first; () for a scalar.")
      .def_prop_ro(
          "strides_bytes", [](const BoundWeightView& self) { return self.view.strides_bytes(); },
          "Bytes from one element to the next in each dimension; empty for types below one byte.")
      .def_prop_ro(
          "nbytes", [](const BoundWeightView& self) { return self.view.bytes().size(); }, "Size in bytes.")
      .def_prop_ro(
          "offset_in_blob", [](const BoundWeightView& self) { return self.view.offset_in_blob(); },
          "First byte, counted from the start of the weight blob.")
      .def_prop_ro(
          "alias", [](const BoundWeightView& self) { return self.view.alias(); },
          "True if it shares bytes with another tensor on purpose.")
      .def_prop_ro(
          "address", [](const BoundWeightView& self) { return address_of(self.view.bytes()); },
          "Address of the first byte in this process; valid while the view lives.")
      .def(
          "numpy", [](nb::handle_t<BoundWeightView> self) { return tensor_array(self); },
          nb::sig("def numpy(self) -> \"numpy.ndarray\""),
          "A read-only array over the mapped bytes; of bfloat16 with its type and shape if the package ml_dtypes is\n"
          "there. Raises ImportError without NumPy.")
      .def("__repr__", [](const BoundWeightView& self) {
        return fmt::format("<fatctx.WeightView {} {} [{}], {} bytes>", quoted(self.view.name()),
                           dtype_name(self.view.dtype()), fmt::join(self.view.shape(), ", "), self.view.bytes().size());
      });
}

}  // namespace

nb::object as_array(nb::handle view) {
  nb::object numpy;
  try {
    numpy = nb::module_::import_("numpy");
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_ImportError)) throw;
    nb::raise_from(error, PyExc_ImportError,
                   "view.numpy() needs NumPy: pip install \"fatctx[numpy]\"; memoryview(view) works without");
  }
  return numpy.attr("asarray")(view);
}

BoundWeightView::BoundWeightView(WeightView weight) : view(std::move(weight)), format(nullptr), item_bytes(1) {
  const BufferElement element = element_of(view.dtype());
  format = element.format;
  item_bytes = element.item_bytes;
  if (dtype_bits(view.dtype()) < 8) {
    buffer_shape = {static_cast<Py_ssize_t>(view.bytes().size())};
  } else {
    for (const std::uint64_t extent : view.shape()) buffer_shape.push_back(static_cast<Py_ssize_t>(extent));
    if (view.dtype() == DType::kBF16) buffer_shape.push_back(2);
  }
  buffer_strides.resize(buffer_shape.size());
  Py_ssize_t stride = item_bytes;
  for (std::size_t axis = buffer_shape.size(); axis-- > 0;) {
    buffer_strides[axis] = stride;
    stride *= buffer_shape[axis];
  }
}

BoundRecordView acquire_record(const Container& container, const RecordInfo& info) {
  RecordView view = take(without_gil([&] { return container.acquire(info.id); }));
  return {container, info, std::move(view)};
}

void bind_views(nb::module_& module) {
  bind_record_view(module);
  bind_weight_view(module);
}

}  // namespace fatctx::python
