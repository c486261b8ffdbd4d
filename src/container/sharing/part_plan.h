// Finds equal parts of records whose boundaries are known: tensors of weight blobs, or ranges that the caller names.
// Each distinct part is stored once. A record that finds enough of its parts in others becomes a recipe. Every part is
// one copy in it, so that a view of a part is a pointer into the file.
//
// Parts are compared byte by byte before they count as equal. Content and boundaries alone decide the matches and the
// order of work: the order of the given records and the number of threads change nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "container/sharing/recipe_draft.h"
#include "container/sharing/record_bytes.h"
#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/record.h"

namespace fatctx::container::sharing {

// The largest alignment of a record. Its alignment is the largest power of two to which its parts are aligned; parts
// with at most one sixteenth of their bytes may be less aligned. A part that is aligned to it in its record is aligned
// to it in the file as well.
inline constexpr std::uint64_t kPartAlignment = 64;

struct KnownPart {
  ByteRange range;                  // in the record
  std::uint64_t element_bytes = 1;  // a power of two: a part aligned to it in the record is so in the file
};

struct PartInput {
  const RecordBytes* bytes = nullptr;  // not empty; no two are equal
  std::vector<KnownPart> parts;        // in any order; overlapping ones are merged
};

// A function that replaces the hash of a part, for tests. Equal hashes never prove that bytes are equal.
using PartHash = std::function<Hash128(const Hash128&)>;

struct PartSettings {
  unsigned granule_log2 = 12;
  std::uint64_t min_saving_divisor = 64;      // a record stays whole if the saving is below its size divided by this
  std::uint64_t min_base_saving_divisor = 2;  // the same for one that has matches only within itself
  std::uint32_t max_sources = 64;             // of one recipe
  unsigned threads = 1;                       // at least 1; changes nothing but the time
  PartHash hash = {};                         // tests cause collisions here
};

struct PartPlan {
  // In the order of the inputs, which must be that of their segments in the file. A store is the index of an input: the
  // bytes that it stores itself.
  std::vector<ByteRecord> records;
  // Records that recipes connect, in the order of work. Each family has at least one recipe.
  std::vector<std::vector<std::size_t>> families;
};

// Plans every record. Memory: about 100 bytes a part, 2 MiB, and 1 MiB a thread. Closes every source before it
// returns. Errors: those of reading.
[[nodiscard]] Result<PartPlan> plan_parts(std::span<const PartInput> records, const PartSettings& settings);

}  // namespace fatctx::container::sharing
