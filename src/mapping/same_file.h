// Compares two answers of stat: true if they are of one file.
#pragma once

#include "mapping/file_identity.h"

namespace fatctx::mapping {

// Does not detect changes of the file between the two answers. Its number is given to another file once it is gone, so
// a caller that looks at different times must compare more.
[[nodiscard]] constexpr bool is_same_file(const FileIdentity& a, const FileIdentity& b) noexcept {
  return a.device == b.device && a.inode == b.inode && a.inode_high == b.inode_high;
}

}  // namespace fatctx::mapping
