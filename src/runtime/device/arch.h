// Parses the texts of a selection key: instruction sets and their levels, Hexagon numbers, feature words.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/record.h"

namespace fatctx::runtime {

inline constexpr std::string_view kCpuBackend = "cpu";
inline constexpr std::string_view kHtpBackend = "htp";
// Graphs that fatctx's provider runs on a processor through ONNX Runtime, and their arch. The provider, which may not
// include this room, has the same words in runtime/ort/graph/api.h.
inline constexpr std::string_view kOrtBackend = "ort-cpu";
inline constexpr std::string_view kOrtArch = "onnx";

// A parsed CPU arch: {"x86-64", 3} for "x86-64-v3". Other instruction sets have only level 0; two of them are the same
// only if their texts are equal.
struct CpuArch {
  std::string_view isa;
  std::uint32_t level = 0;
};
[[nodiscard]] CpuArch parse_cpu_arch(std::string_view arch) noexcept;
[[nodiscard]] bool has_levels(const CpuArch& arch) noexcept;

// Returns 75 for "v75", and nothing for any other text.
[[nodiscard]] std::optional<std::uint32_t> hexagon_number(std::string_view arch) noexcept;

// Returns the words of a comma separated list. Lifetime: they borrow from `list`.
[[nodiscard]] std::vector<std::string_view> feature_words(std::string_view list);

// Returns the words of `list` that `have` lacks, in the order of `list`.
[[nodiscard]] std::vector<std::string_view> missing_words(std::string_view list, const std::vector<std::string>& have);

// Returns true if the key demands only a backend: it is marked so, or it states no part (or "ALL"), number, arch or
// feature.
[[nodiscard]] bool is_generic(const SelectionKey& key) noexcept;

}  // namespace fatctx::runtime
