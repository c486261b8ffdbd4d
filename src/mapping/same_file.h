// Compares two results of stat: do they name the same file?
#pragma once

#include "mapping/file_identity.h"

namespace fatctx::mapping {

// Does not detect that the file has changed between the two calls. The system reuses the number of a removed file, so a
// caller that compares over time must compare more.
[[nodiscard]] constexpr bool is_same_file(const FileIdentity& a, const FileIdentity& b) noexcept {
  return a.device == b.device && a.inode == b.inode && a.inode_high == b.inode_high;
}

}  // namespace fatctx::mapping
