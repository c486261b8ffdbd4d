// Turns NEW into a partial container where an update could not make all of its bytes.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "container/read/parse.h"
#include "container/update/container_file.h"
#include "container/update/unknown_bytes.h"
#include "fatctx/base/result.h"
#include "mapping/look_through.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Returns the names of the records that are whole, with their weights and tensor tables, in every one of these files
// that has a record of this name.
// Errors: those of reading and of `after`.
[[nodiscard]] Result<std::set<std::string>> whole_records_of(const std::vector<ContainerFile>& olds,
                                                             const mapping::AfterPiece& after);

struct PartOfNew {
  std::uint64_t absent_bytes = 0;
  std::vector<std::string> records;  // those that are whole, in the order of the table
};

// Compares every leaf of NEW with its hash: XXH3, and SHA-256 where the table names it. Makes holes of the leaves that
// have unknown bytes and do not match. Requires: `file` has the header, the table and the leaf hashes of NEW.
//
// Errors: not_present (a record of one of the names `required`, or its weights, does not come out whole; or NEW has no
//         record of these names), checksum_mismatch (leaf hashes differ from the table, or a leaf without unknown bytes
//         from its hash), those of reading, of writing and of `after`.
[[nodiscard]] Result<PartOfNew> keep_part(mapping::OsFile& file, const Toc& toc, const UnknownBytes& unknown,
                                          const std::set<std::string>& required, const mapping::AfterPiece& after);

}  // namespace fatctx::container
