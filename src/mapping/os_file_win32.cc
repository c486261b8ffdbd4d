// A descriptor is the number of a handle here (unique_handle.h). Those of the C runtime are valid only in the copy of
// the runtime that a library was linked with.
#include "mapping/os_file_win32.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "mapping/os_error.h"
#include "mapping/wide_text.h"
#include "mapping/windows_api.h"

namespace fatctx::mapping {
namespace {

constexpr std::size_t kMaxTransfer = std::size_t{1} << 30;  // a call takes a 32-bit size
OVERLAPPED at_offset(std::uint64_t offset) noexcept {
  OVERLAPPED at = {};
  at.Offset = static_cast<DWORD>(offset);
  at.OffsetHigh = static_cast<DWORD>(offset >> 32);
  return at;
}

Status name_file(HANDLE handle, FileIdentity& id) {
  FILE_ID_INFO named = {};
  if (::GetFileInformationByHandleEx(handle, FileIdInfo, &named, sizeof(named)) != 0) {
    id.device = named.VolumeSerialNumber;
    static_assert(sizeof(named.FileId) == sizeof(id.inode) + sizeof(id.inode_high));
    std::memcpy(&id.inode, &named.FileId, sizeof(id.inode));
    std::memcpy(&id.inode_high, named.FileId.Identifier + sizeof(id.inode), sizeof(id.inode_high));
    return Done{};
  }
  // FAT and old servers support only the shorter ids.
  BY_HANDLE_FILE_INFORMATION old = {};
  if (::GetFileInformationByHandle(handle, &old) == 0) return os_error(last_error(), "cannot tell which file it is");
  id.device = old.dwVolumeSerialNumber;
  id.inode = std::uint64_t{old.nFileIndexHigh} << 32 | old.nFileIndexLow;
  return Done{};
}

Result<FileIdentity> identity_of(HANDLE handle) {
  FileIdentity id;
  ::SetLastError(NO_ERROR);
  const DWORD type = ::GetFileType(handle);
  if (type == FILE_TYPE_UNKNOWN && ::GetLastError() != NO_ERROR)
    return os_error(last_error(), "cannot look at the file");
  if (type != FILE_TYPE_DISK) return id;  // a pipe or the console has no further properties
  FILE_STANDARD_INFO standard = {};
  FILE_BASIC_INFO basic = {};
  if (::GetFileInformationByHandleEx(handle, FileStandardInfo, &standard, sizeof(standard)) == 0 ||
      ::GetFileInformationByHandleEx(handle, FileBasicInfo, &basic, sizeof(basic)) == 0) {
    return os_error(last_error(), "cannot look at the file");
  }
  FATCTX_TRY(name_file(handle, id));
  id.size = static_cast<std::uint64_t>(standard.EndOfFile.QuadPart);
  id.modified = time_of_ticks(basic.LastWriteTime.QuadPart);
  id.changed = time_of_ticks(basic.ChangeTime.QuadPart);
  id.regular = standard.Directory == 0;
  return id;
}

Result<UniqueHandle> open_handle(const std::string& path, DWORD access, OpenFlags flags) {
  FATCTX_ASSIGN(const std::wstring wide, wide_path(path));
  // Lets a folder open too, as on other systems; its kind is refused later. If the path names a pipe, its listener must
  // not act in our name.
  DWORD how = FILE_FLAG_BACKUP_SEMANTICS | SECURITY_SQOS_PRESENT | SECURITY_IDENTIFICATION;
  if (!flags.follow_symlinks) how |= FILE_FLAG_OPEN_REPARSE_POINT;
  UniqueHandle handle(::CreateFileW(wide.c_str(), access, kShareAll, nullptr, OPEN_EXISTING, how, nullptr));
  if (!handle.valid()) return os_error(last_error(), "cannot open");
  if (!flags.follow_symlinks && is_link(handle.get()) && (access & GENERIC_READ) != 0) {
    return Error{ErrorCode::kNotRegularFile, "cannot open: a symbolic link appears where none is allowed"};
  }
  return handle;
}

}  // namespace

FileTime time_of_ticks(std::int64_t ticks) noexcept {
  constexpr std::int64_t kPerSecond = 10'000'000;
  constexpr std::int64_t kSecondsTo1970 = 11'644'473'600;
  const std::int64_t since = ticks - kSecondsTo1970 * kPerSecond;
  std::int64_t seconds = since / kPerSecond;
  std::int64_t rest = since % kPerSecond;
  if (rest < 0) {
    rest += kPerSecond;
    --seconds;
  }
  return {seconds, rest * 100};
}

bool is_link(void* handle) noexcept {
  FILE_ATTRIBUTE_TAG_INFO tag = {};
  return ::GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &tag, sizeof(tag)) != 0 &&
         (tag.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) != 0 && IsReparseTagNameSurrogate(tag.ReparseTag) != 0;
}

Status Win32File::read_at(std::uint64_t offset, std::span<std::byte> buffer) const {
  while (!buffer.empty()) {
    OVERLAPPED at = at_offset(offset);
    DWORD got = 0;
    const auto wanted = static_cast<DWORD>(std::min(buffer.size(), kMaxTransfer));
    if (::ReadFile(handle_.get(), buffer.data(), wanted, &got, &at) == 0 && ::GetLastError() != ERROR_HANDLE_EOF) {
      Error error = os_error(last_error(), fmt::format("cannot read {}", name_));
      error.where.file_offset = offset;
      return error;
    }
    if (got == 0) {
      return Error{ErrorCode::kTruncated,
                   fmt::format("{} ends {} bytes too early", name_, buffer.size()),
                   {.file_offset = offset}};
    }
    offset += got;
    buffer = buffer.subspan(got);
  }
  return Done{};
}

Status Win32File::write_at(std::uint64_t offset, ByteView bytes) {
  while (!bytes.empty()) {
    OVERLAPPED at = at_offset(offset);
    DWORD put = 0;
    const auto wanted = static_cast<DWORD>(std::min(bytes.size(), kMaxTransfer));
    if (::WriteFile(handle_.get(), bytes.data(), wanted, &put, &at) == 0) {
      Error error = os_error(last_error(), fmt::format("cannot write {}", name_));
      error.where.file_offset = offset;
      return error;
    }
    if (put == 0) return Error{ErrorCode::kIo, fmt::format("cannot write {}: nothing was written", name_)};
    offset += put;
    bytes = bytes.subspan(put);
  }
  return Done{};
}

Status Win32File::allocate(std::uint64_t size) {
  FATCTX_ASSIGN(const FileIdentity now, identity());
  if (size <= now.size) return Done{};  // a smaller size would truncate the file
  FILE_ALLOCATION_INFO wanted = {};
  wanted.AllocationSize.QuadPart = static_cast<LONGLONG>(size);
  if (::SetFileInformationByHandle(handle_.get(), FileAllocationInfo, &wanted, sizeof(wanted)) != 0) return Done{};
  Error error = os_error(last_error(), fmt::format("cannot reserve {} bytes for {}", size, name_));
  if (error.code == ErrorCode::kNoSpace) return error;
  return Done{};  // not supported here: the write itself will report
}

Status Win32File::sync() {
  if (::FlushFileBuffers(handle_.get()) != 0) return Done{};
  return os_error(last_error(), fmt::format("cannot sync {}", name_));
}

Result<FileIdentity> Win32File::identity() const { return identity_of(handle_.get()); }

Status Win32File::close() {
  const int error = handle_.reset();
  if (error == 0) return Done{};
  return os_error(error, fmt::format("cannot close {}", name_));
}

Result<std::unique_ptr<OsFile>> open_for_reading(const std::string& path, OpenFlags flags) {
  FATCTX_ASSIGN(UniqueHandle handle, open_handle(path, GENERIC_READ, flags));
  return std::unique_ptr<OsFile>(std::make_unique<Win32File>(std::move(handle), "the file"));
}

Result<std::unique_ptr<OsFile>> duplicate_for_reading(int descriptor) {
  FATCTX_ASSIGN(UniqueHandle handle, duplicate_handle_as_it_is(handle_of(descriptor)));
  return std::unique_ptr<OsFile>(std::make_unique<Win32File>(std::move(handle), "the file"));
}

Result<FileIdentity> stat_path(const std::string& path, OpenFlags flags) {
  FATCTX_ASSIGN(const UniqueHandle handle, open_handle(path, FILE_READ_ATTRIBUTES, flags));
  FATCTX_ASSIGN(FileIdentity id, identity_of(handle.get()));
  if (!flags.follow_symlinks && is_link(handle.get())) id.regular = false;
  return id;
}

Result<FileIdentity> stat_descriptor(int descriptor) {
  void* const handle = handle_of(descriptor);
  if (!is_handle(handle))
    return Error{ErrorCode::kInvalidArgument, fmt::format("descriptor {} is not open", descriptor)};
  return identity_of(handle);
}

}  // namespace fatctx::mapping
