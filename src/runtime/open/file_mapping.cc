#include "runtime/open/file_mapping.h"

#include <atomic>

#include <fmt/format.h>

#include "base/named_values.h"
#include "mapping/sealed_file.h"

namespace fatctx {
namespace {

constexpr NamedValue<FileMapping> kFileMappings[] = {
    {FileMapping::kAuto, "auto"},
    {FileMapping::kRequire, "require"},
    {FileMapping::kDisabled, "disabled"},
};

std::atomic<std::uint64_t> fallbacks{0};

class ProvidedRegion final : public mapping::MappedRegion {
 public:
  ProvidedRegion(std::shared_ptr<MappingProvider> provider, ByteView bytes) noexcept
      : provider_(std::move(provider)), bytes_(bytes) {}
  ~ProvidedRegion() override { provider_->unmap(bytes_); }
  ProvidedRegion(const ProvidedRegion&) = delete;
  ProvidedRegion& operator=(const ProvidedRegion&) = delete;
  [[nodiscard]] ByteView bytes() const noexcept override { return bytes_; }

 private:
  std::shared_ptr<MappingProvider> provider_;
  ByteView bytes_;
};

}  // namespace

std::string_view file_mapping_name(FileMapping mapping) noexcept { return name_in(kFileMappings, mapping); }

std::optional<FileMapping> file_mapping_from_name(std::string_view name) noexcept {
  return value_in(kFileMappings, name);
}

MappingCapability file_mapping_capability() {
  return {.available = true,
          .how = std::string(mapping::mapping_method()),
          .page_bytes = mapping::page_bytes(),
          .provider = std::string(mapping::provider_name()),
          .granule_bytes = mapping::map_granule_bytes(),
          .stitched = true,
          // Found by a trial: a kernel or a sandbox may lack it.
          .sealed_memory = mapping::SealedFile::make(mapping::page_bytes()).ok()};
}

std::uint64_t file_mapping_fallbacks() noexcept { return fallbacks.load(std::memory_order_relaxed); }

void count_file_mapping_fallback() noexcept { fallbacks.fetch_add(1, std::memory_order_relaxed); }

Result<std::unique_ptr<mapping::MappedRegion>> map_region(const mapping::OsFile& file, std::uint64_t size,
                                                          const std::shared_ptr<MappingProvider>& provider) {
  if (!provider || !file.memory().empty()) return mapping::map_file(file, size);
  FATCTX_TRY(mapping::check_mappable(file, size));
  auto mapped = provider->map(file.descriptor(), file.base(), size);
  if (!mapped.ok()) return in_context(std::move(mapped).error(), provider->name());
  auto region = std::make_unique<ProvidedRegion>(provider, mapped.value());
  if (region->bytes().size() != size || region->bytes().data() == nullptr) {
    return Error{ErrorCode::kInternal,
                 fmt::format("{}: {} bytes were mapped instead of {}", provider->name(), region->bytes().size(), size)};
  }
  FATCTX_TRY(mapping::check_mappable(file, size));
  return std::unique_ptr<mapping::MappedRegion>(std::move(region));
}

Result<std::string> asked_copy_reason(const std::string& name, const OpenOptions& options) {
  if (options.verify == VerifyPolicy::kPrivateCopy) {
    const std::string_view conflict = options.file_mapping == FileMapping::kRequire ? "mapping is required"
                                      : options.allocator ? "memory of the caller cannot be sealed"
                                                          : "";
    if (!conflict.empty()) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("{}: private copies were requested, and {}; choose one", name, conflict)};
    }
    return std::string("private copies were requested");
  }
  if (options.allocator) {
    if (options.file_mapping == FileMapping::kRequire) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("{}: views cannot be mapped and be placed in memory of {}; choose one", name,
                               options.allocator->name())};
    }
    return fmt::format("views are placed in memory of {}", options.allocator->name());
  }
  if (options.file_mapping == FileMapping::kDisabled) return std::string("file mapping is disabled by the caller");
  return std::string();
}

Error copy_not_allowed(const std::string& name, const std::string& reason, std::uint64_t bytes) {
  return Error{ErrorCode::kCopyNotAllowed,
               fmt::format("{}: mapping is required, and {}; with file mapping \"auto\" the used part of {} "
                           "bytes would be copied once",
                           name, reason, bytes)};
}

Error copy_not_allowed(const std::string& name, const std::string& reason, std::span<const RecordInfo> records) {
  std::uint64_t bytes = 0;
  for (const RecordInfo& record : records) {
    if (record.type == RecordType::kContextBinary || record.type == RecordType::kWeightBlob) bytes += record.size_bytes;
  }
  return copy_not_allowed(name, reason, bytes);
}

std::string consumer_reason(const MappingSupport& consumer) {
  if (consumer.takes_mapped_memory) return {};
  return fmt::format("the consumer cannot take mapped memory: {}",
                     consumer.reason.empty() ? "it gave no reason" : consumer.reason);
}

}  // namespace fatctx
