// Tells if this build runs under an address or thread sanitizer, for tests with special needs there.
#pragma once

namespace fatctx::support {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#elif defined(__has_feature)
inline constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
inline constexpr bool kSanitized = false;
#endif

// Step of sweeps over every byte of a file or every call. The release build takes all of them, a sanitizer one in 31.
// The step is a prime, so that each byte of a field is reached in some entry.
inline constexpr int kStride = kSanitized ? 7 : 1;

}  // namespace fatctx::support
