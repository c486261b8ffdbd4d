// Tells how the records of a file share bytes. Records that an append or a rewrite adds share in the same way.
#pragma once

#include <vector>

#include "container/read/parse.h"
#include "fatctx/packer.h"

namespace fatctx::container {

// Returns kBytes if a record is a recipe, else kPages. A weight blob with a table of tensors does not count: tensors
// that are stored once make a recipe of it in every mode. `left_out`: as for find_present_bytes(); empty for none.
[[nodiscard]] Sharing sharing_of(const Toc& toc, const std::vector<bool>& left_out = {});

}  // namespace fatctx::container
