// Appenders: add records to a container in place. Readers of the old generation go on; fatctx_container_reopen() gives
// them the new one.
#pragma once

#include "fatctx/c/pack.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fatctx_appender {
  uint64_t id;
} fatctx_appender;

typedef struct fatctx_append_options {
  uint32_t struct_size;
  // 1: a record supersedes a stored one with the same full key, which stays readable in its own generation until the
  // file is rewritten; otherwise exists; 0
  uint32_t replace;
  uint32_t threads;  // as in fatctx_pack_options; 0
  uint32_t sharing;  // FATCTX_SHARING_PAGES, or _BYTES, which reads all of the file; 0: as the records of the file do
  fatctx_progress progress;  // null
  void* progress_user;
  uint32_t one_per_soc;     // as in fatctx_pack_options, with the records of the file; 0
  uint32_t strict_sharing;  // as in fatctx_pack_options; 0
} fatctx_append_options;

typedef struct fatctx_append_report {
  uint32_t struct_size;
  uint32_t record_count;  // that were added
  uint64_t generation;    // the new one
  uint64_t file_size_before;
  uint64_t file_size;
  uint64_t input_bytes;   // sum of the logical sizes of the added records
  uint64_t stored_bytes;  // payload bytes that were written
  uint64_t shared_bytes;  // found in the file, or in another added record
  uint64_t dead_bytes;    // bytes of the file that no record uses
  uint32_t superseded_count;
  uint32_t restored_count;
  uint32_t warning_count;
  char uuid[44];  // that of the container, as before; ended by NUL
} fatctx_append_report;

// Takes the file's write lock, which is held until the handle is closed. `path` must not be a link. An appender works
// for one call at a time, as a packer does, and not in a child that was forked from the process that opened it.
// Errors: not_found, locked (another process is appending), operation_not_permitted (the container is sealed, or the
//         file may not be written; the message says how to get a writable copy), remote_filesystem, unsupported (no
//         locks here, or made by a newer version in a way that only it can add to), those of fatctx_container_open.
FATCTX_API int32_t fatctx_appender_open(const char* path, const fatctx_append_options* options,
                                        fatctx_appender* appender, fatctx_error* error);
// Adds a record as fatctx_packer_add does; `weights` may also name weight blobs of the file. Writes nothing.
// Errors: those of fatctx_packer_add; exists also if the file has a record of this name or key; operation_not_permitted
//         (it was committed).
FATCTX_API int32_t fatctx_appender_add(fatctx_appender appender, const fatctx_pack_record* record, fatctx_error* error);
// A measurement or an observation of a record. `tool` may be null.
typedef struct fatctx_evidence_note {
  uint32_t struct_size;
  uint32_t reserved;
  const char* device;  // "Galaxy S24"
  const char* tool;    // with its version: "qnn-net-run 2.51"
  const char* metric;  // "latency_ms"
  const char* value;   // "3.1"
  const char* date;    // "2026-11-22"
} fatctx_evidence_note;
// Adds a note to the evidence of a record of the file; fatctx_container_info_json() shows it. Writes nothing.
// Errors: not_found, invalid_argument (a text is missing or too long, the date is invalid); the commit says `exists` if
//         the same note exists.
FATCTX_API int32_t fatctx_appender_note(fatctx_appender appender, const char* record_name,
                                        const fatctx_evidence_note* note, fatctx_error* error);
// Writes the added records behind the end of the file, syncs it, then names them in the header and syncs again.
// `report` may be null. After the call nothing more can be added or committed.
// Errors: bad_reference, changed (an input), no_space, io, limit_exceeded, cancelled: the file opens as before, and
//         bytes behind its end are dead. commit_unknown: the last sync failed; the disk has the new generation or the
//         old one, and reads may show the new one before the disk has it. The next append or fatctx_repair() relies on
//         neither.
FATCTX_API int32_t fatctx_appender_commit(fatctx_appender appender, fatctx_append_report* report, fatctx_error* error);
// Writes the report of the commit, schema "fatctx.appended/1": a row for each added record, the names of superseded
// records, copies of metadata that were damaged and are whole again ("slot A1"), warnings. Errors: not_found (nothing
// was committed).
FATCTX_API int32_t fatctx_appender_report_json(fatctx_appender appender, char* buffer, size_t capacity, size_t* size,
                                               fatctx_error* error);
// Gives the lock up and discards everything that was not committed.
FATCTX_API int32_t fatctx_appender_close(fatctx_appender appender, fatctx_error* error);

#ifdef __cplusplus
}  // extern "C"
#endif
