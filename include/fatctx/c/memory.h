// Memory: which pages of a record are in memory. docs/loading.md says when each call is worth its cost.
#pragma once

#include "fatctx/c/open.h"

#ifdef __cplusplus
extern "C" {
#endif

// Ways in which a prefetch worked: nothing to do; the first touch costs nothing; the first touch costs a small fault.
enum { FATCTX_PREFETCH_NONE = 0, FATCTX_PREFETCH_POPULATE = 1, FATCTX_PREFETCH_READ_AHEAD = 2 };

typedef struct fatctx_prefetch {
  uint64_t id;
} fatctx_prefetch;
typedef struct fatctx_record_lock {
  uint64_t id;
} fatctx_record_lock;

typedef struct fatctx_prefetch_options {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t max_bytes;        // budget; bytes beyond it stay on the disk; UINT64_MAX
  fatctx_progress progress;  // after each step of at most 4 MiB, on the thread that does the work
  void* user;
} fatctx_prefetch_options;
FATCTX_API void fatctx_prefetch_options_init(fatctx_prefetch_options* options, size_t struct_size);
typedef struct fatctx_prefetch_report {
  uint32_t struct_size;
  uint32_t method;       // FATCTX_PREFETCH_...
  uint64_t asked_bytes;  // size of the records
  uint64_t done_bytes;   // less than asked: the budget was used up, or it was cancelled
  uint32_t cancelled;
  uint32_t reserved;
} fatctx_prefetch_report;
// Brings the pages of exactly one record into memory. Checks nothing and touches no page itself. A stopped prefetch
// answers cancelled, and `report`, which is required, says how far it came. Errors: not_found, unsupported (as
// acquire), changed, io (naming the first bad byte), no_resource, cancelled.
FATCTX_API int32_t fatctx_container_prefetch(fatctx_container container, uint32_t record_id,
                                             const fatctx_prefetch_options* options, fatctx_prefetch_report* report,
                                             fatctx_error* error);
// Does the same on a thread of the library, which calls `progress`; options and `user` are used until the wait or the
// close has ended. A forked child has no such thread. Errors: not_found, unsupported, no_resource (no thread).
FATCTX_API int32_t fatctx_container_prefetch_in_background(fatctx_container container, uint32_t record_id,
                                                           const fatctx_prefetch_options* options,
                                                           fatctx_prefetch* prefetch, fatctx_error* error);
// Asks it to stop after the present step; does not wait.
FATCTX_API int32_t fatctx_prefetch_cancel(fatctx_prefetch prefetch, fatctx_error* error);
// Gets its progress: `done` is 1 when it has ended.
FATCTX_API int32_t fatctx_prefetch_state(fatctx_prefetch prefetch, uint32_t* done, uint64_t* done_bytes,
                                         fatctx_error* error);
// Waits for the end; may be called again. Errors: those of fatctx_container_prefetch(); operation_not_permitted from
// its own `progress`, which would wait for itself.
FATCTX_API int32_t fatctx_prefetch_wait(fatctx_prefetch prefetch, fatctx_prefetch_report* report, fatctx_error* error);
// Cancels and waits for the step that is going on. Errors: operation_not_permitted from its own `progress`.
FATCTX_API int32_t fatctx_prefetch_close(fatctx_prefetch prefetch, fatctx_error* error);

typedef struct fatctx_release_options {
  uint32_t struct_size;
  uint32_t keep_cached;  // only this process gives the pages back, the system's page cache may keep them; 0
} fatctx_release_options;
typedef struct fatctx_release_report {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t asked_bytes;     // size of the records
  uint64_t released_bytes;  // whole pages that hold nothing else; 0 if the bytes are not pages of a file
} fatctx_release_report;
// Gives back the memory of a record. Views stay valid; their bytes are read from the
// file again when they are touched. Errors: not_found, unsupported (as acquire), operation_not_permitted (it is
// locked).
FATCTX_API int32_t fatctx_container_release(fatctx_container container, uint32_t record_id,
                                            const fatctx_release_options* options, fatctx_release_report* report,
                                            fatctx_error* error);
// Acquires the record and keeps its pages in memory until the lock is closed. Errors: those of acquire, no_resource
// (naming RLIMIT_MEMLOCK and the bytes).
FATCTX_API int32_t fatctx_container_lock(fatctx_container container, uint32_t record_id, fatctx_record_lock* lock,
                                         fatctx_error* error);
FATCTX_API int32_t fatctx_record_lock_close(fatctx_record_lock lock, fatctx_error* error);

#ifdef __cplusplus
}  // extern "C"
#endif
