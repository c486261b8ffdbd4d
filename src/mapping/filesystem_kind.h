// The kind of filesystem that stores a file: network and FUSE filesystems may change or lose bytes at any time.
#pragma once

#include <cstdint>
#include <string_view>

namespace fatctx::mapping {

struct FilesystemKind {
  std::string_view name = "unknown";  // static storage
  bool remote = false;                // network or FUSE
};

// Classifies by the magic number that statfs reports on Linux, or by the name that other systems report, in any letter
// case. Pure, so that kinds are tested that no test can mount.
[[nodiscard]] FilesystemKind filesystem_kind_of_magic(std::uint64_t magic) noexcept;
[[nodiscard]] FilesystemKind filesystem_kind_of_name(std::string_view name) noexcept;
// Never fails: if the system does not report it, the kind is "unknown" and counts as remote.
[[nodiscard]] FilesystemKind filesystem_kind(int descriptor) noexcept;

}  // namespace fatctx::mapping
