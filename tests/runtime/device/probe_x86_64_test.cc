// Compares the probe with the result of the compiler's own run-time library on this host.
#if defined(__x86_64__)

#include <gtest/gtest.h>

#include <string>

#include "runtime/device/probe.h"

namespace fatctx::runtime {
namespace probe_x86_64_test {

// Returns the level. It tests each level by instruction sets that processors never had without the rest of the level.
std::string level_of_the_compilers_library() {
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) return "x86-64-v4";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) {
    return "x86-64-v3";
  }
  return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt") ? "x86-64-v2" : "x86-64-v1";
}

TEST(ProbeX86, AgreesWithTheCompilersLibraryOnThisHost) {
  EXPECT_EQ(probe_cpu().target.arch, level_of_the_compilers_library());
}

TEST(ProbeX86, ShowsTheRegistersItRead) {
  const CpuProbe probe = probe_cpu();

  ASSERT_EQ(probe.sources.size(), 2u);
  EXPECT_EQ(probe.sources[0].id, "cpuid");
  EXPECT_NE(probe.sources[0].raw.find("7.0 eax="), std::string::npos) << probe.sources[0].raw;
  EXPECT_EQ(probe.sources[1].id, "xgetbv");
  EXPECT_TRUE(probe.sources[1].raw.starts_with("xcr0=")) << probe.sources[1].raw;
}

}  // namespace probe_x86_64_test
}  // namespace fatctx::runtime

#endif
