#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "fatctx/base/nearest.h"
#include "fatctx/device.h"
#include "runtime/device/arch.h"
#include "runtime/device/cpu_facts.h"

namespace fatctx {
namespace {

constexpr std::string_view kAarch64 = "aarch64";
constexpr std::string_view kX86 = "x86-64";

struct OtherName {
  std::string_view name;
  std::string_view arch;
};
// Common names of these processors that are too different from our names for nearest().
constexpr OtherName kOtherNames[] = {{"amd64", kX86}, {"x64", kX86}, {"arm64", kAarch64}, {"armv8", kAarch64}};

std::string guess(std::string_view word, const std::vector<std::string>& known) {
  const auto near = nearest(word, known);
  return near ? fmt::format("; did you mean \"{}\"?", *near) : "";
}

std::string guess_cpu_arch(std::string_view arch, const std::vector<std::string>& known) {
  for (const OtherName& other : kOtherNames) {
    if (arch.starts_with(other.name)) return fmt::format("; did you mean \"{}\"?", other.arch);
  }
  return guess(arch, known);
}

// Guesses "v75" from "75", "V75" or "hexagon-v75": people agree on the number only.
std::string guess_hexagon(std::string_view arch) {
  const auto digit = std::find_if(arch.begin(), arch.end(), [](char c) { return c >= '0' && c <= '9'; });
  const std::string number = "v" + std::string(digit, arch.end());
  return runtime::hexagon_number(number) ? fmt::format("; did you mean \"{}\"?", number) : "";
}

std::vector<std::string> unknown_cpu_words(std::string_view arch, std::span<const std::string> features) {
  std::vector<std::string> archs = runtime::x86_levels();
  archs.emplace_back(kX86);
  archs.emplace_back(kAarch64);
  if (std::find(archs.begin(), archs.end(), arch) == archs.end()) {
    return {fmt::format("\"{}\" is not an arch that fatctx finds on a machine of backend cpu ({}){}", arch,
                        fmt::join(archs, ", "), guess_cpu_arch(arch, archs))};
  }
  const auto known = arch == kAarch64 ? runtime::aarch64_features() : runtime::x86_features();
  std::vector<std::string> unknown;
  for (const std::string& word : features) {
    if (std::find(known.begin(), known.end(), word) != known.end()) continue;
    unknown.push_back(fmt::format("\"{}\" is not a feature that fatctx looks for on {} ({}){}", word,
                                  arch == kAarch64 ? kAarch64 : kX86, fmt::join(known, ", "), guess(word, known)));
  }
  return unknown;
}

}  // namespace

std::vector<std::string> unknown_target_words(std::string_view backend, std::string_view arch,
                                              std::span<const std::string> features) {
  if (arch.empty()) return {};
  if (backend == runtime::kCpuBackend) return unknown_cpu_words(arch, features);
  if (backend != runtime::kHtpBackend || runtime::hexagon_number(arch)) return {};
  return {fmt::format("\"{}\" is not a Hexagon arch, such as \"v75\"{}", arch, guess_hexagon(arch))};
}

}  // namespace fatctx
