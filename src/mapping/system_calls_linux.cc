#include "mapping/system_calls.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "mapping/uninterrupted.h"

namespace fatctx::mapping {

void keep_out_of_core_dumps(void* address, std::size_t size) noexcept { (void)::madvise(address, size, MADV_DONTDUMP); }

FileTime modified_time(const struct stat& st) noexcept { return {st.st_mtim.tv_sec, st.st_mtim.tv_nsec}; }
FileTime changed_time(const struct stat& st) noexcept { return {st.st_ctim.tv_sec, st.st_ctim.tv_nsec}; }
FileTime accessed_time(const struct stat& st) noexcept { return {st.st_atim.tv_sec, st.st_atim.tv_nsec}; }

// Not posix_fallocate: glibc emulates it by writing if the filesystem cannot do it, which changes the size.
int reserve_space(int descriptor, std::uint64_t size) noexcept {
  return uninterrupted([&] { return ::fallocate(descriptor, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(size)); });
}

int sync_to_disk(int descriptor) noexcept { return ::fsync(descriptor); }

// Writes the size too, as POSIX asks of everything that a later read needs. Leaves out times, which would cost another
// entry in the journal.
int sync_content_to_disk(int descriptor) noexcept { return ::fdatasync(descriptor); }

#if defined(__ANDROID__)
// An app may make a nameless file, but SELinux forbids every link to it, so it could never get a name.
int open_unnamed(int /*folder*/, mode_t /*mode*/) noexcept {
  errno = EOPNOTSUPP;
  return -1;
}
#else
int open_unnamed(int folder, mode_t mode) noexcept {
  return uninterrupted([&] { return ::openat(folder, ".", O_RDWR | O_TMPFILE | O_CLOEXEC, mode); });
}
#endif

int rename_in(int folder, const char* from, const char* to, bool replace) noexcept {
  constexpr unsigned kNoReplace = 1;  // RENAME_NOREPLACE, which musl does not define
  const unsigned flags = replace ? 0U : kNoReplace;
// musl lacks the function; bionic has it since Android 11, and apps may make the call since 8.
#if (defined(__ANDROID__) && __ANDROID_API__ < 30) || (!defined(__ANDROID__) && !defined(__GLIBC__))
  return static_cast<int>(::syscall(SYS_renameat2, folder, from, folder, to, flags));
#else
  return ::renameat2(folder, from, folder, to, flags);
#endif
}

void forget_cached(int descriptor, off_t offset, off_t size) noexcept {
  (void)::posix_fadvise(descriptor, offset, size, POSIX_FADV_DONTNEED);
}

}  // namespace fatctx::mapping
