#include <unistd.h>

#include <utility>

#include "mapping/memfd_linux.h"
#include "mapping/scratch_files.h"

namespace fatctx::mapping {

Result<ScratchFiles> ScratchFiles::make(std::size_t count) {
  ScratchFiles made;
  made.folder_ = "/proc/self/fd";
  for (std::size_t i = 0; i < count; ++i) {
    UniqueFd file(make_memory_file());
    if (!file.valid()) return make_on_disk(count);
    made.names_.push_back(std::to_string(file.get()));
    made.memory_.push_back(std::move(file));
    // A process that may not be traced cannot use these paths, nor can one without /proc.
    if (::access(made.path(i).c_str(), R_OK | W_OK) != 0) return make_on_disk(count);
  }
  return made;
}

}  // namespace fatctx::mapping
