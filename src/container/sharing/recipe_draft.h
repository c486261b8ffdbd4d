// Turns a recipe whose steps name stores into a program; the stores become its sources.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "container/read/recipe.h"
#include "container/sharing/record_bytes.h"
#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"

namespace fatctx::container::sharing {

// A step of a recipe whose sources are not chosen yet.
struct Draft {
  RecipeStep::Kind kind = RecipeStep::Kind::kLiteral;
  std::uint64_t target = 0;
  std::uint64_t size = 0;
  std::uint32_t store = 0;   // if it is a copy
  std::uint64_t source = 0;  // of a copy: offset in the store; of a fill: the byte
};

// A decision how a record is stored.
struct ByteRecord {
  bool recipe = false;                 // false: stored whole; of the members below only `own` is valid
  std::vector<std::byte> program;      // in its stored form
  bool packed = false;                 // `program` is an lz4 frame
  std::vector<std::uint32_t> sources;  // stores that it copies from, in the order of the recipe's sources
  std::vector<ByteRange> own;          // ranges of the record that it stores itself, concatenated; may be none
  std::uint64_t own_bytes = 0;
  std::uint32_t steps = 0;
  std::uint64_t mappable_bytes = 0;  // whole granules of copies with the same alignment in the file and the record
};

// A set of stores that copies may read.
struct Stores {
  std::vector<std::uint64_t> sizes;
  // For each store, the position of its segment in the file: sources are in that order. If empty: in order of number.
  std::vector<std::uint32_t> places;

  [[nodiscard]] std::uint32_t place_of(std::uint32_t store) const { return places.empty() ? store : places[store]; }
};

// Returns how many steps the program of a record of this size may have.
[[nodiscard]] std::uint64_t most_steps(std::uint64_t size) noexcept;

// Fills in program, sources, steps and mappable bytes of `record`, whose bytes are `bytes`. Returns false if it exceeds
// the limits of a program. Requires: the drafts make the record from front to back, in the canonical form of
// docs/format.md, section 5.9. Errors: those of reading.
[[nodiscard]] Result<bool> encode_drafts(const RecordBytes& bytes, std::span<const Draft> drafts, const Stores& stores,
                                         std::uint64_t granule, ByteRecord& record);

}  // namespace fatctx::container::sharing
