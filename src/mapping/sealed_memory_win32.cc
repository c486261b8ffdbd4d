// A section of the page file. Sealing removes the writable map and handle, and leaves read-only ones. Windows gives a
// map no more rights than its handle has. The section refuses handles with more rights, to this process too, because
// its access list is empty.
#include "mapping/sealed_memory.h"

#include <fmt/format.h>

#include "mapping/address_space.h"
#include "mapping/os_error.h"
#include "mapping/unique_handle.h"
#include "mapping/windows_api.h"

namespace fatctx::mapping {
namespace {

constexpr int kAttempts = 64;

// An access list that grants nothing. The rights of a handle are fixed when it is made. The first one gets all rights;
// only later ones are checked against the list.
class NobodyMay {
 public:
  NobodyMay() noexcept {
    ok_ = ::InitializeAcl(&list_, sizeof(list_), ACL_REVISION) != 0 &&
          ::InitializeSecurityDescriptor(&descriptor_, SECURITY_DESCRIPTOR_REVISION) != 0 &&
          ::SetSecurityDescriptorDacl(&descriptor_, TRUE, &list_, FALSE) != 0;
    attributes_ = {sizeof(attributes_), &descriptor_, FALSE};
  }
  NobodyMay(const NobodyMay&) = delete;
  NobodyMay& operator=(const NobodyMay&) = delete;
  [[nodiscard]] SECURITY_ATTRIBUTES* attributes() noexcept { return ok_ ? &attributes_ : nullptr; }

 private:
  ACL list_ = {};
  SECURITY_DESCRIPTOR descriptor_ = {};
  SECURITY_ATTRIBUTES attributes_ = {};
  bool ok_ = false;
};

}  // namespace

Result<SealableBlock> make_sealable_block(std::uint64_t size_bytes) {
  if (size_bytes == 0) return Error{ErrorCode::kInvalidArgument, "sealed memory of no bytes"};
  FATCTX_TRY(check_address_space(size_bytes));
  NobodyMay nobody;
  const UniqueHandle writing(::CreateFileMappingW(INVALID_HANDLE_VALUE, nobody.attributes(), PAGE_READWRITE,
                                                  static_cast<DWORD>(size_bytes >> 32), static_cast<DWORD>(size_bytes),
                                                  nullptr));
  if (!writing.valid()) {
    Error error = last_os_error(fmt::format("cannot reserve {} bytes of memory", size_bytes));
    if (error.code == ErrorCode::kNoSpace || error.code == ErrorCode::kNoResource) error.code = ErrorCode::kOutOfMemory;
    return error;
  }
  // The map stays writable; the writable handle is closed at the end of this function.
  FATCTX_ASSIGN(UniqueHandle reading, duplicate_handle(writing.get(), SECTION_MAP_READ | SECTION_QUERY));
  void* const address = ::MapViewOfFile(writing.get(), FILE_MAP_WRITE, 0, 0, static_cast<std::size_t>(size_bytes));
  if (address == nullptr) return last_os_error("cannot map sealed memory");
  return SealableBlock{.data = static_cast<std::byte*>(address),
                       .size_bytes = size_bytes,
                       .descriptor = descriptor_of(reading.release())};
}

Status seal(const SealableBlock& block) {
  if (::UnmapViewOfFile(block.data) == 0) return last_os_error("cannot seal memory");
  const auto size = static_cast<std::size_t>(block.size_bytes);
  // For a moment nothing is mapped at the address, and another thread may get it. Its map may disappear again.
  for (int attempt = 0;; ++attempt) {
    if (::MapViewOfFileEx(handle_of(block.descriptor), FILE_MAP_READ, 0, 0, size, block.data) != nullptr) return Done{};
    if (::GetLastError() != ERROR_INVALID_ADDRESS || attempt == kAttempts)
      return last_os_error("cannot map sealed memory");
    ::Sleep(1);
  }
}

void free_block(const SealableBlock& block) noexcept {
  // Unmaps only our own map: after a failed seal() the address may belong to other code.
  MEMORY_BASIC_INFORMATION there = {};
  const bool mapped = ::VirtualQuery(block.data, &there, sizeof(there)) != 0 && there.Type == MEM_MAPPED;
  if (mapped && there.AllocationBase == block.data) (void)::UnmapViewOfFile(block.data);
  (void)UniqueHandle(handle_of(block.descriptor)).reset();
}

}  // namespace fatctx::mapping
