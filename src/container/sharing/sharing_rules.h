// Decides which records must not share, because of how they were compiled: docs/sharing.md, "What does not share".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "fatctx/record.h"

namespace fatctx::container {

// A record, as far as the rules need it.
struct SharingCandidate {
  std::string name;
  RecordType type = RecordType::kOpaque;
  std::string group;
  std::string unit;
  std::vector<std::string> weights;                // names of the weight blobs that it refers to
  const RecordDescription* description = nullptr;  // null: not known. Lifetime: until the rules are made
};

struct SharingWarning {
  std::string text;
  std::vector<std::size_t> records;  // indexes of the records that it is about
  // If true, the text ends with how many bytes of these are not shared, if that number is known.
  bool counts_bytes = false;
};

struct SharingRules {
  std::vector<bool> alone;               // shares no bytes with any other record, not even equal ones
  std::vector<SharingWarning> warnings;  // in the order of groups, units and candidates
  std::optional<Error> refusal;          // unsupported: two options exclude each other
};

// Applies the rules. Pure. Facts are options of the owner "htp" in the description of a context binary: graphs.dlbc,
// graphs.num_cores, context.extended_udma, context.lora_weight_sharing_enabled,
// context.reference_weight_sharing_enabled.
[[nodiscard]] SharingRules sharing_rules(const std::vector<SharingCandidate>& candidates);

}  // namespace fatctx::container
