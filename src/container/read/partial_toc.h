// Reads the pages of a large table of contents that a call needs, and no others: finding one record costs about the
// same in any table.
//
// Each page is compared with its hash, and each row is checked with its own rules (RowRules). Rules about all rows
// together, such as their order, hold once need_all() has succeeded.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <vector>

#include "container/read/open.h"
#include "container/read/parse.h"
#include "container/read/row_rules.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Reads rows into a Toc of which read_toc() has read only the head.
// Threads: every member from any number of threads. Rows of a record may be read without a lock once it was returned.
class PartialToc {
 public:
  // Lifetime: borrows all three.
  PartialToc(const mapping::OsFile& file, const Header& header, Toc& toc);

  // Returns whether every row is there.
  [[nodiscard]] bool whole() const noexcept { return whole_.load(std::memory_order_acquire); }
  // Returns what reading pages has found out so far, in addition to the header's `degraded`.
  [[nodiscard]] std::uint32_t degraded() const noexcept { return degraded_.load(std::memory_order_relaxed); }

  // Returns a record with everything that it refers to; null if there is none.
  // Errors: those of parse_toc() about its rows, checksum_mismatch (F13: a page is damaged in both copies).
  [[nodiscard]] Result<const RecordInfo*> find(std::string_view name);
  [[nodiscard]] Result<const RecordInfo*> find(std::uint32_t id);
  // Returns the records that find() has returned, ascending.
  [[nodiscard]] std::vector<const RecordInfo*> known();
  // Reads and checks the whole table. Errors: those of parse_toc(), checksum_mismatch (F13).
  [[nodiscard]] Status need_all();

 private:
  using Marks = std::vector<bool>;

  [[nodiscard]] Status need(ByteRange in_toc);
  [[nodiscard]] Status read_pages(std::uint64_t first, std::uint64_t end);
  [[nodiscard]] bool page_is_good(std::uint64_t page) const;
  template <typename T>
  [[nodiscard]] Result<T> row(Table table, std::uint64_t index);
  // Brings the bytes of a name. An offset where none can be is left to the rules.
  [[nodiscard]] Status need_name(std::uint32_t offset);
  [[nodiscard]] Status need_segment(std::uint32_t index);
  [[nodiscard]] Status need_slices(std::uint64_t first, std::uint64_t count);
  // Makes a record without what it refers to.
  [[nodiscard]] Status need_record(std::uint32_t index);
  [[nodiscard]] Status need_key(std::uint32_t index);
  // Makes a record with the references of its own row.
  [[nodiscard]] Result<const RecordInfo*> need_linked(std::uint32_t index);
  [[nodiscard]] Status need_references(std::uint32_t index);
  [[nodiscard]] Status need_table_of(std::uint32_t blob);
  [[nodiscard]] Result<std::uint32_t> index_of(std::uint32_t id);  // kNoRow if there is none

  const mapping::OsFile& file_;
  const Header& header_;
  Toc& toc_;
  RowRules rules_;
  std::atomic<bool> whole_{false};
  std::atomic<std::uint32_t> degraded_{0};

  std::mutex mutex_;  // guards everything below, and the making of rows
  Marks pages_;
  Marks segments_;
  Marks slices_;
  Marks records_;
  Marks linked_;
  Marks references_;
};

}  // namespace fatctx::container
