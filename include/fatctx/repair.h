// Repairs a container in place: damaged copies of metadata are rewritten from their good copies, and what the file has
// no copy of from other containers.
//
// A container stores its indispensable parts twice: its identity, the slots that name a generation, the table of
// contents. Repair overwrites the bad one of two copies, and sets padding of the header and between segments back to
// zero. It restores leaf hashes if the payload gives exactly those that the table of contents confirms. It writes
// nothing that it cannot prove. If nothing in the file says what belongs somewhere, and no source has it, the report
// says so.
//
// With sources, bad and absent leaves of payload (64 KiB) are replaced too: by bytes that match their hashes. A
// source is not trusted. XXH3 detects accidents and no attacker: who can write the damaged file can choose its hashes.
// With keys the signed SHA-256 decides.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fatctx/base/bytes.h"
#include "fatctx/base/result.h"
#include "fatctx/container.h"
#include "fatctx/keys.h"
#include "fatctx/repair_source.h"

namespace fatctx {

struct RepairOptions {
  bool dry_run = false;       // say what would be done; opens the file for reading and takes no lock
  std::uint32_t threads = 0;  // as VerifyOptions::threads
  Progress progress = {};     // of the check at the end, which reads the whole file

  // Other containers: they have leaves, leaf hashes or tables of contents that the file lacks. Any container with
  // equal bytes serves, at any place of it. They are asked in this order, paths first, each for the bytes that are
  // still missing.
  std::vector<std::string> from = {};
  std::vector<RepairSource> sources = {};
  Progress mending = {};  // bytes of payload that came, of those that were missing

  // As in OpenOptions, for the damaged file. With keys, each byte from a source must match the signed SHA-256.
  std::vector<PublicKey> trusted_keys = {};
  std::uint64_t minimum_generation = 0;
};

// A range of the file that was damaged and is whole again.
struct RestoredRange {
  // "prologue copy 0", "slot A1", "header padding", "padding", "toc copy 1", "leaf hashes of record 5 "weights"",
  // "payload of record 5 "weights"", "the end of the file"
  std::string what;
  ByteRange range;  // in the file
};

struct RepairReport {
  std::string path;
  std::string uuid;  // hexadecimal with dashes
  std::uint64_t generation = 0;
  bool dry_run = false;
  // In the order in which they were written. A dry run lists the ranges that a repair would restore.
  std::vector<RestoredRange> restored;
  // Damage that neither the file nor a source can undo; empty: the file is whole. A dry run leaves out damage of
  // payload if the sources have all leaves that are missing.
  std::vector<VerifyFinding> remaining;
  std::uint64_t checked_bytes = 0;               // size of payload and leaf hashes that the final check has read
  std::uint64_t lacking_bytes = 0;               // size of the leaves of payload that were damaged or absent
  std::vector<RepairSourceReport> sources = {};  // those that were asked
};

// Repairs the file at `path`, sealed or not. Each range is written and synced before the next. A crash or an error in
// between therefore leaves a file that opens as before or better. Then every slot is written and synced once more, as
// it reads: after a failed sync, reads may show bytes that the disk does not have. A sealed file without damage is not
// written to, and even its times stay. Afterwards the whole file is checked.
//
// Leaves are written where their bytes are wrong, and only there: bytes whose hashes are right are never written. So no
// view that was checked changes, and no crash takes anything that could be read. A file that was cut gets its length
// back first. Leaves are synced in batches; after a failed write or sync, those of the batch become zeros.
//
// Takes the file's write lock while it runs, also while sources are read; `path` must not be a link. A file that may
// not be written to is an error only if something needs restoring. Readers that have the file mapped go on: bytes that
// they use do not change.
//
// Errors: not_found, not_regular_file, locked (another process is writing to it), operation_not_permitted (it may not
//         be written, and something needs restoring), remote_filesystem, unsupported (no locks here, or made by a newer
//         version in a way that only it can change), io, no_space, cancelled (a source said so; what came stays); those
//         of Container::open for a file that does not open: nothing of it is changed. A source that cannot be used
//         causes no error: its report has the reason.
[[nodiscard]] Result<RepairReport> repair(const std::string& path, const RepairOptions& options = {});

}  // namespace fatctx
