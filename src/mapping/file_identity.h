// The identity of a file, and a check that it still looks the same: the answer of one stat.
#pragma once

#include <compare>
#include <cstdint>

namespace fatctx::mapping {

struct FileTime {
  std::int64_t seconds = 0;
  std::int64_t nanoseconds = 0;
  friend constexpr bool operator==(const FileTime&, const FileTime&) noexcept = default;
};

struct FileIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t inode_high = 0;  // the upper half where a system has 128 bits to name a file by
  std::uint64_t size = 0;
  std::uint64_t base = 0;  // where it begins, when it is a part of a larger file; `size` is then that of the part
  FileTime modified;
  FileTime changed;
  bool regular = false;

  // Equal: nothing that a stat shows has changed. A rewrite within one clock tick that keeps the size goes unseen.
  friend constexpr bool operator==(const FileIdentity&, const FileIdentity&) noexcept = default;
};

}  // namespace fatctx::mapping
