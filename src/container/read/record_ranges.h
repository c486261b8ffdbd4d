// Reads any range of a record's logical bytes, in every storage form, with pread, and checks it leaf by leaf.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "container/read/checked_bytes.h"
#include "container/read/parse.h"
#include "container/read/recipe.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// A reader that caches the programs of recipes and the bytes of compressed records (at most 1 GiB each) that were read.
// If the budget does not allow several programs at once, they are read again when they are needed.
// Memory: also that of CheckedBytes.
//
// Ownership: borrows the file and the table. Threads: one at a time.
class RecordRanges {
 public:
  // Counts the bytes that it decompresses, those of programs, and those that read() returns.
  RecordRanges(const mapping::OsFile& file, const Toc& toc, WorkBudget budget,
               CheckedBytes::Again again = CheckedBytes::Again::kCompare)
      : file_(file), toc_(toc), budget_(budget), checked_(file, toc, std::move(budget), again) {}

  // Fills `out` with the bytes of the record from `offset` on. Requires: `record` is one of the table's own.
  // Errors: unsupported; malformed, if the range is not inside the record; checksum_mismatch (F26), those of a recipe
  // and of a frame; limit_exceeded (WorkBudget); truncated, io. The caller names the record.
  [[nodiscard]] Status read(const RecordInfo& record, std::uint64_t offset, std::span<std::byte> out);
  // Returns the program of the record. Lifetime: until the next call. Requires: the record is a supported recipe.
  // Errors: those of read_recipe.
  [[nodiscard]] Result<const Recipe*> recipe_of(const RecordInfo& record);
  // Frees the cached bytes, but remembers which leaves were compared.
  void rest() noexcept;

 private:
  [[nodiscard]] Status fill(ByteRange in_file, std::span<std::byte> out);
  [[nodiscard]] Result<ByteView> unpacked(const RecordInfo& record);

  const mapping::OsFile& file_;
  const Toc& toc_;
  WorkBudget budget_;
  CheckedBytes checked_;
  std::map<std::uint32_t, Recipe> recipes_;                   // by record id
  std::map<std::uint32_t, std::vector<std::byte>> unpacked_;  // likewise
};

}  // namespace fatctx::container
