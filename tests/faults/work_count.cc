#include "faults/work_count.h"

#include <sys/resource.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

#include <fmt/format.h>
#include <xxhash.h>

#include "faults/allocation_count.h"
#include "faults/os_faults.h"

namespace fatctx::faults {
namespace {

std::atomic<long> hashes{0};
std::atomic<std::uint64_t> hashed_bytes{0};

void count_hash(std::size_t size) {
  hashes.fetch_add(1, std::memory_order_relaxed);
  hashed_bytes.fetch_add(size, std::memory_order_relaxed);
}

}  // namespace

std::string work_of(const std::function<void()>& call) {
  const Counted counted;
  hashes = 0;
  hashed_bytes = 0;
  call();
  std::string text;
  for (const auto& [name, times] : counted.calls()) {
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name, times);
  }
  return text + fmt::format("; {} bytes read, {} written; {} hashes of {} bytes", counted.bytes_read(),
                            counted.bytes_written(), hashes.load(), hashed_bytes.load());
}

long allocations_of(const std::function<void()>& call) {
  const long before = allocations_of_this_thread();
  call();
  return allocations_of_this_thread() - before;
}

long page_faults_of(const std::function<void()>& call) {
  struct rusage before {};
  struct rusage after {};
  ::getrusage(RUSAGE_SELF, &before);
  call();
  ::getrusage(RUSAGE_SELF, &after);
  return after.ru_minflt - before.ru_minflt;
}

}  // namespace fatctx::faults

using fatctx::faults::count_hash;

// NOLINTBEGIN: names and signatures are the linker's and the library's.
extern "C" {

XXH64_hash_t __real_XXH3_64bits_dispatch(const void* input, size_t size);
XXH64_hash_t __wrap_XXH3_64bits_dispatch(const void* input, size_t size) {
  count_hash(size);
  return __real_XXH3_64bits_dispatch(input, size);
}

XXH128_hash_t __real_XXH3_128bits_withSeed_dispatch(const void* input, size_t size, XXH64_hash_t seed);
XXH128_hash_t __wrap_XXH3_128bits_withSeed_dispatch(const void* input, size_t size, XXH64_hash_t seed) {
  count_hash(size);
  return __real_XXH3_128bits_withSeed_dispatch(input, size, seed);
}

XXH_errorcode __real_XXH3_128bits_update_dispatch(XXH3_state_t* state, const void* input, size_t size);
XXH_errorcode __wrap_XXH3_128bits_update_dispatch(XXH3_state_t* state, const void* input, size_t size) {
  count_hash(size);
  return __real_XXH3_128bits_update_dispatch(state, input, size);
}

}  // extern "C"
// NOLINTEND
