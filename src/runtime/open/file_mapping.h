// The internal part of fatctx/file_mapping.h, for the runtime only.
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

// Maps [0, size) of `file`, through the provider if there is one. Errors: those of map_file and of the provider.
[[nodiscard]] Result<std::unique_ptr<mapping::MappedRegion>> map_region(
    const mapping::OsFile& file, std::uint64_t size, const std::shared_ptr<MappingProvider>& provider);

// Returns why the options ask for copies; empty if the file is to be mapped.
// Errors: invalid_argument (the options contradict each other).
[[nodiscard]] Result<std::string> asked_copy_reason(const std::string& name, const OpenOptions& options);

// Returns copy_not_allowed, with the number of bytes that copies would take. The second overload counts the bytes of
// these records.
[[nodiscard]] Error copy_not_allowed(const std::string& name, const std::string& reason, std::uint64_t bytes);
[[nodiscard]] Error copy_not_allowed(const std::string& name, const std::string& reason,
                                     std::span<const RecordInfo> records);

// Returns why a consumer that cannot take mapped memory gets copies; empty if it can.
[[nodiscard]] std::string consumer_reason(const MappingSupport& consumer);

void count_file_mapping_fallback() noexcept;

}  // namespace fatctx
