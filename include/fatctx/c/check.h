// Checks of containers: verification, signatures, repair.
#pragma once

#include "fatctx/c/open.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fatctx_verify_options {
  uint32_t struct_size;
  uint32_t record_id;  // checks this record only; 0: the whole file; an open container only
  fatctx_finding finding;
  fatctx_progress progress;
  void* user;             // for both
  uint32_t strict;        // for a whole file: as if it were for delivery (docs/cli/inspect.md, fatctx verify); 0
  uint32_t threads;       // number that read and hash; 0: the number of processors, at most 8
  uint64_t range_offset;  // only the leaves that cover these bytes: of the file, or of the record that is checked
  uint64_t range_size;    // 0: everything
  // fatctx_verify_file reads trusted_keys, minimum_generation, generation and max_made_bytes from it. A generation that
  // keys or minimum_generation refuse is a finding. Null: defaults.
  const fatctx_open_options* open;
} fatctx_verify_options;
typedef struct fatctx_verify_report {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t checked_bytes;
  uint64_t finding_count;  // 0: whole
  uint32_t signed_file;
  uint32_t signature_verified;  // as in fatctx_open_report
  uint64_t absent_bytes;        // bytes of the file that are not present
} fatctx_verify_report;
// Check a whole file, or one record of it. Damage is a finding, not an error: look at `report`, which is required. The
// second takes a path, and also reports damage that keeps the file from being opened. `progress` is called on the
// calling thread only. Errors: io, not_found, not_regular_file, cancelled; invalid_argument (a range outside, or that
// no leaf covers; strict
//         together with a range or with one record).
FATCTX_API int32_t fatctx_container_verify(fatctx_container container, const fatctx_verify_options* options,
                                           fatctx_verify_report* report, fatctx_error* error);
FATCTX_API int32_t fatctx_verify_file(const char* path, const fatctx_verify_options* options,
                                      fatctx_verify_report* report, fatctx_error* error);

// Signatures: proof of who made a container. Keys are 32 bytes; a secret key exists only in its file.

// Writes NAME.key, which is secret, and NAME.pub. Errors: exists (nothing is replaced), not_found, no_space, io.
FATCTX_API int32_t fatctx_make_keys(const char* name, uint8_t public_key[32], fatctx_error* error);
// Reads a public key that fatctx_make_keys() or `fatctx keygen` wrote. Errors: invalid_argument (not a key), not_found,
// io.
FATCTX_API int32_t fatctx_read_public_key(const char* path, uint8_t public_key[32], fatctx_error* error);

typedef struct fatctx_sign_options {
  uint32_t struct_size;
  uint32_t seal;       // a sealed container stays sealed in any case; 0
  uint32_t overwrite;  // replace `out` if it is an existing, different file; 0
  uint32_t reserved;
  fatctx_progress progress;
  void* user;
  uint64_t max_made_bytes;  // as fatctx_open_options.max_made_bytes; 0
} fatctx_sign_options;
typedef struct fatctx_sign_report {
  uint32_t struct_size;
  uint32_t sealed;
  uint64_t generation;  // the signed one
  uint64_t file_size;
  uint8_t key_id[32];
} fatctx_sign_report;
// Writes a signed copy of the container at `path` to `out`, which may be `path`. `report` may be null.
// Errors: checksum_mismatch (nothing damaged is signed), those of fatctx_container_open, exists, unsupported,
// limit_exceeded, changed, locked, no_space, io, cancelled, commit_unknown; of the key: not_found, invalid_argument,
// operation_not_permitted (others than its owner can read it).
FATCTX_API int32_t fatctx_sign_container(const char* path, const char* key_path, const char* out,
                                         const fatctx_sign_options* options, fatctx_sign_report* report,
                                         fatctx_error* error);

// Repair: damaged copies of metadata are rewritten in place from their good copies, and what the file has no copy of
// from other containers.

// Takes one restored range: "slot A1", and its offset and size in the file. `what` is valid during the call only.
typedef void (*fatctx_restored)(void* user, fatctx_text what, uint64_t file_offset, uint64_t size);
typedef struct fatctx_repair_options {
  uint32_t struct_size;
  uint32_t reserved;
  uint32_t dry_run;          // say what would be done; opens the file for reading and takes no lock; 0
  uint32_t threads;          // as fatctx_verify_options.threads
  fatctx_restored restored;  // called for each range when everything is done
  fatctx_finding finding;    // called for each damage that neither the file nor `from` can undo
  fatctx_progress progress;  // called by the final check; stopping it keeps the restored ranges
  void* user;                // for all of them
  // Paths of containers with equal bytes, at any place of them; asked in this order. One that cannot be used is left
  // out. Payload that is damaged or absent comes from them, and leaf hashes and tables of contents. Null: none.
  const char* const* from;
  uint64_t from_count;
  // Its trusted_keys and minimum_generation are for the damaged file, the rest is not read: with keys, each byte from
  // `from` must match the signed SHA-256. Null: defaults.
  const fatctx_open_options* open;
} fatctx_repair_options;
typedef struct fatctx_repair_report {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t generation;
  uint64_t restored_count;
  uint64_t finding_count;  // 0: the file is whole
  uint64_t checked_bytes;
  uint64_t lacking_bytes;  // size of the leaves of payload that were damaged or absent; 0 without `from`
} fatctx_repair_report;
// Restores metadata that has a good copy, leaf hashes that the payload proves, and what `from` has. Bytes whose hashes
// are right are never written. Each range is written and synced before the next (payload in batches), then everything
// is read again. Takes the file's write lock; `path` must not be a link. A sealed file without damage is not written
// to. `report` is required.
// Errors: not_found, not_regular_file, locked, operation_not_permitted (it may not be written, and a range needs
//         restoring), remote_filesystem, unsupported, io, no_space, cancelled; those of fatctx_container_open for a
//         file that does not open.
FATCTX_API int32_t fatctx_repair(const char* path, const fatctx_repair_options* options, fatctx_repair_report* report,
                                 fatctx_error* error);

#ifdef __cplusplus
}  // extern "C"
#endif
