#include "tools/onnx/ep_context_facts.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace fatctx::tools {

namespace {

constexpr std::array<std::string_view, 3> kQnnNames = {"qnnexecutionprovider", "qnn", "qairtexport"};
constexpr std::string_view kProvider = "executionprovider";

std::string lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

}  // namespace

bool is_qnn(std::string_view source) {
  return std::find(kQnnNames.begin(), kQnnNames.end(), lower_case(source)) != kQnnNames.end();
}

std::string backend_of_source(std::string_view source) {
  if (is_qnn(source)) return "htp";
  std::string name = lower_case(source);
  if (name.ends_with(kProvider)) name.resize(name.size() - kProvider.size());
  return name;
}

std::string ep_context_fact(const std::vector<DescribedOption>& options, std::string_view key) {
  const auto found = std::find_if(options.begin(), options.end(), [key](const DescribedOption& option) {
    return option.owner == kEpContextOwner && option.key == key;
  });
  return found == options.end() ? std::string() : found->value;
}

}  // namespace fatctx::tools
