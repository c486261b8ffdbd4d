// Any range of the logical bytes of any record, however it is stored, read by pread and checked leaf by leaf.
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

// Keeps what it takes to read on: the programs of recipes, and the bytes of compressed records (at most 1 GiB each)
// that were asked for. Programs that the budget does not allow beside each other are read again when they are needed.
// Memory besides: that of CheckedBytes.
//
// Ownership: borrows the file and the table. Threads: one at a time.
class RecordRanges {
 public:
  // Counts the bytes that it decompresses, those of programs, and those that read() hands out.
  RecordRanges(const mapping::OsFile& file, const Toc& toc, WorkBudget budget,
               CheckedBytes::Again again = CheckedBytes::Again::kCompare)
      : file_(file), toc_(toc), budget_(budget), checked_(file, toc, std::move(budget), again) {}

  // Fills `out` with the bytes of the record from `offset` on. Requires: `record` is one of the table's own.
  // Errors: unsupported; malformed, if they are not inside of the record; checksum_mismatch (F26), those of a recipe
  // and of a frame; limit_exceeded (WorkBudget); truncated, io. The caller names the record.
  [[nodiscard]] Status read(const RecordInfo& record, std::uint64_t offset, std::span<std::byte> out);
  // Lifetime: until the next call. Requires: the record is a supported recipe. Errors: those of read_recipe.
  [[nodiscard]] Result<const Recipe*> recipe_of(const RecordInfo& record);
  // Gives up what it keeps of records, but for what was compared.
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
