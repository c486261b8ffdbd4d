// The content that a reader finds in bytes that may disappear during the read.
#pragma once

#include <cstddef>
#include <cstring>
#include <string>

#include "fatctx/base/bytes.h"

namespace fatctx::support {

// Returns "right"; "zeros" if every wrong byte is zero; "other" otherwise.
[[nodiscard]] inline std::string look(ByteView bytes, ByteView right) {
  if (bytes.size() != right.size()) return "other";
  if (bytes.empty() || std::memcmp(bytes.data(), right.data(), bytes.size()) == 0) return "right";
  bool zeros = false;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    // A reader does not check before it reads.
    const auto byte = *reinterpret_cast<const volatile std::byte*>(bytes.data() + i);
    if (byte == right[i]) continue;
    if (byte != std::byte{0}) return "other";
    zeros = true;
  }
  return zeros ? "zeros" : "right";
}

}  // namespace fatctx::support
