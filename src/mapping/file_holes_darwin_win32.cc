#include "mapping/file_holes.h"

#include "mapping/write_zeros.h"

namespace fatctx::mapping {

// A seek would move the place in the file for everybody who shares the description, and these systems open none anew.
std::vector<ByteRange> holes_of(const OsFile& /*file*/, ByteRange /*range*/) { return {}; }

bool punch_hole(OsFile& /*file*/, ByteRange /*range*/) noexcept { return false; }
Status make_hole(OsFile& file, ByteRange range) { return write_zeros(file, range); }

}  // namespace fatctx::mapping
