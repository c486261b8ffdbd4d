// The captured numbers by which a processor describes itself, and the target that follows from them.
//
// Only probe_*.cc read the numbers. The rest is pure, so that numbers captured on any processor can be tested on any
// host.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace fatctx::runtime {

// The four registers that one cpuid leaf returns; all zero if the processor does not have the leaf.
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
  std::uint64_t xcr0 = 0;  // register states that the system saves; 0 if xgetbv is not enabled
};

struct Aarch64Facts {
  std::uint64_t hwcap = 0;
  std::uint64_t hwcap2 = 0;
};

struct CpuTarget {
  std::string arch;                   // "x86-64-v3", "aarch64"; empty if even the lowest level is missing
  std::vector<std::string> features;  // sorted; on x86-64 only words that no level contains
};

// Returns the highest level of the x86-64 psABI, and the words beyond it. An instruction counts only if the system
// saves the registers it uses.
[[nodiscard]] CpuTarget x86_target(const X86Facts& facts);

[[nodiscard]] CpuTarget aarch64_target(const Aarch64Facts& facts);

// Returns all levels and words that x86_target() can return, or all words that aarch64_target() can return.
[[nodiscard]] std::vector<std::string> x86_levels();
[[nodiscard]] std::vector<std::string> x86_features();
[[nodiscard]] std::vector<std::string> aarch64_features();

}  // namespace fatctx::runtime
