// Answers about a container whose table of contents a test knows to be good.
#pragma once

#include <span>
#include <vector>

#include "fatctx/container.h"

namespace fatctx::support {

[[nodiscard]] inline std::span<const RecordInfo> records_in(const Container& container) {
  return container.records().value();
}
[[nodiscard]] inline OpenReport report_of(const Container& container) { return container.report().value(); }
[[nodiscard]] inline std::vector<Candidate> candidates_in(const Container& container) {
  return container.candidates().value();
}

}  // namespace fatctx::support
