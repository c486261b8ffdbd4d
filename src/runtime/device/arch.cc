#include "runtime/device/arch.h"

#include <algorithm>
#include <charconv>

namespace fatctx::runtime {
namespace {

// Parses a decimal number without sign and leading zero that fills `text`.
std::optional<std::uint32_t> plain_number(std::string_view text) noexcept {
  std::uint32_t number = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (status != std::errc{} || end != text.data() + text.size() || text.front() == '0') return std::nullopt;
  return number;
}

}  // namespace

CpuArch parse_cpu_arch(std::string_view arch) noexcept {
  constexpr std::string_view kX86 = "x86-64";
  constexpr std::string_view kX86Level = "x86-64-v";
  if (arch == kX86) return {kX86, 1};
  if (arch.starts_with(kX86Level)) {
    if (const auto level = plain_number(arch.substr(kX86Level.size()))) return {kX86, *level};
  }
  return {arch, 0};
}

bool has_levels(const CpuArch& arch) noexcept { return arch.level != 0; }

std::optional<std::uint32_t> hexagon_number(std::string_view arch) noexcept {
  if (arch.size() < 2 || arch.front() != 'v') return std::nullopt;
  return plain_number(arch.substr(1));
}

std::vector<std::string_view> feature_words(std::string_view list) {
  std::vector<std::string_view> words;
  while (!list.empty()) {
    const auto comma = std::min(list.find(','), list.size());
    if (comma > 0) words.push_back(list.substr(0, comma));
    list.remove_prefix(std::min(comma + 1, list.size()));
  }
  return words;
}

std::vector<std::string_view> missing_words(std::string_view list, const std::vector<std::string>& have) {
  auto words = feature_words(list);
  std::erase_if(words, [&](std::string_view word) { return std::find(have.begin(), have.end(), word) != have.end(); });
  return words;
}

bool is_generic(const SelectionKey& key) noexcept {
  constexpr std::string_view kAllParts = "ALL";
  const bool names_a_part = !key.part.empty() && key.part != kAllParts;
  return key.generic || (!names_a_part && key.qnn_soc == 0 && key.arch.empty() && key.features.empty());
}

}  // namespace fatctx::runtime
