// Shared by `pack` and `compile`: turns a manifest into a published container and a summary.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "fatctx/base/result.h"
#include "fatctx/packer.h"
#include "tools/pack/gather.h"
#include "tools/pack/manifest.h"

namespace fatctx::tools {

struct PackRequest {
  Manifest manifest;
  OnnxModels models;  // models that are already read
  std::string output;
  bool seal = false;
  bool force = false;
  SharingWish sharing = {};   // overrides the manifest's
  std::uint32_t threads = 0;  // PackOptions::threads
  bool explain_sharing = false;
  bool one_per_soc = false;     // PackOptions::one_per_soc
  bool strict_sharing = false;  // PackOptions::strict_sharing
  bool sha256 = false;          // PackOptions::sha256
};

struct PackedRecord {
  std::string name;
  RecordType type = RecordType::kOpaque;
  std::string target;  // target_text(); empty for records without a target
  std::uint64_t size_bytes = 0;
  PackedRecordReport stored;  // the packer's report on it
  std::string group;          // with `unit`: names the records that hold the same graphs for different targets
  std::string unit;
  std::uint64_t tensor_count = 0;
  std::vector<std::string> weights;
};

struct PackSummary {
  PackReport report;
  Sharing sharing = Sharing::kPages;
  std::vector<PackedRecord> records;  // the requested ones, in order of the manifest
  std::vector<std::string> notes;     // warnings of the packer, and the notes of gather_records()
};

// Packs a manifest. Errors: exists (with the remedy), those of gather_records() and of the Packer, each with
// its source.
[[nodiscard]] Result<PackSummary> pack_manifest(PackRequest request);

// Returns one line for each context binary that should share its weights with the others of its group and
// unit and does not.
//
// A binary without a weight blob is listed if it stores more than half of its bytes again. The one that is
// examined first is never listed, because the others can only share with it. A binary that names weight blobs
// of 1 MiB or more is listed if it stores more than half of its bytes and is at least half as large as they
// are.
[[nodiscard]] std::vector<std::string> what_was_not_shared(const PackSummary& summary);

[[nodiscard]] std::string summary_text(const PackSummary& summary);
[[nodiscard]] Json summary_json(const PackSummary& summary);  // schema "fatctx.pack/1"

}  // namespace fatctx::tools
