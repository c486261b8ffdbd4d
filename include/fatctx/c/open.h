// Containers: opening a file, and the report of that.
#pragma once

#include "fatctx/c/seams.h"

#ifdef __cplusplus
extern "C" {
#endif

// A container that is open.
typedef struct fatctx_container {
  uint64_t id;
} fatctx_container;

// The point in time at which payload is checked. Metadata is always checked.
// PRIVATE_COPY: views are copies in sealed memory of this process, which nobody can change after they were checked.
// BESIDE_LOAD: a thread of the library checks a record while its view is in use already. Nobody may believe a result
// before fatctx_session_await_checks() or fatctx_container_await_checks() has returned.
enum {
  FATCTX_VERIFY_RECORD_ON_ACQUIRE = 0,
  FATCTX_VERIFY_NONE = 1,
  FATCTX_VERIFY_PRIVATE_COPY = 2,
  FATCTX_VERIFY_BESIDE_LOAD = 3,
};
// The use of file mapping: map, and copy only if that is not possible; never copy; always copy.
enum { FATCTX_FILE_MAPPING_AUTO = 0, FATCTX_FILE_MAPPING_REQUIRE = 1, FATCTX_FILE_MAPPING_DISABLED = 2 };

typedef struct fatctx_open_options {
  uint32_t struct_size;
  uint32_t verify;           // FATCTX_VERIFY_...; FATCTX_VERIFY_RECORD_ON_ACQUIRE
  uint32_t refuse_symlinks;  // 0
  uint32_t require_local;    // refuse network and FUSE file systems with remote_filesystem; 0
  uint32_t file_mapping;     // FATCTX_FILE_MAPPING_...; FATCTX_FILE_MAPPING_AUTO
  uint32_t strict;           // check the whole table of contents, also a large one; 0: its rows when they are used
  fatctx_mapping_provider mapping_provider;  // {0}: the system
  fatctx_view_allocator allocator;           // not {0}: views are placed in its memory
  uint64_t max_copied_bytes;                 // memory that composed views may take together; 0
  // Folder of mode 0700 whose files hold the built bytes of composed views, shared between processes, instead of that
  // memory. Null or empty: none. Naming it is the permission. Copied by the call.
  const char* cache_folder;
  uint64_t cache_limit_bytes;  // the most that its files may take together; 0: 4 GiB
  // Public keys of 32 bytes each, one behind the other, of which one must have signed the container; payload is then
  // compared with the signed SHA-256. Null: signatures are not required. Copied by the call.
  const uint8_t* trusted_keys;
  uint64_t trusted_key_count;
  uint64_t minimum_generation;  // an older one is refused with rollback; 0
  // An earlier state of a container that was appended to, as long as its bytes exist; 0: the newest. Fails with
  // not_found if the file does not have it.
  uint64_t generation;
  // The most bytes that one call may make from the container's stored bytes, or read again, over all its records and
  // threads; beyond it: limit_exceeded. 0: 1 GiB, or 100 times the stored bytes if that is more (docs/format.md, 8.1).
  uint64_t max_made_bytes;
} fatctx_open_options;
// Sets every field to its default. `struct_size` is sizeof(fatctx_open_options) as the caller knows it; the same holds
// for all _init functions. Does nothing for null.
FATCTX_API void fatctx_open_options_init(fatctx_open_options* options, size_t struct_size);

// Opens `path`, or joins this process's existing mapping of the same file. Reads the header and the table of contents
// (of one larger than 64 KiB, the head), never payload. `options`: null for the defaults, in all functions that take
// options. Errors: not_found, io, not_regular_file, truncated, trailing_data, bad_magic, unsupported, malformed,
//         checksum_mismatch, limit_exceeded, bad_reference, changed, remote_filesystem, copy_not_allowed, no_resource,
//         out_of_memory.
FATCTX_API int32_t fatctx_container_open(const char* path, const fatctx_open_options* options,
                                         fatctx_container* container, fatctx_error* error);
// Does the same for `size` bytes from `offset` of an open file, such as an asset in an application's package; size = 0
// is "to the end of the file".
// Ownership:  `descriptor` stays the caller's and may be closed afterwards. On Windows it is the number of a HANDLE (of
//             which 32 bits count), not a descriptor of the C runtime.
FATCTX_API int32_t fatctx_container_open_descriptor(int descriptor, uint64_t offset, uint64_t size,
                                                    const fatctx_open_options* options, fatctx_container* container,
                                                    fatctx_error* error);
// Does the same for memory.
// Ownership:  `bytes` stay the caller's, and must exist unchanged until the last handle that uses them is closed.
//             `release`, if it is not null, is called once then, with `user`. It is not called if the open fails.
FATCTX_API int32_t fatctx_container_open_memory(const void* bytes, uint64_t size, const fatctx_open_options* options,
                                                fatctx_release release, void* user, fatctx_container* container,
                                                fatctx_error* error);
// Opens the same source again, with the same options: the present file at its path, or the present contents of the file
// behind its descriptor. `container`, its sessions and views keep the old bytes. Errors: as open.
FATCTX_API int32_t fatctx_container_reopen(fatctx_container container, fatctx_container* reopened, fatctx_error* error);
FATCTX_API int32_t fatctx_container_close(fatctx_container container, fatctx_error* error);
// Checks that the file is still the one that was opened, and that no mapped byte was lost. Errors: changed, io, and
// with the guard installed mapping_lost.
FATCTX_API int32_t fatctx_container_check(fatctx_container container, fatctx_error* error);

typedef struct fatctx_generation {  // an earlier state of the file; this struct never changes
  uint64_t number;
  uint64_t committed_end;  // where it ends in the file
} fatctx_generation;
typedef struct fatctx_open_report {  // a report of an open
  uint32_t struct_size;
  uint32_t degraded_count;  // copies of metadata that are damaged; 0: the file is whole
  fatctx_text path;         // as given to open
  fatctx_text filesystem;   // "ext4", "overlayfs", ...
  fatctx_text uuid;         // hexadecimal with dashes
  uint64_t generation;
  uint64_t file_size;
  uint64_t committed_end;
  uint64_t tail_bytes;  // bytes behind the committed end; never read
  uint32_t slot;        // 'A' or 'B': the pair that names the newest generation
  uint32_t sealed;
  uint32_t signed_file;
  uint32_t remote_filesystem;
  uint32_t already_live;    // another open of this process had mapped it; nothing was read
  uint32_t verify;          // FATCTX_VERIFY_...
  uint32_t mapped;          // 0: views are copies, for the reason in copy_reason
  uint32_t copied_records;  // records whose views are copies although the file is mapped
  fatctx_text copy_reason;
  uint8_t toc_hash[16];
  fatctx_text copied_records_reason;  // for the first of them
  uint64_t newest_generation;         // newest in the file; larger than `generation` if an earlier one was requested
  uint64_t dead_bytes;                // used by no record; compacting gives them back
  uint32_t earlier_generations;       // generations before `generation` whose bytes are still in the file
  uint32_t signature_verified;        // with one of trusted_keys
  fatctx_text key_id;                 // SHA-256 of the public key that the signature names, hexadecimal; empty: none
  fatctx_text format_version;         // "1.0": of the file
  const fatctx_text* degraded;        // the damaged copies, `degraded_count` of them: "prologue copy 0", "slot A1", ...
  const fatctx_generation* earlier;   // `earlier_generations` of them, ascending
  // Feature bits of a newer version, whose fields this library does not read: "ro_compat 0x4, compat 0x1"; empty: none.
  fatctx_text newer_features;
} fatctx_open_report;
// Gets the report of the open. Lifetime: texts and arrays borrow from `container`. Errors: those of the table of
// contents, if the open has read only its head.
FATCTX_API int32_t fatctx_container_report(fatctx_container container, fatctx_open_report* report, fatctx_error* error);

#ifdef __cplusplus
}  // extern "C"
#endif
