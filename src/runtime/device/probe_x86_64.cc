// Probe for x86-64: the cpuid and xgetbv instructions. They need no system call and no file, so they work in every
// sandbox.
#if defined(__x86_64__)

#include <cpuid.h>
#include <fmt/format.h>

#include "runtime/device/probe.h"

namespace fatctx::runtime {
namespace {

// Returns zeros if the processor has no such leaf.
CpuidLeaf read_leaf(std::uint32_t leaf, std::uint32_t subleaf) {
  CpuidLeaf registers;
  __get_cpuid_count(leaf, subleaf, &registers.eax, &registers.ebx, &registers.ecx, &registers.edx);
  return registers;
}

// Reads XCR0. Requires: the osxsave bit of leaf 1 is set; otherwise the instruction faults.
// Uses assembly because the intrinsic requires that the whole file is compiled for processors that have it.
std::uint64_t read_xcr0() {
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (std::uint64_t{high} << 32) | low;
}

X86Facts read_facts() {
  constexpr std::uint32_t kOsxsave = 1u << 27;
  X86Facts facts;
  facts.leaf_1 = read_leaf(1, 0);
  facts.leaf_7_0 = read_leaf(7, 0);
  if (facts.leaf_7_0.eax >= 1) facts.leaf_7_1 = read_leaf(7, 1);  // eax is the highest subleaf
  facts.leaf_80000001 = read_leaf(0x80000001, 0);
  if ((facts.leaf_1.ecx & kOsxsave) != 0) facts.xcr0 = read_xcr0();
  return facts;
}

std::string raw_text(const char* leaf, const CpuidLeaf& r) {
  return fmt::format("{} eax={:08x} ebx={:08x} ecx={:08x} edx={:08x}", leaf, r.eax, r.ebx, r.ecx, r.edx);
}

}  // namespace

CpuProbe probe_cpu() {
  const X86Facts facts = read_facts();
  const std::string leaves = fmt::format("{}; {}; {}; {}", raw_text("1", facts.leaf_1), raw_text("7.0", facts.leaf_7_0),
                                         raw_text("7.1", facts.leaf_7_1), raw_text("80000001", facts.leaf_80000001));
  return {
      .target = x86_target(facts),
      .sources = {
          {.id = "cpuid", .raw = leaves, .state = "used"},
          {.id = "xgetbv", .raw = fmt::format("xcr0={:x}", facts.xcr0), .state = facts.xcr0 == 0 ? "absent" : "used"}}};
}

}  // namespace fatctx::runtime

#endif
