#include <sys/vfs.h>

#include "mapping/filesystem_kind.h"
#include "mapping/uninterrupted.h"

namespace fatctx::mapping {

FilesystemKind filesystem_kind(int descriptor) noexcept {
  struct statfs fs = {};
  // A filesystem that the system does not report is not trusted either.
  if (uninterrupted([&] { return ::fstatfs(descriptor, &fs); }) != 0) return {.remote = true};
  // f_type is signed on some hosts; only 32 bits of it are the magic.
  return filesystem_kind_of_magic(static_cast<std::uint32_t>(fs.f_type));
}

}  // namespace fatctx::mapping
