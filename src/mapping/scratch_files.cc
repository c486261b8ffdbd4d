#include "mapping/scratch_files.h"

#include <utility>

namespace fatctx::mapping {

Result<ScratchFiles> ScratchFiles::make_on_disk(std::size_t count) {
  FATCTX_ASSIGN(WorkFolder folder, WorkFolder::create_temporary());
  ScratchFiles made;
  made.folder_ = folder.path_of({});
  made.folder_.pop_back();  // the slash before the empty name
  made.disk_ = std::move(folder);
  for (std::size_t i = 0; i < count; ++i) made.names_.push_back(std::to_string(i));
  return made;
}

}  // namespace fatctx::mapping
