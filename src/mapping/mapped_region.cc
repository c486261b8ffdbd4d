#include "mapping/mapped_region.h"

#include <limits>

#include <fmt/format.h>

namespace fatctx::mapping {

Status check_mappable(const OsFile& file, std::uint64_t size) {
  if (size == 0) return Error{ErrorCode::kInvalidArgument, "an empty range cannot be mapped"};
  if (size > std::numeric_limits<std::size_t>::max() / 2) {
    return Error{ErrorCode::kNoResource, fmt::format("{} bytes do not fit into this address space", size)};
  }
  FATCTX_ASSIGN(const FileIdentity id, file.identity());
  if (id.size < size) {
    return Error{ErrorCode::kTruncated, fmt::format("the file has {} bytes, {} were committed", id.size, size)};
  }
  return Done{};
}

Result<std::unique_ptr<MappedRegion>> map_file(const OsFile& file, std::uint64_t size) {
#ifdef FATCTX_RAW_MAPPING
  return map_file_raw(file, size);
#else
  return map_file_boost(file, size);
#endif
}

}  // namespace fatctx::mapping
