// A recipe before its program is written: steps that name stores, which become its sources.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "container/read/recipe.h"
#include "container/sharing/record_bytes.h"
#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"

namespace fatctx::container::sharing {

// A step before the sources of its recipe are known.
struct Draft {
  RecipeStep::Kind kind = RecipeStep::Kind::kLiteral;
  std::uint64_t target = 0;
  std::uint64_t size = 0;
  std::uint32_t store = 0;   // of a copy
  std::uint64_t source = 0;  // of a copy: in the store; of a fill: the byte
};

// How a record is stored.
struct ByteRecord {
  bool recipe = false;                 // false: it is stored whole, and what follows says nothing but `own`
  std::vector<std::byte> program;      // as it is stored
  bool packed = false;                 // `program` is an lz4 frame
  std::vector<std::uint32_t> sources;  // stores that it copies from, in the order of the recipe's sources
  std::vector<ByteRange> own;          // of the record: what it stores itself, one behind the other; may be none
  std::uint64_t own_bytes = 0;
  std::uint32_t steps = 0;
  std::uint64_t mappable_bytes = 0;  // whole granules of copies that lie in the file as in the record
};

// The stores that copies may read.
struct Stores {
  std::vector<std::uint64_t> sizes;
  // Of each, where its segment comes in the file: sources are in that order. Empty: they are numbered so.
  std::vector<std::uint32_t> places;

  [[nodiscard]] std::uint32_t place_of(std::uint32_t store) const { return places.empty() ? store : places[store]; }
};

// The steps that the program of a record of so many bytes may have.
[[nodiscard]] std::uint64_t most_steps(std::uint64_t size) noexcept;

// Fills in program, sources, steps and mappable bytes of `record`, whose bytes are `bytes`. False if that is more than
// a program may be. Requires: the drafts make the record from front to back, in the one form of 5.9 of docs/format.md.
// Errors: those of reading.
[[nodiscard]] Result<bool> encode_drafts(const RecordBytes& bytes, std::span<const Draft> drafts, const Stores& stores,
                                         std::uint64_t granule, ByteRecord& record);

}  // namespace fatctx::container::sharing
