// Defines the functions of libxxhash.so that choose vectors at run time, for programs that link statically: Debian's
// libxxhash.a lacks them. Here they use the vectors that every processor has. This library follows libxxhash on the
// command line of the linker, so it is taken only if libxxhash has not defined them.
#include <cstddef>

#include <xxhash.h>

extern "C" {

XXH64_hash_t XXH3_64bits_dispatch(const void* input, std::size_t size) { return XXH3_64bits(input, size); }

XXH128_hash_t XXH3_128bits_withSeed_dispatch(const void* input, std::size_t size, XXH64_hash_t seed) {
  return XXH3_128bits_withSeed(input, size, seed);
}

XXH_errorcode XXH3_128bits_update_dispatch(XXH3_state_t* state, const void* input, std::size_t size) {
  return XXH3_128bits_update(state, input, size);
}

}  // extern "C"
