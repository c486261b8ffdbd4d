#include "dlpack.h"

#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "read_only_buffer.h"

namespace fatctx::python {
namespace {

// The structures of DLPack 1.0 (dlpack.h of the DMLC), which are an ABI.
struct DlpackVersion {
  std::uint32_t major;
  std::uint32_t minor;
};
struct DlpackDevice {
  std::int32_t type;
  std::int32_t id;
};
struct DlpackType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct DlpackTensor {
  void* data;
  DlpackDevice device;
  std::int32_t dimensions;
  DlpackType type;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements
  std::uint64_t byte_offset;
};
struct DlpackManaged {
  DlpackVersion version;
  void* manager;
  void (*deleter)(DlpackManaged* self);
  std::uint64_t flags;
  DlpackTensor tensor;
};

constexpr DlpackVersion kDlpackVersion = {1, 0};
constexpr DlpackDevice kProcessor = {1, 0};
constexpr std::uint64_t kReadOnly = 1;
constexpr std::uint64_t kIsCopied = 2;
constexpr const char* kDlpackFresh = "dltensor_versioned";  // a consumer renames the capsule

enum DlpackCode : std::uint8_t { kInt = 0, kUint = 1, kFloat = 2, kBfloat = 4, kBool = 6 };

DlpackCode code_of(DType dtype) {
  switch (dtype) {
    case DType::kF16:
    case DType::kF32:
    case DType::kF64:
      return kFloat;
    case DType::kBF16:
      return kBfloat;
    case DType::kBool:
      return kBool;
    case DType::kI4:
    case DType::kI8:
    case DType::kI16:
    case DType::kI32:
    case DType::kI64:
      return kInt;
    case DType::kU4:
    case DType::kU8:
    case DType::kU16:
    case DType::kU32:
    case DType::kU64:
      break;
  }
  return kUint;
}

struct Exported {
  DlpackManaged managed = {};
  std::shared_ptr<const void> owner;
  std::vector<std::byte> copy;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> strides;
};

// Any thread may call it, with or without the GIL: it touches no object of Python.
void delete_exported(DlpackManaged* managed) { delete static_cast<Exported*>(managed->manager); }

void end_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, kDlpackFresh) == 0) return;  // a consumer has taken it
  auto* const managed = static_cast<DlpackManaged*>(PyCapsule_GetPointer(capsule, kDlpackFresh));
  managed->deleter(managed);
}

[[noreturn]] void refuse(const std::string& message) { throw nb::buffer_error(message.c_str()); }

void check_request(const DlpackRequest& request, const std::string& what) {
  const bool newer = !request.max_version.is_none() && nb::cast<std::int64_t>(request.max_version[nb::int_(0)]) >= 1;
  if (!newer) {
    refuse(what + " is read-only, which DLPack says from version 1 on: use NumPy 2.1 or newer, or copy it first");
  }
  if (request.device.is_none()) return;
  const auto type = nb::cast<std::int64_t>(request.device[nb::int_(0)]);
  if (type != kProcessor.type) refuse(what + " is in the memory of the processor, and goes to no other device");
}

}  // namespace

nb::object dlpack_capsule(std::shared_ptr<const void> owner, ByteView bytes, DType dtype,
                          std::span<const std::uint64_t> shape, const DlpackRequest& request, const std::string& what) {
  check_request(request, what);
  const bool copy = !request.copy.is_none() && nb::cast<bool>(request.copy);
  auto exported = std::make_unique<Exported>();
  exported->owner = std::move(owner);
  exported->shape.assign(shape.begin(), shape.end());
  exported->strides.resize(shape.size());
  std::int64_t stride = 1;
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    exported->strides[axis] = stride;
    stride *= exported->shape[axis];
  }
  DlpackManaged& managed = exported->managed;
  managed.version = kDlpackVersion;
  managed.manager = exported.get();
  managed.deleter = &delete_exported;
  managed.flags = copy ? kIsCopied : kReadOnly;
  if (copy) exported->copy.assign(bytes.begin(), bytes.end());
  // The flag forbids writing; the structure has one pointer for both kinds of tensors.
  managed.tensor.data = copy ? exported->copy.data() : const_cast<void*>(address_or_placeholder(bytes));
  managed.tensor.device = kProcessor;
  managed.tensor.dimensions = static_cast<std::int32_t>(shape.size());
  managed.tensor.type = {code_of(dtype), static_cast<std::uint8_t>(dtype_bits(dtype)), 1};
  managed.tensor.shape = exported->shape.data();
  managed.tensor.strides = exported->strides.data();
  PyObject* const capsule = PyCapsule_New(&managed, kDlpackFresh, &end_capsule);
  if (capsule == nullptr) throw nb::python_error();
  exported.release();  // the capsule owns it
  return nb::steal(capsule);
}

}  // namespace fatctx::python
