// Repairs a container in place: damaged copies of metadata are rewritten from their good copies.
//
// A container stores its indispensable parts twice: its identity, the slots that name a generation, the table of
// contents. Repair overwrites the bad one of two copies and sets padding of the header back to zero. It restores leaf
// hashes if the payload gives exactly those that the table of contents confirms. It writes nothing that it cannot
// prove. Payload is never changed, and if both copies are bad the report says so.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/container.h"

namespace fatctx {

struct RepairOptions {
  bool dry_run = false;       // say what would be done; opens the file for reading and takes no lock
  std::uint32_t threads = 0;  // as VerifyOptions::threads
  Progress progress = {};     // of the check at the end, which reads the whole file
};

// A range of the file that was damaged and is whole again.
struct RestoredRange {
  std::string
      what;         // "prologue copy 0", "slot A1", "header padding", "toc copy 1", "leaf hashes of record 5 "weights""
  ByteRange range;  // in the file
};

struct RepairReport {
  std::string path;
  std::string uuid;  // hexadecimal with dashes
  std::uint64_t generation = 0;
  bool dry_run = false;
  std::vector<RestoredRange> restored;   // of a dry run: that would be; in the order in which they were written
  std::vector<VerifyFinding> remaining;  // damage that nothing in the file can undo; empty: the file is whole
  std::uint64_t checked_bytes = 0;       // of payload and leaf hashes, after the repair
};

// Repairs the file at `path`, sealed or not. Each range is written and synced before the next. A crash or an error in
// between therefore leaves a file that opens as before or better. Then every slot is written and synced once more, as
// it reads: after a failed sync, reads may show bytes that the disk does not have. A sealed file without damage is not
// written to, and even its times stay. Afterwards the whole file is checked.
//
// Takes the file's write lock while it runs; `path` must not be a link. A file that may not be written to is an error
// only if something needs restoring. Readers that have the file mapped go on: bytes that they use do not change.
//
// Errors: not_found, not_regular_file, locked (another process is writing to it), operation_not_permitted (it may not
//         be written, and something needs restoring), remote_filesystem, unsupported (no locks here, or made by a newer
//         version in a way that only it can change), io, no_space; those of Container::open for a file that does not
//         open: nothing of it is changed.
[[nodiscard]] Result<RepairReport> repair(const std::string& path, const RepairOptions& options = {});

}  // namespace fatctx
