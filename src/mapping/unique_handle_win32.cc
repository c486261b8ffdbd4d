#include "mapping/unique_handle.h"

#include <fmt/format.h>

#include "mapping/os_error.h"
#include "mapping/windows_api.h"

namespace fatctx::mapping {
namespace {

Result<UniqueHandle> duplicate(void* handle, DWORD access, DWORD options) {
  const int number = descriptor_of(handle);
  if (!is_handle(handle)) return Error{ErrorCode::kInvalidArgument, fmt::format("descriptor {} is not open", number)};
  HANDLE made = nullptr;
  const HANDLE process = ::GetCurrentProcess();
  if (::DuplicateHandle(process, handle, process, &made, access, FALSE, options) != 0) return UniqueHandle(made);
  const DWORD error = ::GetLastError();
  if (error == ERROR_INVALID_HANDLE) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("descriptor {} is not open", number),
                 {.os_error = static_cast<int>(error)}};
  }
  return os_error(static_cast<int>(error), fmt::format("cannot duplicate descriptor {}", number));
}

}  // namespace

int UniqueHandle::reset() noexcept {
  if (!valid()) return 0;
  return ::CloseHandle(std::exchange(handle_, nullptr)) != 0 ? 0 : static_cast<int>(::GetLastError());
}

Result<UniqueHandle> duplicate_handle(void* handle, unsigned long access) { return duplicate(handle, access, 0); }

Result<UniqueHandle> duplicate_handle_as_it_is(void* handle) { return duplicate(handle, 0, DUPLICATE_SAME_ACCESS); }

}  // namespace fatctx::mapping
