// Applies the filters of `fatctx info` to the records of a container.
#pragma once

#include <vector>

#include "base/json.h"
#include "fatctx/container.h"
#include "tools/inspect/filters.h"

namespace fatctx::tools {

// Returns true if the pattern fits the target as a whole, or one of its words.
[[nodiscard]] bool target_fits(std::string_view pattern, std::string_view target);

// Returns true if name, type and target fit. A pattern of targets may be one word of it, such as "v73".
[[nodiscard]] bool is_chosen(const RecordInfo& record, const ViewFilter& filter);

// Returns the records that fit, in their order or the largest first. Lifetime: borrows from `container`.
[[nodiscard]] std::vector<RecordInfo> chosen_records(const Container& container, const ViewFilter& filter);

// Returns the indices of the tensors whose types fit, in their order or the largest first.
[[nodiscard]] std::vector<std::size_t> chosen_tensors(const TensorTable& tensors, const ViewFilter& filter);

// Returns the document of info_json() with the same records and their graphs alone.
[[nodiscard]] Json filtered_info(const Json& document, const Container& container, const ViewFilter& filter);

}  // namespace fatctx::tools
