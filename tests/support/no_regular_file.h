#pragma once

namespace fatctx::support {

// A path that can be opened, but not as a regular file.
#ifdef _WIN32
inline constexpr const char* kNoRegularFile = "NUL";
#else
inline constexpr const char* kNoRegularFile = "/dev/zero";
#endif

}  // namespace fatctx::support
