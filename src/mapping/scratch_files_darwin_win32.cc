#include "mapping/scratch_files.h"

namespace fatctx::mapping {

Result<ScratchFiles> ScratchFiles::make(std::size_t count) { return make_on_disk(count); }

}  // namespace fatctx::mapping
