// Sources of the bit numbers: the vendors' architecture manuals (cpuid, XCR0), the x86-64 psABI (levels), and
// <asm/hwcap.h> of arm64 Linux, which is a stable interface. The numbers are repeated here so that any host can test
// them.
#include "runtime/device/cpu_facts.h"

#include <algorithm>
#include <span>
#include <string_view>

namespace fatctx::runtime {
namespace {

enum class Word : std::uint8_t {
  kLeaf1Ecx,
  kLeaf1Edx,
  kLeaf7Ebx,
  kLeaf7Ecx,
  kLeaf7Edx,
  kLeaf71Eax,
  kExtendedEcx,
  kExtendedEdx
};

std::uint32_t word_of(const X86Facts& facts, Word word) {
  switch (word) {
    case Word::kLeaf1Ecx:
      return facts.leaf_1.ecx;
    case Word::kLeaf1Edx:
      return facts.leaf_1.edx;
    case Word::kLeaf7Ebx:
      return facts.leaf_7_0.ebx;
    case Word::kLeaf7Ecx:
      return facts.leaf_7_0.ecx;
    case Word::kLeaf7Edx:
      return facts.leaf_7_0.edx;
    case Word::kLeaf71Eax:
      return facts.leaf_7_1.eax;
    case Word::kExtendedEcx:
      return facts.leaf_80000001.ecx;
    case Word::kExtendedEdx:
      return facts.leaf_80000001.edx;
  }
  return 0;
}

struct Bit {
  Word word;
  unsigned number;
};

// The register states in XCR0.
constexpr std::uint64_t kNoState = 0;
constexpr std::uint64_t kYmmState = 0x6;               // SSE, AVX
constexpr std::uint64_t kZmmState = kYmmState | 0xe0;  // masks, upper halves, upper sixteen
constexpr std::uint64_t kTileState = 0x60000;          // tile configuration, tile data

constexpr Bit kLevel1[] = {{Word::kLeaf1Edx, 0},       // x87
                           {Word::kLeaf1Edx, 8},       // cmpxchg8b
                           {Word::kLeaf1Edx, 15},      // cmov
                           {Word::kLeaf1Edx, 23},      // mmx
                           {Word::kLeaf1Edx, 24},      // fxsave
                           {Word::kLeaf1Edx, 25},      // sse
                           {Word::kLeaf1Edx, 26},      // sse2
                           {Word::kExtendedEdx, 29}};  // long mode
constexpr Bit kLevel2[] = {{Word::kLeaf1Ecx, 0},       // sse3
                           {Word::kLeaf1Ecx, 9},       // ssse3
                           {Word::kLeaf1Ecx, 13},      // cmpxchg16b
                           {Word::kLeaf1Ecx, 19},      // sse4.1
                           {Word::kLeaf1Ecx, 20},      // sse4.2
                           {Word::kLeaf1Ecx, 23},      // popcnt
                           {Word::kExtendedEcx, 0}};   // lahf, sahf
constexpr Bit kLevel3[] = {{Word::kLeaf1Ecx, 12},      // fma
                           {Word::kLeaf1Ecx, 22},      // movbe
                           {Word::kLeaf1Ecx, 27},      // osxsave
                           {Word::kLeaf1Ecx, 28},      // avx
                           {Word::kLeaf1Ecx, 29},      // f16c
                           {Word::kLeaf7Ebx, 3},       // bmi1
                           {Word::kLeaf7Ebx, 5},       // avx2
                           {Word::kLeaf7Ebx, 8},       // bmi2
                           {Word::kExtendedEcx, 5}};   // lzcnt
constexpr Bit kLevel4[] = {{Word::kLeaf7Ebx, 16},      // avx512f
                           {Word::kLeaf7Ebx, 17},      // avx512dq
                           {Word::kLeaf7Ebx, 28},      // avx512cd
                           {Word::kLeaf7Ebx, 30},      // avx512bw
                           {Word::kLeaf7Ebx, 31}};     // avx512vl

struct LevelRow {
  std::string_view arch;
  std::span<const Bit> bits;
  std::uint64_t state;
};
// Each level contains all lower levels.
constexpr LevelRow kLevels[] = {{"x86-64-v1", kLevel1, kNoState},
                                {"x86-64-v2", kLevel2, kNoState},
                                {"x86-64-v3", kLevel3, kYmmState},
                                {"x86-64-v4", kLevel4, kZmmState}};

// Every processor with tiles so far has all three. A compiler that targets "amx" may use any of them.
constexpr Bit kAmx[] = {{Word::kLeaf7Edx, 22}, {Word::kLeaf7Edx, 24}, {Word::kLeaf7Edx, 25}};  // bf16, tile, int8
constexpr Bit kAmxFp16[] = {{Word::kLeaf7Edx, 24}, {Word::kLeaf71Eax, 21}};
constexpr Bit kAvxVnni[] = {{Word::kLeaf71Eax, 4}};
constexpr Bit kAvx512Bf16[] = {{Word::kLeaf7Ebx, 16}, {Word::kLeaf71Eax, 5}};
constexpr Bit kAvx512Fp16[] = {{Word::kLeaf7Ebx, 16}, {Word::kLeaf7Edx, 23}};
constexpr Bit kAvx512Vnni[] = {{Word::kLeaf7Ebx, 16}, {Word::kLeaf7Ecx, 11}};

struct FeatureRow {
  std::string_view word;
  std::span<const Bit> bits;
  std::uint64_t state;
};
constexpr FeatureRow kX86Features[] = {
    {"amx", kAmx, kTileState},
    {"amx-fp16", kAmxFp16, kTileState},
    {"avx-vnni", kAvxVnni, kYmmState},
    {"avx512-bf16", kAvx512Bf16, kZmmState},
    {"avx512-fp16", kAvx512Fp16, kZmmState},
    {"avx512-vnni", kAvx512Vnni, kZmmState},
};

bool has_all(const X86Facts& facts, std::span<const Bit> bits, std::uint64_t state) {
  return (facts.xcr0 & state) == state && std::all_of(bits.begin(), bits.end(), [&](const Bit& bit) {
           return ((word_of(facts, bit.word) >> bit.number) & 1) != 0;
         });
}

struct HwcapRow {
  std::string_view word;
  std::uint64_t hwcap;
  std::uint64_t hwcap2;
};
constexpr std::uint64_t bit(unsigned number) { return std::uint64_t{1} << number; }
constexpr HwcapRow kAarch64Features[] = {
    {"bf16", 0, bit(14)}, {"dotprod", bit(20), 0}, {"fp16", bit(9) | bit(10), 0},  // scalar and vector
    {"i8mm", 0, bit(13)}, {"sme", 0, bit(23)},     {"sve", bit(22), 0},           {"sve2", 0, bit(1)},
};

template <typename Row>
std::vector<std::string> words_of(std::span<const Row> rows, std::string_view Row::*word) {
  std::vector<std::string> words;
  for (const Row& row : rows) words.emplace_back(row.*word);
  return words;
}

}  // namespace

CpuTarget x86_target(const X86Facts& facts) {
  CpuTarget target;
  for (const LevelRow& level : kLevels) {
    if (!has_all(facts, level.bits, level.state)) break;
    target.arch = level.arch;
  }
  for (const FeatureRow& feature : kX86Features) {
    if (has_all(facts, feature.bits, feature.state)) target.features.emplace_back(feature.word);
  }
  return target;
}

CpuTarget aarch64_target(const Aarch64Facts& facts) {
  CpuTarget target{.arch = "aarch64", .features = {}};
  for (const HwcapRow& row : kAarch64Features) {
    const bool has = (facts.hwcap & row.hwcap) == row.hwcap && (facts.hwcap2 & row.hwcap2) == row.hwcap2;
    if (has) target.features.emplace_back(row.word);
  }
  return target;
}

std::vector<std::string> x86_levels() { return words_of<LevelRow>(kLevels, &LevelRow::arch); }

std::vector<std::string> x86_features() { return words_of<FeatureRow>(kX86Features, &FeatureRow::word); }

std::vector<std::string> aarch64_features() { return words_of<HwcapRow>(kAarch64Features, &HwcapRow::word); }

}  // namespace fatctx::runtime
