// Finding equal parts of records whose boundaries are known: the tensors of weight blobs, the ranges that somebody
// names. Each different part is stored once; a record that finds enough of its parts in others becomes a recipe in
// which every part is one copy, so that a view of a part is a pointer into the file.
//
// Parts are compared byte by byte before they count as equal. The content and the boundaries decide what is found and
// in which order records are worked on, never how records are given or how many threads look at them.
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

// The alignment of a record is the largest power of two up to this on which its parts lie, but for at most one
// sixteenth of their bytes. A part that lies on it in its record lies on it in the file as well.
inline constexpr std::uint64_t kPartAlignment = 64;

struct KnownPart {
  ByteRange range;                  // in the record
  std::uint64_t element_bytes = 1;  // a power of two: if it lies on a multiple in the record, so it does in the file
};

struct PartInput {
  const RecordBytes* bytes = nullptr;  // not empty; no two are equal
  std::vector<KnownPart> parts;        // in any order; those that overlap are one
};

// Never proof that bytes are equal.
using PartHash = std::function<Hash128(const Hash128&)>;

struct PartSettings {
  unsigned granule_log2 = 12;
  std::uint64_t min_saving_divisor = 64;      // a record is left whole unless this part of it is saved
  std::uint64_t min_base_saving_divisor = 2;  // the same for one that finds nothing in others, but in itself
  std::uint32_t max_sources = 64;             // of one recipe
  std::vector<std::uint32_t> places = {};     // of each store, where its segment comes in the file
  unsigned threads = 1;                       // at least 1; changes nothing but the time
  PartHash hash = {};                         // tests put collisions here
};

struct PartPlan {
  // In the order of the inputs. A store is the index of the input whose own bytes are meant.
  std::vector<ByteRecord> records;
  // Records that recipes tie together, each with one recipe at least, in the order of work.
  std::vector<std::vector<std::size_t>> families;
};

// Memory: about 100 bytes a part, 2 MiB, and 1 MiB a thread. Every source is closed when this returns.
// Errors: those of reading.
[[nodiscard]] Result<PartPlan> plan_parts(std::span<const PartInput> records, const PartSettings& settings);

}  // namespace fatctx::container::sharing
