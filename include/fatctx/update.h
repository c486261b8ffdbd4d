// Updates: a small file that makes one state of a container from others that a device has already.
//
// An update says how each byte of NEW comes out: copies of bytes of the OLD files at any offset, repeated bytes, and
// the rest, compressed. So it costs what changed, even if everything moved. NEW comes out bit for bit, with its table,
// its hashes and its signature (docs/update_format.md).
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/keys.h"
#include "fatctx/progress.h"

namespace fatctx {

// A state of a container that an update names.
struct UpdateContainer {
  std::string path = {};  // empty if it is not known
  std::string uuid = {};  // hexadecimal with dashes
  std::uint64_t generation = 0;
  std::uint64_t file_size = 0;
};

struct UpdateReport {
  std::string path = {};  // the update file; empty if it was only measured
  std::uint64_t update_bytes = 0;
  UpdateContainer made = {};              // NEW
  std::vector<UpdateContainer> old = {};  // in the order of the update
  std::uint64_t copies = 0;
  std::uint64_t copied_bytes = 0;
  std::uint64_t filled_bytes = 0;   // runs of one byte
  std::uint64_t literal_bytes = 0;  // before their compression
  std::uint64_t hash_bytes = 0;     // leaf hashes, which follow from the payload and are not in the update
  bool for_partial = false;         // it also makes a part of NEW from a part of OLD; then it holds the leaf hashes
};

struct MakeUpdateOptions {
  bool overwrite = false;  // replace the update if it exists
  // Serves devices with a part of OLD, too: see apply_update(). Costs the leaf hashes of NEW, 1/4096 of its size and
  // three times that with SHA-256, and copies less: what records need comes only from what the records of the same
  // names need.
  bool for_partial = false;
  std::uint32_t threads = 0;  // 0: the number of processors, at most 8; the update is the same for any number
  Progress progress = {};     // called in each pass: the checks, the search
  const std::atomic<bool>* cancel = nullptr;  // true: stop with `cancelled`
};

// Writes an update that makes the container `newer` from the containers `old`, 1 to 16 of them. It needs all of them to
// be applied. Reads their newest generations, and checks every leaf first. `old` may be partial containers: bytes that
// are not present are not used. The update appears whole or not at all.
//
// Memory: at most 0.36 bytes for each byte of `old` and for each byte that is new, 6 MiB a thread, and 48 MiB. Time:
// linear in the sizes; `for_partial` reads OLD once for each set of records that share bytes of NEW.
//
// Errors: invalid_argument (no `old`, too many, the same one twice, or the same as `newer`), not_present (`newer` is
//         partial), checksum_mismatch (one of them is damaged), trailing_data (`newer` ends in an append that was not
//         committed), limit_exceeded (`newer` would be refused for its size, see apply_update(); or, for partial files,
//         its records share bytes in too many ways), exists, changed (one
//         of them was written to meanwhile), cancelled, no_space, io; those of opening a container.
[[nodiscard]] Result<UpdateReport> make_update(std::span<const std::string> old, const std::string& newer,
                                               const std::string& target, const MakeUpdateOptions& options = {});
// Does the same, and writes nothing. Errors: the same, except for those of writing.
[[nodiscard]] Result<UpdateReport> measure_update(std::span<const std::string> old, const std::string& newer,
                                                  const MakeUpdateOptions& options = {});

// Reads and checks a whole update file. Returns what it needs and makes; `path` of the containers is empty, and what
// only the steps say is 0. Memory: 1 MiB.
// Errors: bad_magic, unsupported, malformed, truncated, trailing_data, checksum_mismatch, not_found, io.
[[nodiscard]] Result<UpdateReport> read_update(const std::string& path);

struct ApplyUpdateOptions {
  bool overwrite = false;  // replace `target` if it exists; it may be one of `old`
  // As in OpenOptions, for NEW. Nothing is published unless they are satisfied.
  std::vector<PublicKey> trusted_keys = {};
  std::uint64_t minimum_generation = 0;
  // Most bytes that NEW may have. 0: 64 MiB, and 16 times the bytes of `old` and of the update together.
  std::uint64_t max_made_bytes = 0;
  Progress progress = {};  // bytes of NEW: as they are written, then as they are checked
  const std::atomic<bool>* cancel = nullptr;
};

struct ApplyReport {
  std::string path;                 // NEW
  UpdateReport update;              // the update, and where the bytes came from; `old` has the paths that were used
  bool signature_verified = false;  // as OpenReport::signature_verified
  std::uint64_t absent_bytes = 0;   // bytes that NEW lacks; 0 if NEW is whole
  // If NEW is partial: the names of its records that are whole.
  std::vector<std::string> records = {};
};

// Makes NEW at `target` from the containers at the paths `old`, in any order; more than the update needs do no harm.
// Checks the whole update and the names of the old files before it writes anything. Writes beside `target`, checks the
// hash of every part and every leaf of NEW, and publishes by rename. A crash leaves the old files and `target` as they
// were.
//
// `old` may be partial containers. If they have all bytes that the update copies, the whole of NEW comes out. If not,
// and the update was made for partial files, a partial NEW comes out: every record is whole whose namesake is whole in
// the old files, and every leaf that is there matches its hash.
//
// Memory: at most 64 MiB, and the tables of contents. Time: linear in the size of NEW.
//
// Errors: changed (none of `old` is a file that the update needs; or one was written to meanwhile), not_present (bytes
//         that are needed; names the record, of OLD or of NEW), checksum_mismatch (the update, an old file or NEW is
//         damaged), malformed and others of read_update(), limit_exceeded, signature_missing, signature_bad, rollback,
//         exists, locked, not_regular_file, cancelled, commit_unknown, no_space, io; those of opening a container.
//         Except for commit_unknown, `target` is unchanged.
[[nodiscard]] Result<ApplyReport> apply_update(const std::string& update, std::span<const std::string> old,
                                               const std::string& target, const ApplyUpdateOptions& options = {});

}  // namespace fatctx
