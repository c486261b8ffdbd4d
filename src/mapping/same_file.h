// Compares two answers of stat: true if they are of one file.
#pragma once

#include "mapping/file_identity.h"

namespace fatctx::mapping {

// Whatever has become of the file between the two looks. Its number is given to another one once the file is gone, so
// whoever looks at different times compares more.
[[nodiscard]] constexpr bool is_same_file(const FileIdentity& a, const FileIdentity& b) noexcept {
  return a.device == b.device && a.inode == b.inode && a.inode_high == b.inode_high;
}

}  // namespace fatctx::mapping
