#include "mapping/still_file.h"

namespace fatctx::mapping {

// There is no lease here, and the page cache cannot be asked: bytes are read.
Result<bool> StillFile::show(const OsFile& /*file*/, ByteRange /*range*/, const MappedPlace& /*mapped*/,
                             const Look& /*look*/) {
  (void)lease_, (void)holders_, (void)refused_, (void)process_, (void)local_;
  return false;
}

}  // namespace fatctx::mapping
