// The records that a selection judges.
#pragma once

#include <vector>

#include "fatctx/select.h"

namespace fatctx {

// Returns a candidate for each context binary and source model that this version supports. Names borrow from the
// records.
template <typename Records>
[[nodiscard]] std::vector<Candidate> candidates_among(const Records& records) {
  std::vector<Candidate> candidates;
  candidates.reserve(records.size());
  for (const RecordInfo& record : records) {
    const bool judged = record.type == RecordType::kContextBinary || record.type == RecordType::kSourceModel;
    if (!judged || !record.supported) continue;
    candidates.push_back({.record_id = record.id, .name = record.name, .key = record.key});
  }
  return candidates;
}

}  // namespace fatctx
