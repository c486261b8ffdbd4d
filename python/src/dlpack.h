// Hands read-only bytes to other libraries of tensors by DLPack, without a copy.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "fatctx/base/bytes.h"
#include "fatctx/record.h"

namespace fatctx::python {

namespace nb = nanobind;

// The arguments of `__dlpack__` as the array API standard has them; `stream` means nothing on a processor.
struct DlpackRequest {
  nb::object max_version;  // a pair, or None
  nb::object device;       // a pair, or None
  nb::object copy;         // a bool, or None
};

// Returns a capsule of version 1 that is marked as read-only, or a copy that may be written.
// Ownership: the capsule keeps `owner`, which keeps the bytes. `what` names an object of the class in messages.
// Raises BufferError: the consumer knows only versions before 1, which cannot say that bytes are read-only; another
// device is asked for.
[[nodiscard]] nb::object dlpack_capsule(std::shared_ptr<const void> owner, ByteView bytes, DType dtype,
                                        std::span<const std::uint64_t> shape, const DlpackRequest& request,
                                        const std::string& what);

// Adds `__dlpack__` and `__dlpack_device__` to a class. `capsule_of` takes an object and a request.
template <typename Class, typename CapsuleOf>
void add_dlpack(nb::class_<Class>& bound, CapsuleOf capsule_of) {
  bound.def(
      "__dlpack__",
      [capsule_of](const Class& self, nb::object, nb::object max_version, nb::object dl_device, nb::object copy) {
        return capsule_of(self, DlpackRequest{std::move(max_version), std::move(dl_device), std::move(copy)});
      },
      nb::kw_only(), nb::arg("stream").none() = nb::none(), nb::arg("max_version").none() = nb::none(),
      nb::arg("dl_device").none() = nb::none(), nb::arg("copy").none() = nb::none(),
      nb::sig("def __dlpack__(self, *, stream: object = None, max_version: tuple[int, int] | None = None, "
              "dl_device: tuple[int, int] | None = None, copy: bool | None = None) -> typing.Any"),
      "The bytes for `from_dlpack()` of NumPy 2.1 or newer, PyTorch, JAX, ...: version 1 of DLPack, read-only, without "
      "a\n"
      "copy unless `copy` is true. Raises BufferError for a consumer that knows only older versions, which cannot say\n"
      "that bytes are read-only.");
  bound.def(
      "__dlpack_device__", [](const Class&) { return nb::make_tuple(1, 0); },
      nb::sig("def __dlpack_device__(self) -> tuple[int, int]"), "(1, 0): the memory of the processor.");
}

}  // namespace fatctx::python
