#include <algorithm>
#include <span>

#include <fmt/format.h>

#include "mapping/os_file.h"
#include "mapping/small_file.h"

namespace fatctx::mapping {

// File sizes are reliable on Windows.
Result<std::string> read_small_file(const std::string& path, std::size_t limit) {
  FATCTX_ASSIGN(const auto file, open_for_reading(path));
  FATCTX_ASSIGN(const FileIdentity identity, file->identity());
  if (!identity.regular) return Error{ErrorCode::kNotRegularFile, fmt::format("{} is not a regular file", path)};
  std::string text(std::min<std::uint64_t>(identity.size, limit), '\0');
  FATCTX_TRY(file->read_at(0, std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace fatctx::mapping
