// What the runtime needs of the switch beside its public header.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "fatctx/file_mapping.h"
#include "fatctx/open_options.h"
#include "fatctx/record.h"
#include "mapping/mapped_region.h"
#include "mapping/os_file.h"

namespace fatctx {

// Maps [0, size) of `file`, by the provider if there is one. Errors: those of map_file, those of the provider.
[[nodiscard]] Result<std::unique_ptr<mapping::MappedRegion>> map_region(
    const mapping::OsFile& file, std::uint64_t size, const std::shared_ptr<MappingProvider>& provider);

// Why views are copies that nobody is asked about; empty if the file is to be mapped. Errors: invalid_argument (the
// options contradict each other).
[[nodiscard]] Result<std::string> asked_copy_reason(const std::string& name, const OpenOptions& options);

// copy_not_allowed, with the bytes that copies would take; or copies of these records.
[[nodiscard]] Error copy_not_allowed(const std::string& name, const std::string& reason, std::uint64_t bytes);
[[nodiscard]] Error copy_not_allowed(const std::string& name, const std::string& reason,
                                     std::span<const RecordInfo> records);

void count_file_mapping_fallback() noexcept;

}  // namespace fatctx
