#include "mapping/direct_file.h"

namespace fatctx::mapping {

std::unique_ptr<DirectFile> DirectFile::open(const OsFile& /*file*/) { return nullptr; }

std::unique_ptr<OsFile> open_without_read_ahead(const OsFile& /*file*/) { return nullptr; }

std::optional<std::uint64_t> cached_bytes(const OsFile& /*file*/, ByteRange /*range*/) noexcept { return std::nullopt; }

}  // namespace fatctx::mapping
