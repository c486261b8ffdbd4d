#include "mapping/small_file.h"

#include <unistd.h>

#include <cerrno>

#include <fmt/format.h>

#include "mapping/os_error.h"
#include "mapping/os_file.h"
#include "mapping/uninterrupted.h"

namespace fatctx::mapping {

Result<std::string> read_small_file(const std::string& path, std::size_t limit) {
  FATCTX_ASSIGN(const auto file, open_for_reading(path));
  FATCTX_ASSIGN(const FileIdentity identity, file->identity());
  if (!identity.regular) return Error{ErrorCode::kNotRegularFile, fmt::format("{} is not a regular file", path)};
  std::string text(limit, '\0');
  std::size_t size = 0;
  while (size < limit) {
    const ssize_t got = uninterrupted(
        [&] { return ::pread(file->descriptor(), text.data() + size, limit - size, static_cast<off_t>(size)); });
    if (got < 0) return os_error(errno, fmt::format("cannot read {}", path));
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

}  // namespace fatctx::mapping
