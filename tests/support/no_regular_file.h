#pragma once

namespace fatctx::support {

// The path of something that opens and is no regular file.
#ifdef _WIN32
inline constexpr const char* kNoRegularFile = "NUL";
#else
inline constexpr const char* kNoRegularFile = "/dev/zero";
#endif

}  // namespace fatctx::support
