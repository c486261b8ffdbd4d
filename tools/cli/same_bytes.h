// Compares a file outside of a container with a record.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "fatctx/base/result.h"
#include "fatctx/container.h"

namespace fatctx::tools {

// Returns the offset of the first difference, or nothing if the bytes are the same. Reads the record as
// stream_record() does, checked, and stops at the first difference. If the sizes differ, the end of the
// shorter one is a difference. Errors: those of stream_record(); of the file not_found, io.
[[nodiscard]] Result<std::optional<std::uint64_t>> first_difference(const Container& container,
                                                                    const RecordInfo& record, const std::string& path,
                                                                    const Progress& progress = {});
[[nodiscard]] Result<std::optional<std::uint64_t>> first_difference_in(const Container& container,
                                                                       const RecordInfo& record,
                                                                       std::string_view bytes);

}  // namespace fatctx::tools
