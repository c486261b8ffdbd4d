#include "runtime/device/cpu_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace fatctx::runtime {
namespace cpu_facts_test {

using Words = std::vector<std::string>;

struct Reported {
  const char* processor;
  X86Facts facts;
  const char* arch;
  Words features;
};

// Feature words as processors of these families report them, assembled by hand from the published feature lists: no
// register here was read from a machine.
const Reported kReported[] = {
    {"Core 2, no SSE4.2 and no POPCNT",
     {.leaf_1 = {.ecx = 0x0408e3fd, .edx = 0xbfebfbff}, .leaf_80000001 = {.ecx = 0x1, .edx = 0x20100800}},
     "x86-64-v1",
     {}},
    {"Nehalem",
     {.leaf_1 = {.ecx = 0x0098e3bd, .edx = 0xbfebfbff}, .leaf_80000001 = {.ecx = 0x1, .edx = 0x28100800}},
     "x86-64-v2",
     {}},
    {"Sandy Bridge: AVX, but no AVX2",
     {.leaf_1 = {.ecx = 0x1fbae3ff, .edx = 0xbfebfbff}, .leaf_80000001 = {.ecx = 0x1, .edx = 0x28100800}, .xcr0 = 0x7},
     "x86-64-v2",
     {}},
    {"Haswell",
     {.leaf_1 = {.ecx = 0x7ffafbff, .edx = 0xbfebfbff},
      .leaf_7_0 = {.ebx = 0x000027ab},
      .leaf_80000001 = {.ecx = 0x21, .edx = 0x2c100800},
      .xcr0 = 0x7},
     "x86-64-v3",
     {}},
    {"Zen 2",
     {.leaf_1 = {.ecx = 0x7ed8320b, .edx = 0x178bfbff},
      .leaf_7_0 = {.ebx = 0x219c91a9},
      .leaf_80000001 = {.ecx = 0x75c237ff, .edx = 0x2fd3fbff},
      .xcr0 = 0x207},
     "x86-64-v3",
     {}},
    {"Alder Lake",
     {.leaf_1 = {.ecx = 0x7ffafbff, .edx = 0xbfebfbff},
      .leaf_7_0 = {.eax = 1, .ebx = 0x239c27eb, .ecx = 0x98c007ac, .edx = 0xfc184410},
      .leaf_7_1 = {.eax = 0x00400810},
      .leaf_80000001 = {.ecx = 0x121, .edx = 0x2c100800},
      .xcr0 = 0x207},
     "x86-64-v3",
     {"avx-vnni"}},
    {"Skylake server",
     {.leaf_1 = {.ecx = 0x7ffefbff, .edx = 0xbfebfbff},
      .leaf_7_0 = {.ebx = 0xd39ffffb, .ecx = 0x8},
      .leaf_80000001 = {.ecx = 0x121, .edx = 0x2c100800},
      .xcr0 = 0x2ff},
     "x86-64-v4",
     {}},
    {"Zen 4",
     {.leaf_1 = {.ecx = 0x7ef8320b, .edx = 0x178bfbff},
      .leaf_7_0 = {.eax = 1, .ebx = 0xf1bf97a9, .ecx = 0x00405fce, .edx = 0x10000010},
      .leaf_7_1 = {.eax = 0x00000020},
      .leaf_80000001 = {.ecx = 0x75c237ff, .edx = 0x2fd3fbff},
      .xcr0 = 0x2e7},
     "x86-64-v4",
     {"avx512-bf16", "avx512-vnni"}},
    {"Sapphire Rapids",
     {.leaf_1 = {.ecx = 0x7ffefbff, .edx = 0xbfebfbff},
      .leaf_7_0 = {.eax = 2, .ebx = 0xf3bfbffb, .ecx = 0xfb415ffe, .edx = 0xffdd4432},
      .leaf_7_1 = {.eax = 0x00001c30},
      .leaf_80000001 = {.ecx = 0x121, .edx = 0x2c100800},
      .xcr0 = 0x602e7},
     "x86-64-v4",
     {"amx", "avx-vnni", "avx512-bf16", "avx512-fp16", "avx512-vnni"}},
};

TEST(X86Target, LevelsAndWordsOfKnownProcessors) {
  for (const Reported& row : kReported) {
    const CpuTarget target = x86_target(row.facts);
    EXPECT_EQ(target.arch, row.arch) << row.processor;
    EXPECT_EQ(target.features, row.features) << row.processor;
  }
}

X86Facts sapphire_rapids() { return kReported[std::size(kReported) - 1].facts; }

// A bit that a level needs, by hand from the psABI's list. If it is missing, the level below is the highest.
struct NeededBit {
  const char* instruction;
  std::uint32_t& (*word)(X86Facts&);
  unsigned bit;
  const char* arch_without;
};
std::uint32_t& leaf_1_ecx(X86Facts& f) { return f.leaf_1.ecx; }
std::uint32_t& leaf_1_edx(X86Facts& f) { return f.leaf_1.edx; }
std::uint32_t& leaf_7_ebx(X86Facts& f) { return f.leaf_7_0.ebx; }
std::uint32_t& extended_ecx(X86Facts& f) { return f.leaf_80000001.ecx; }
const NeededBit kNeeded[] = {
    {"x87", leaf_1_edx, 0, ""},
    {"cmpxchg8b", leaf_1_edx, 8, ""},
    {"cmov", leaf_1_edx, 15, ""},
    {"mmx", leaf_1_edx, 23, ""},
    {"fxsave", leaf_1_edx, 24, ""},
    {"sse", leaf_1_edx, 25, ""},
    {"sse2", leaf_1_edx, 26, ""},
    {"sse3", leaf_1_ecx, 0, "x86-64-v1"},
    {"ssse3", leaf_1_ecx, 9, "x86-64-v1"},
    {"cmpxchg16b", leaf_1_ecx, 13, "x86-64-v1"},
    {"sse4.1", leaf_1_ecx, 19, "x86-64-v1"},
    {"sse4.2", leaf_1_ecx, 20, "x86-64-v1"},
    {"popcnt", leaf_1_ecx, 23, "x86-64-v1"},
    {"lahf", extended_ecx, 0, "x86-64-v1"},
    {"fma", leaf_1_ecx, 12, "x86-64-v2"},
    {"movbe", leaf_1_ecx, 22, "x86-64-v2"},
    {"osxsave", leaf_1_ecx, 27, "x86-64-v2"},
    {"avx", leaf_1_ecx, 28, "x86-64-v2"},
    {"f16c", leaf_1_ecx, 29, "x86-64-v2"},
    {"bmi1", leaf_7_ebx, 3, "x86-64-v2"},
    {"avx2", leaf_7_ebx, 5, "x86-64-v2"},
    {"bmi2", leaf_7_ebx, 8, "x86-64-v2"},
    {"lzcnt", extended_ecx, 5, "x86-64-v2"},
    {"avx512f", leaf_7_ebx, 16, "x86-64-v3"},
    {"avx512dq", leaf_7_ebx, 17, "x86-64-v3"},
    {"avx512cd", leaf_7_ebx, 28, "x86-64-v3"},
    {"avx512bw", leaf_7_ebx, 30, "x86-64-v3"},
    {"avx512vl", leaf_7_ebx, 31, "x86-64-v3"},
};

TEST(X86Target, ALevelFallsWithEveryOneOfItsInstructions) {
  for (const NeededBit& needed : kNeeded) {
    X86Facts facts = sapphire_rapids();
    needed.word(facts) &= ~(1u << needed.bit);

    EXPECT_EQ(x86_target(facts).arch, needed.arch_without) << needed.instruction;
  }
}

struct StateRow {
  std::uint64_t xcr0;
  const char* arch;
  Words features;
};
const StateRow kStates[] = {
    {0x0, "x86-64-v2", {}},             // a system without xsave
    {0x2, "x86-64-v2", {}},             // no upper halves of ymm
    {0x4, "x86-64-v2", {}},             // impossible, and still not trusted
    {0x7, "x86-64-v3", {"avx-vnni"}},   // AVX-512 switched off, as some hypervisors do
    {0xc7, "x86-64-v3", {"avx-vnni"}},  // masks not saved
    {0xa7, "x86-64-v3", {"avx-vnni"}},  // upper halves not saved
    {0x67, "x86-64-v3", {"avx-vnni"}},  // upper sixteen registers not saved
    {0xe7, "x86-64-v4", {"avx-vnni", "avx512-bf16", "avx512-fp16", "avx512-vnni"}},     // no tiles
    {0x200e7, "x86-64-v4", {"avx-vnni", "avx512-bf16", "avx512-fp16", "avx512-vnni"}},  // tile data not saved
    {0x600e7, "x86-64-v4", {"amx", "avx-vnni", "avx512-bf16", "avx512-fp16", "avx512-vnni"}},
};

TEST(X86Target, InstructionsCountOnlyIfTheSystemSavesTheirRegisters) {
  for (const StateRow& row : kStates) {
    X86Facts facts = sapphire_rapids();
    facts.xcr0 = row.xcr0;

    EXPECT_EQ(x86_target(facts).arch, row.arch) << std::hex << row.xcr0;
    EXPECT_EQ(x86_target(facts).features, row.features) << std::hex << row.xcr0;
  }
}

TEST(X86Target, AmxNeedsTilesAndBothOfTheirFirstDataTypes) {
  for (const unsigned bit : {22u, 24u, 25u}) {
    X86Facts facts = sapphire_rapids();
    facts.leaf_7_0.edx &= ~(1u << bit);

    const Words words = x86_target(facts).features;

    EXPECT_EQ(std::count(words.begin(), words.end(), "amx"), 0) << bit;
  }
}

struct HwcapRow {
  const char* processor;
  Aarch64Facts facts;
  Words features;
};
const HwcapRow kHwcaps[] = {
    {"nothing beyond the base", {}, {}},
    {"Cortex-A53", {.hwcap = 0xff}, {}},
    {"Cortex-A76", {.hwcap = 0x119fff}, {"dotprod", "fp16"}},
    {"scalable vectors of the first kind, with 8-bit and bfloat16 matrices",
     {.hwcap = 0x519fff, .hwcap2 = 0x6000},
     {"bf16", "dotprod", "fp16", "i8mm", "sve"}},
    {"scalable vectors of the second kind",
     {.hwcap = 0x519fff, .hwcap2 = 0x6002},
     {"bf16", "dotprod", "fp16", "i8mm", "sve", "sve2"}},
};

TEST(Aarch64Target, WordsOfHwcapMasks) {
  for (const HwcapRow& row : kHwcaps) {
    const CpuTarget target = aarch64_target(row.facts);
    EXPECT_EQ(target.arch, "aarch64") << row.processor;
    EXPECT_EQ(target.features, row.features) << row.processor;
  }
}

struct HwcapBit {
  std::uint64_t hwcap;
  std::uint64_t hwcap2;
  const char* word;
};
const HwcapBit kHwcapBits[] = {
    {std::uint64_t{1} << 20, 0, "dotprod"}, {std::uint64_t{3} << 9, 0, "fp16"},  {std::uint64_t{1} << 22, 0, "sve"},
    {0, std::uint64_t{1} << 1, "sve2"},     {0, std::uint64_t{1} << 13, "i8mm"}, {0, std::uint64_t{1} << 14, "bf16"},
    {0, std::uint64_t{1} << 23, "sme"},
};

TEST(Aarch64Target, EachWordComesFromItsOwnBits) {
  for (const HwcapBit& row : kHwcapBits) {
    EXPECT_EQ(aarch64_target({row.hwcap, row.hwcap2}).features, Words{row.word});
    const CpuTarget without = aarch64_target({~row.hwcap, ~row.hwcap2});
    EXPECT_EQ(without.features.size(), std::size(kHwcapBits) - 1) << row.word;
    EXPECT_EQ(std::count(without.features.begin(), without.features.end(), row.word), 0) << row.word;
  }
}

}  // namespace cpu_facts_test
}  // namespace fatctx::runtime
