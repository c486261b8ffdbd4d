// The kind of filesystem that stores a file: networks and FUSE may change or lose bytes at any time.
#pragma once

#include <cstdint>
#include <string_view>

namespace fatctx::mapping {

struct FilesystemKind {
  std::string_view name = "unknown";  // static storage
  bool remote = false;                // network or FUSE
};

// From the magic number that statfs reports on Linux, or from the name that other systems give, in any case; pure, so
// that kinds which cannot be mounted in a test are tested too.
[[nodiscard]] FilesystemKind filesystem_kind_of_magic(std::uint64_t magic) noexcept;
[[nodiscard]] FilesystemKind filesystem_kind_of_name(std::string_view name) noexcept;
// Never fails: a filesystem that cannot be asked is "unknown", and trusted no more than a remote one.
[[nodiscard]] FilesystemKind filesystem_kind(int descriptor) noexcept;

}  // namespace fatctx::mapping
