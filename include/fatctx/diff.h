// Compares two containers: which records were added, removed, changed, built for another target, or renamed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/container.h"
#include "fatctx/record.h"

namespace fatctx {

enum class Change : std::uint8_t {
  kAdded = 1,       // only in the second container
  kRemoved = 2,     // only in the first
  kChanged = 3,     // same name and key, other content
  kRetargeted = 4,  // same content, other key; the name may differ too
  kRenamed = 5,     // same content and key, other name
  kRebound = 6,     // same name, key and content, but it refers to weights of other names
};
[[nodiscard]] std::string_view change_name(Change change) noexcept;  // "added", "removed", ... "unknown"

// A record as one of the containers has it. If a record is not selected by target, the variant of its key is its own
// name; a comparison of keys counts that as no variant.
struct DiffedRecord {
  std::uint32_t id = 0;  // 0: it is not in this container
  std::string name;
  std::string target;  // as target_text()
  std::uint64_t size_bytes = 0;
  Hash128 hash;
  std::vector<std::string> weights;  // names of the weight blobs it refers to, sorted
};

// A tensor of a weight blob that both containers have. Aliases are compared like other tensors.
struct DiffedTensor {
  Change change = Change::kChanged;  // kAdded, kRemoved or kChanged: other type, shape or bytes
  std::string name;
  std::string type_before;  // "float32[100,50]"; empty if it does not exist
  std::string type_after;
  std::uint64_t size_before = 0;
  std::uint64_t size_after = 0;
};

struct RecordDifference {
  Change change = Change::kChanged;
  RecordType type = RecordType::kOpaque;
  DiffedRecord before = {};
  DiffedRecord after = {};
  std::vector<DiffedTensor> tensors = {};  // of a changed weight blob with a tensor table in both; by name
  std::uint64_t same_tensors = 0;          // the number of equal ones among these
};

// A fact of the description, before and after. Empty: the description does not have it.
struct DescriptionDifference {
  std::string what;  // "name", "option cpu/threads", "record \"main\": producer"
  std::string before;
  std::string after;
};

// Facts about one of the containers. Sums of bytes are over its records (without descriptions), or over its stored
// payload.
struct DiffedContainer {
  std::string path;
  std::string uuid;
  std::string writer;  // from its description; not a difference
  std::uint64_t generation = 0;
  bool sealed = false;
  std::uint64_t file_size = 0;
  std::uint64_t record_count = 0;
  std::uint64_t record_bytes = 0;          // logical
  std::uint64_t record_bytes_in_both = 0;  // of records whose content the other container has too
  std::uint64_t stored_bytes = 0;          // payload, with shared bytes counted once
  std::uint64_t stored_bytes_in_both = 0;  // of these in leaves of 64 KiB that the other container stores too
};

struct DiffReport {
  DiffedContainer before;
  DiffedContainer after;
  std::vector<RecordDifference> records;  // removed ones first, then the others, each by id
  std::uint64_t same_records = 0;
  std::vector<DescriptionDifference> description;
  std::uint64_t read_bytes = 0;  // from both files for the comparison: tables, leaf hashes, and tensors where needed

  // Returns true if records and descriptions are the same. Such files may still store them differently.
  [[nodiscard]] bool same() const noexcept { return records.empty() && description.empty(); }
};

// Compares names, keys, sizes and hashes of records, descriptions, tensor tables, and the hashes of stored leaves.
// Reads payload only of weight blobs that changed and have a tensor table in both containers: tensors of equal type and
// size, checked against their leaves. `progress` counts these bytes. Equal leaves are found by hash, on multiples of 64
// KiB of each segment: bytes that moved by less are not seen.
// Errors: checksum_mismatch, malformed, codec, limit_exceeded, unsupported, truncated, changed, mapping_lost, io; each
//         names the container.
[[nodiscard]] Result<DiffReport> diff(const Container& before, const Container& after, const Progress& progress = {});

// Returns JSON of schema "fatctx.diff/1": indented, pure ASCII, without a final line feed.
[[nodiscard]] std::string to_json(const DiffReport& report);

}  // namespace fatctx
