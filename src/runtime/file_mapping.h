// What the runtime needs of the switch beside its public header.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "fatctx/container.h"
#include "fatctx/file_mapping.h"
#include "mapping/mapped_region.h"
#include "mapping/os_file.h"

namespace fatctx {

// Maps [0, size) of `file`, by the provider if there is one. Errors: those of map_file, those of the provider.
[[nodiscard]] Result<std::unique_ptr<mapping::MappedRegion>> map_region(
    const mapping::OsFile& file, std::uint64_t size, const std::shared_ptr<MappingProvider>& provider);

// copy_not_allowed, with the bytes that copies of these records would take.
[[nodiscard]] Error copy_not_allowed(const std::string& name, const std::string& reason,
                                     std::span<const RecordInfo> records);

void count_file_mapping_fallback() noexcept;

}  // namespace fatctx
