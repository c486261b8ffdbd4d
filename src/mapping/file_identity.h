// The identity of a file, from one stat, to check that the file still looks the same.
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
  std::uint64_t inode_high = 0;  // the upper half, if the system identifies files with 128 bits
  std::uint64_t size = 0;
  std::uint64_t base = 0;  // start of a part of a larger file; `size` is then that of the part
  FileTime modified;
  FileTime changed;
  bool regular = false;

  // Equal identities: nothing that a stat shows has changed. Does not detect a rewrite within one clock tick that keeps
  // the size.
  friend constexpr bool operator==(const FileIdentity&, const FileIdentity&) noexcept = default;
};

}  // namespace fatctx::mapping
