#include "runtime/select/nothing_fits.h"

#include <fmt/format.h>

namespace fatctx {

Error nothing_fits(const std::string& path, const Selection& selection, std::span<const Candidate> candidates,
                   const Device& device, const SelectPolicy& policy) {
  std::string reasons;
  for (std::size_t i = 0; i < selection.verdicts.size(); ++i) {
    reasons += fmt::format("{}{}: {}", i == 0 ? "" : "; ", candidates[i].name,
                           explain_verdict(selection.verdicts[i], candidates[i], device, policy));
  }
  return Error{ErrorCode::kNoMatch, fmt::format("{}: no record fits this device: {}", path,
                                                reasons.empty() ? "there is no context binary" : reasons)};
}

}  // namespace fatctx
