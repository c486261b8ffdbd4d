#include <sys/mount.h>
#include <sys/param.h>

#include "mapping/filesystem_kind.h"
#include "mapping/uninterrupted.h"

namespace fatctx::mapping {

FilesystemKind filesystem_kind(int descriptor) noexcept {
  struct statfs fs = {};
  // A filesystem that the system does not report is not trusted either.
  if (uninterrupted([&] { return ::fstatfs(descriptor, &fs); }) != 0) return {.remote = true};
  FilesystemKind kind = filesystem_kind_of_name(fs.f_fstypename);
  if ((fs.f_flags & MNT_LOCAL) == 0) kind.remote = true;
  return kind;
}

}  // namespace fatctx::mapping
