// Reading what an open needs from a file: header and newest table of contents, nothing else.
#pragma once

#include "container/read/parse.h"
#include "container/read/trust.h"
#include "container/read/work_budget.h"
#include "mapping/os_file.h"

namespace fatctx::container {

struct OpenedToc {
  Header header;
  Toc toc;
};

// `file_size` is what the caller's stat said. Copy 1 of the TOC is read only if copy 0 is damaged.
// Nothing in the table is looked at before `trust` is satisfied; the table is authenticated if that asked for a
// signature.
// Errors: those of parse_header and parse_toc; checksum_mismatch (F13: both copies are damaged), those of check_trust,
// truncated, io.
[[nodiscard]] Result<OpenedToc> read_toc(const mapping::OsFile& file, std::uint64_t file_size, const Trust& trust = {});
// The same of an earlier generation, by way of the newest, which lists it; 0 is the newest. The one before the newest
// has a slot of its own, with its signature: where one is asked for, that is the way. Older ones have lost theirs. The
// header that comes back says what that generation's slot said. Errors: also not_found (it never was, or its bytes are
// gone).
[[nodiscard]] Result<OpenedToc> read_generation(const mapping::OsFile& file, std::uint64_t file_size,
                                                std::uint64_t generation, const Trust& trust = {});
// The same of a file that somebody may be appending to: it can have grown since `identity` was asked for, its header
// can name bytes behind that size, and a slow read of the header can mix pages of several generations. Reads again, a
// bounded number of times, while the file changes; an error of a file that stays as it is comes at once. Brings
// `identity` up to date.
[[nodiscard]] Result<OpenedToc> read_growing(const mapping::OsFile& file, mapping::FileIdentity& identity,
                                             std::uint64_t generation, const Trust& trust = {});
// The header alone, in the same way. Errors: those of parse_header, truncated, io.
[[nodiscard]] Result<Header> read_growing_header(const mapping::OsFile& file, mapping::FileIdentity& identity);
// What a whole look finds degraded: also copy 1 of the table, which an open reads only when copy 0 is damaged. `header`
// is that of read_toc(). Errors: truncated, io.
[[nodiscard]] Result<std::uint32_t> degraded_copies(const mapping::OsFile& file, const Header& header);
// Whether the copy of an earlier generation's table at `offset` is whole. Errors: truncated, io.
[[nodiscard]] Result<bool> holds_table(const mapping::OsFile& file, const Generation& generation, std::uint64_t offset);
[[nodiscard]] Result<Header> read_header(const mapping::OsFile& file, std::uint64_t file_size);

struct MetadataBytes {
  std::vector<std::byte> bytes;
  WorkBudget::Hold hold;  // memory of a tensor table: its bytes and its parsed form
};
// The logical bytes of a small metadata record (description, tensor table) into private memory, checked against the
// record's hash. The budget allows the memory before it is taken.
// Errors: checksum_mismatch (F37), codec (F41), limit_exceeded (F33, or without a rule: WorkBudget), unsupported,
// truncated, io.
[[nodiscard]] Result<MetadataBytes> read_metadata_record(const mapping::OsFile& file, const Toc& toc,
                                                         const RecordInfo& record, const WorkBudget& budget);

// unsupported, saying why this version cannot hand the record out as a view; Done if it can.
[[nodiscard]] Status check_supported(const RecordInfo& record, const RecordForm& form);

// Names the record in an error.
[[nodiscard]] Error in_record(Error error, const RecordInfo& record);

}  // namespace fatctx::container
