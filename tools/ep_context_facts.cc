#include "tools/ep_context_facts.h"

#include <algorithm>

namespace fatctx::tools {

std::string ep_context_fact(const std::vector<DescribedOption>& options, std::string_view key) {
  const auto found = std::find_if(options.begin(), options.end(), [key](const DescribedOption& option) {
    return option.owner == kEpContextOwner && option.key == key;
  });
  return found == options.end() ? std::string() : found->value;
}

}  // namespace fatctx::tools
