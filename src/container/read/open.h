// Reads the parts of a file that an open needs: the header and the newest table of contents, nothing else.
#pragma once

#include "container/read/parse.h"
#include "container/read/trust.h"
#include "container/read/work_budget.h"
#include "mapping/os_file.h"

namespace fatctx::container {

struct OpenedToc {
  Header header;
  Toc toc;
  bool whole = true;  // false: no row is there yet; a PartialToc reads them
};

// The part of a table that an open reads. A small table is read whole: that costs little, and the open
// returns its errors.
enum class TocPart { kAll, kHead, kHeadIfLarge };
inline constexpr std::uint64_t kSmallTocSize = std::uint64_t{64} << 10U;

// Reads the newest table. `file_size` is the size that the caller's stat returned. Copy 1 of the TOC is read only if
// copy 0 is damaged. Nothing in the table is parsed before `trust` is satisfied. The table is authenticated if `trust`
// asked for a signature.
// Errors: those of parse_header and parse_toc; checksum_mismatch (F13: both copies are damaged), those of check_trust,
// truncated, io.
[[nodiscard]] Result<OpenedToc> read_toc(const mapping::OsFile& file, std::uint64_t file_size, const Trust& trust = {});
// Reads the table of an earlier generation, which the newest table lists; 0 is the newest. The generation before the
// newest has a slot of its own with its signature; that slot is used if `trust` asks for a signature. Older generations
// have lost theirs. The returned header holds the values of that generation's slot.
// Errors: also not_found (the generation never existed, or its bytes are gone).
[[nodiscard]] Result<OpenedToc> read_generation(const mapping::OsFile& file, std::uint64_t file_size,
                                                std::uint64_t generation, const Trust& trust = {},
                                                TocPart part = TocPart::kAll);
// Reads a generation of a file to which another process may be appending. The file can have grown since `identity` was
// taken, and its header can name bytes behind that size. A slow read of the header can also mix pages of several
// generations. Reads again, a bounded number of times, while the file changes; returns an error at once if the file did
// not change. Updates `identity`.
[[nodiscard]] Result<OpenedToc> read_growing(const mapping::OsFile& file, mapping::FileIdentity& identity,
                                             std::uint64_t generation, const Trust& trust = {},
                                             TocPart part = TocPart::kAll);
// Reads only the header, in the same way. Errors: those of parse_header, truncated, io.
[[nodiscard]] Result<Header> read_growing_header(const mapping::OsFile& file, mapping::FileIdentity& identity);
// Returns all redundancy that is lost. Unlike an open, this always reads copy 1 of the table. Requires: `header` is
// that of read_toc(). Errors: truncated, io.
[[nodiscard]] Result<std::uint32_t> degraded_copies(const mapping::OsFile& file, const Header& header);
// Returns whether the copy of an earlier generation's table at `offset` is intact. Errors: truncated, io.
[[nodiscard]] Result<bool> holds_table(const mapping::OsFile& file, const Generation& generation, std::uint64_t offset);
[[nodiscard]] Result<Header> read_header(const mapping::OsFile& file, std::uint64_t file_size);

struct MetadataBytes {
  std::vector<std::byte> bytes;
  WorkBudget::Hold hold;  // memory of a tensor table: its bytes and its parsed form
};
// Reads the logical bytes of a small metadata record (description, tensor table) into private memory and checks them
// against the record's hash. The budget must allow the memory before it is allocated.
// Errors: checksum_mismatch (F37), codec (F41), limit_exceeded (F33, or without a rule: WorkBudget), unsupported,
// truncated, io.
[[nodiscard]] Result<MetadataBytes> read_metadata_record(const mapping::OsFile& file, const Toc& toc,
                                                         const RecordInfo& record, const WorkBudget& budget);

// Returns unsupported, with the reason, if this version cannot hand the record out as a view.
[[nodiscard]] Status check_supported(const RecordInfo& record, const RecordForm& form);

// Returns "; `fatctx fetch …` brings it", for errors about bytes of the record that are not present.
[[nodiscard]] std::string remedy_for_absent(const RecordInfo& record);

// Adds the name of the record to an error, and the remedy to not_present that has no record yet.
[[nodiscard]] Error in_record(Error error, const RecordInfo& record);

}  // namespace fatctx::container
