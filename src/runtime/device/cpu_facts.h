// What a processor says about itself, as captured numbers, and what follows from them.
//
// Reading the numbers is the work of probe_*.cc; the rest is pure, so that captured numbers of any processor can be
// tested on any host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fatctx::runtime {

// The four registers that one cpuid leaf returns; all zero for a leaf the processor does not have.
struct CpuidLeaf {
  std::uint32_t eax = 0;
  std::uint32_t ebx = 0;
  std::uint32_t ecx = 0;
  std::uint32_t edx = 0;
};

struct X86Facts {
  CpuidLeaf leaf_1 = {};
  CpuidLeaf leaf_7_0 = {};
  CpuidLeaf leaf_7_1 = {};
  CpuidLeaf leaf_80000001 = {};
  std::uint64_t xcr0 = 0;  // register states that the system saves; 0 if it has not enabled xgetbv
};

struct Aarch64Facts {
  std::uint64_t hwcap = 0;
  std::uint64_t hwcap2 = 0;
};

struct CpuTarget {
  std::string arch;                   // "x86-64-v3", "aarch64"; empty if not even the lowest level is there
  std::vector<std::string> features;  // sorted; on x86-64 only words that no level contains
};

// The highest level of the x86-64 psABI, and the words beyond it. Instructions count only if the system saves the
// registers they use.
[[nodiscard]] CpuTarget x86_target(const X86Facts& facts);

[[nodiscard]] CpuTarget aarch64_target(const Aarch64Facts& facts);

// What x86_target() can give, levels and words, and the words of aarch64_target().
[[nodiscard]] std::vector<std::string> x86_levels();
[[nodiscard]] std::vector<std::string> x86_features();
[[nodiscard]] std::vector<std::string> aarch64_features();

}  // namespace fatctx::runtime
