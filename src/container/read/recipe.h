// A recipe: a program that builds a record from plain segments by copies, literal bytes and fills. docs/format.md,
// section 5.9, is the normative text.
//
// Pure: the caller supplies the function that reads bytes of the file.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "container/read/work_budget.h"
#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"

namespace fatctx::container {

struct RecipeStep {
  enum class Kind : std::uint8_t { kCopy, kLiteral, kFill };
  Kind kind = Kind::kCopy;
  std::uint64_t target = 0;  // first byte in the record
  std::uint64_t size = 0;    // at least 1
  std::uint64_t source = 0;  // copy: offset in the file; literal: offset in literals(); fill: the byte
  bool operator==(const RecipeStep&) const = default;
};

// A function that fills the span from an offset in the file.
using FileBytes = std::function<Status(std::uint64_t file_offset, std::span<std::byte> out)>;

// A run of whole pages of a record that are whole pages of the file too, so that they can be mapped.
struct CongruentRun {
  std::uint64_t target = 0;
  std::uint64_t file_offset = 0;
  std::uint64_t size = 0;
};

// A checked program. Ownership: holds its program. Threads: const members from any number of threads.
class Recipe {
 public:
  // Parses and checks a program. `sources` are the ranges of the file that copies may read, in the order of the
  // record's slices. `logical_size` is the size that the table claims for the record. Checks every rule of a program:
  // the result yields exactly that many bytes and reads nothing but the sources.
  // Errors: malformed, limit_exceeded, with F39 or F42; `file_offset` counts from the first byte of the program.
  [[nodiscard]] static Result<Recipe> read(std::vector<std::byte> program, std::uint64_t logical_size,
                                           std::span<const ByteRange> sources);

  // Returns the steps in the order of the record's bytes, without gaps; never empty. Lifetime: borrows from this
  // recipe.
  [[nodiscard]] std::span<const RecipeStep> steps() const& noexcept { return steps_; }
  std::span<const RecipeStep> steps() && = delete;
  // Returns the literals of all steps. Lifetime: borrows from this recipe.
  [[nodiscard]] ByteView literals() const& noexcept { return ByteView(program_).subspan(literals_at_); }
  ByteView literals() && = delete;
  [[nodiscard]] std::uint64_t logical_size() const noexcept { return logical_size_; }
  // Keeps the hold on the budget for its memory as long as this recipe lives.
  void keep(WorkBudget::Hold hold) noexcept { hold_ = std::move(hold); }
  // Returns the steps that make `range` of the record; the first and the last may reach beyond it. Requires: the range
  // is inside the record.
  [[nodiscard]] std::span<const RecipeStep> steps_in(ByteRange range) const& noexcept;

  // Makes `range` of the record. Requires: out.size() == range.size. Errors: malformed if the range leaves the record;
  // those of `file`.
  [[nodiscard]] Status apply(ByteRange range, const FileBytes& file, std::span<std::byte> out) const;

  // Returns the runs, ascending and disjoint. Excludes a partial page at the end of the record, and runs of fewer than
  // `min_pages` pages. Requires: `page` is a power of two.
  [[nodiscard]] std::vector<CongruentRun> congruent_runs(std::uint64_t page, std::uint64_t min_pages) const;

 private:
  Recipe() = default;
  friend class RecipeReader;

  std::vector<std::byte> program_;
  std::size_t literals_at_ = 0;
  std::uint64_t logical_size_ = 0;
  std::vector<RecipeStep> steps_;
  WorkBudget::Hold hold_;
};

// Encodes `steps`. The source of a copy counts from the first byte of the first source, through all sources
// concatenated; literals are used in their order. Requires: the steps are canonical.
[[nodiscard]] std::vector<std::byte> encode_recipe(std::span<const RecipeStep> steps, ByteView literals);

}  // namespace fatctx::container
