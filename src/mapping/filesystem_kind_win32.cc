#include <array>

#include "mapping/filesystem_kind.h"
#include "mapping/unique_handle.h"
#include "mapping/windows_api.h"

namespace fatctx::mapping {

FilesystemKind filesystem_kind(int descriptor) noexcept {
  void* const handle = handle_of(descriptor);
  if (!is_handle(handle)) return {.remote = true};  // an unreported kind is not trusted either
  std::array<wchar_t, MAX_PATH + 1> wide{};
  if (::GetVolumeInformationByHandleW(handle, nullptr, 0, nullptr, nullptr, nullptr, wide.data(),
                                      static_cast<DWORD>(wide.size())) == 0) {
    return {.remote = true};
  }
  std::array<char, MAX_PATH + 1> name{};  // known kinds have ASCII names
  for (std::size_t i = 0; i < MAX_PATH && wide[i] != L'\0'; ++i) {
    name[i] = wide[i] < 0x80 ? static_cast<char>(wide[i]) : '?';
  }
  FilesystemKind kind = filesystem_kind_of_name(name.data());
  // A share reports NTFS as well; only files of a server have a protocol.
  FILE_REMOTE_PROTOCOL_INFO protocol = {};
  if (::GetFileInformationByHandleEx(handle, FileRemoteProtocolInfo, &protocol, sizeof(protocol)) != 0) {
    kind.remote = true;
  }
  return kind;
}

}  // namespace fatctx::mapping
