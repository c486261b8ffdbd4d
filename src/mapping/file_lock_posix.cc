#include "mapping/file_lock.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace fatctx::mapping {

int try_lock(int descriptor, FileLock lock) noexcept {
  struct flock wanted = {};
  wanted.l_type = lock == FileLock::kExclusive ? F_WRLCK : F_RDLCK;
  wanted.l_whence = SEEK_SET;
  return ::fcntl(descriptor, F_OFD_SETLK, &wanted) == 0 ? 0 : errno;
}

}  // namespace fatctx::mapping
