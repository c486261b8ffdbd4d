// The bytes of a recipe's program (docs/format.md, section 5.9), which is the first slice of a recipe record.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "fatctx/base/little_endian.h"

namespace fatctx::container {

inline constexpr std::array<std::byte, 4> kRecipeMagic = {std::byte{'C'}, std::byte{'T'}, std::byte{'X'},
                                                          std::byte{'R'}};
inline constexpr std::uint16_t kRecipeVersion = 1;
inline constexpr std::uint64_t kMaxRecipeSize = std::uint64_t{1} << 28;  // size of an uncompressed program
inline constexpr std::uint64_t kMaxRecipeSteps = std::uint64_t{1} << 22;
// A recipe has at most logical_size / 64 + 16 steps: shorter ones cost more than the bytes that they make.
inline constexpr std::uint64_t kBytesPerStep = 64;
inline constexpr std::uint64_t kStepsOnTop = 16;

// The kind of a step in the low bits of its first number.
inline constexpr unsigned kStepKindBits = 2;
inline constexpr std::uint64_t kStepCopy = 0;
inline constexpr std::uint64_t kStepLiteral = 1;
inline constexpr std::uint64_t kStepFill = 2;

struct RecipeHeader {
  std::array<std::byte, 4> magic;
  le16 version;
  le16 reserved;
  le64 step_count;
  le64 steps_size;     // bytes of the steps behind this header
  le64 literals_size;  // bytes of the literals behind the steps, at the end of the program
};
static_assert(sizeof(RecipeHeader) == 32 && alignof(RecipeHeader) == 1);

}  // namespace fatctx::container
