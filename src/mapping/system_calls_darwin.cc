#include "mapping/system_calls.h"

#include <fcntl.h>
#include <stdio.h>  // renameatx_np
#include <unistd.h>

#include <cerrno>

#include "mapping/uninterrupted.h"

namespace fatctx::mapping {

void keep_out_of_core_dumps(void* /*address*/, std::size_t /*size*/) noexcept {}

FileTime modified_time(const struct stat& st) noexcept { return {st.st_mtimespec.tv_sec, st.st_mtimespec.tv_nsec}; }
FileTime changed_time(const struct stat& st) noexcept { return {st.st_ctimespec.tv_sec, st.st_ctimespec.tv_nsec}; }
FileTime accessed_time(const struct stat& st) noexcept { return {st.st_atimespec.tv_sec, st.st_atimespec.tv_nsec}; }

int reserve_space(int descriptor, std::uint64_t size) noexcept {
  fstore_t wanted = {};
  wanted.fst_flags = F_ALLOCATEALL;
  wanted.fst_posmode = F_PEOFPOSMODE;
  struct stat st = {};
  if (::fstat(descriptor, &st) != 0) return -1;
  wanted.fst_length = static_cast<off_t>(size) - st.st_size;
  if (wanted.fst_length <= 0) return 0;
  return uninterrupted([&] { return ::fcntl(descriptor, F_PREALLOCATE, &wanted); });
}

// fsync stops at the disk's own cache here. If the filesystem cannot flush that cache, plain fsync must do.
int sync_to_disk(int descriptor) noexcept {
  if (::fcntl(descriptor, F_FULLFSYNC) != -1) return 0;
  return errno == ENOTSUP || errno == EINVAL || errno == ENOTTY ? ::fsync(descriptor) : -1;
}

int sync_content_to_disk(int descriptor) noexcept { return sync_to_disk(descriptor); }

int open_unnamed(int /*folder*/, mode_t /*mode*/) noexcept {
  errno = EOPNOTSUPP;
  return -1;
}

int rename_in(int folder, const char* from, const char* to, bool replace) noexcept {
  if (replace) return ::renameat(folder, from, folder, to);
  const int result = ::renameatx_np(folder, from, folder, to, RENAME_EXCL);
  if (result != 0 && errno == ENOTSUP) errno = EINVAL;
  return result;
}

void forget_cached(int /*descriptor*/, off_t /*offset*/, off_t /*size*/) noexcept {}

}  // namespace fatctx::mapping
