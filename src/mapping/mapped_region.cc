#include "mapping/mapped_region.h"

#include <fmt/format.h>

#include "mapping/address_space.h"

namespace fatctx::mapping {
namespace {

// A region of bytes that are already in memory; the owner of the file keeps them there.
class BorrowedRegion final : public MappedRegion {
 public:
  explicit BorrowedRegion(ByteView bytes) noexcept : bytes_(bytes) {}
  [[nodiscard]] ByteView bytes() const noexcept override { return bytes_; }

 private:
  ByteView bytes_;
};

}  // namespace

Status check_map_size(std::uint64_t size) {
  if (size == 0) return Error{ErrorCode::kInvalidArgument, "an empty range cannot be mapped"};
  return check_address_space(size);
}

Status check_mappable(const OsFile& file, std::uint64_t size) {
  FATCTX_TRY(check_map_size(size));
  FATCTX_ASSIGN(const FileIdentity id, file.identity());
  if (id.size < size) {
    return Error{ErrorCode::kTruncated, fmt::format("the file has {} bytes, {} were committed", id.size, size)};
  }
  return Done{};
}

Result<std::unique_ptr<MappedRegion>> map_file(const OsFile& file, std::uint64_t size) {
  if (!file.memory().empty()) {
    FATCTX_TRY(check_mappable(file, size));
    return std::unique_ptr<MappedRegion>(
        std::make_unique<BorrowedRegion>(file.memory().first(static_cast<std::size_t>(size))));
  }
#ifdef FATCTX_RAW_MAPPING
  return map_file_raw(file, size);
#else
  return map_file_boost(file, size);
#endif
}

std::string_view mapping_method() noexcept {
#ifdef FATCTX_RAW_MAPPING
  return raw_mapping_method();
#else
  return "Boost.Interprocess";
#endif
}

}  // namespace fatctx::mapping
