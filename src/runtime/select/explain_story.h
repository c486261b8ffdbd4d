// The facts of an explanation, as finished sentences. Its renderers, text and JSON, add none.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/select.h"

namespace fatctx::runtime {

struct ExplainedRecord {
  const Verdict* verdict = nullptr;
  const Candidate* candidate = nullptr;
  std::string reason;
};

// A selection with all its facts.
struct ExplainedSelection {
  std::string device;
  std::vector<ExplainedRecord> rows;           // in the order of the verdicts
  std::vector<const ExplainedRecord*> chosen;  // in unit order
};

// Lifetime: the result borrows from `selection` and `candidates`.
[[nodiscard]] ExplainedSelection explain_story(const Selection& selection, std::span<const Candidate> candidates,
                                               const Device& device, const SelectPolicy& policy);

// Returns the vendor's name for its error code, such as "BINARY_VERSION"; "UNKNOWN" for others.
[[nodiscard]] std::string_view vendor_code_name(int code);

}  // namespace fatctx::runtime
