// What records may not share, because of how they were compiled: docs/sharing.md, "What does not share".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "fatctx/record.h"

namespace fatctx::container {

// A record as the rules look at it.
struct SharingCandidate {
  std::string name;
  RecordType type = RecordType::kOpaque;
  std::string group;
  std::string unit;
  std::vector<std::string> weights;                // names of the weight blobs that it refers to
  const RecordDescription* description = nullptr;  // null: nothing is known. Lifetime: until the rules are made
};

struct SharingWarning {
  std::string text;
  std::vector<std::size_t> records;  // that it is about, by index
  // The text ends with how many bytes of these are not shared, when that is known.
  bool counts_bytes = false;
};

struct SharingRules {
  std::vector<bool> alone;               // its bytes are nobody else's, equal ones neither
  std::vector<SharingWarning> warnings;  // in the order of groups, units and candidates
  std::optional<Error> refusal;          // unsupported: what excludes each other
};

// Pure. Facts are options of the owner "htp" in the description of a context binary: graphs.dlbc, graphs.num_cores,
// context.extended_udma, context.lora_weight_sharing_enabled, context.reference_weight_sharing_enabled.
[[nodiscard]] SharingRules sharing_rules(const std::vector<SharingCandidate>& candidates);

}  // namespace fatctx::container
