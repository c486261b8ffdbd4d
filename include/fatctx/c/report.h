// Reports: JSON of a schema that docs/reports.md describes. This header has those about contents.
#pragma once

#include "fatctx/c/open.h"

#ifdef __cplusplus
extern "C" {
#endif

// A report: the JSON of one moment, or of work that is done once. It needs nothing else any more.
typedef struct fatctx_report {
  uint64_t id;
} fatctx_report;
// Writes a report: FATCTX_FORMAT_JSON; of a profile also FATCTX_FORMAT_CSV. Errors: unsupported (another format),
// invalid_argument (a number that is none).
FATCTX_API int32_t fatctx_report_text(fatctx_report report, uint32_t format, char* buffer, size_t capacity,
                                      size_t* size, fatctx_error* error);
FATCTX_API int32_t fatctx_report_close(fatctx_report report, fatctx_error* error);

// Measures sharing: the bytes that are stored once, and those that could be. Schema "fatctx.sharing/1". Reads and
// verifies every record whose pages could be shared: uncompressed, in a segment of its own. The others count as they
// are stored. Takes about 30 bytes of memory for each 4 KiB. `progress` may be null.
// Errors: checksum_mismatch, malformed, changed, truncated, io, cancelled, limit_exceeded (records that together are
//         more than 64 times as large as their file).
FATCTX_API int32_t fatctx_container_sharing(fatctx_container container, fatctx_progress progress, void* user,
                                            fatctx_report* report, fatctx_error* error);
// Compares two containers: which records were added, removed, changed, retargeted, renamed or rebound. Schema
// "fatctx.diff/1". Reads metadata, and payload only of weight blobs that changed and have a tensor table in both.
// `same`, which may be null, gets 1 if records and descriptions are the same, else 0. `progress` may be null.
// Errors: checksum_mismatch, malformed, codec, limit_exceeded, unsupported, truncated, changed, mapping_lost, io,
//         cancelled.
FATCTX_API int32_t fatctx_container_diff(fatctx_container before, fatctx_container after, fatctx_progress progress,
                                         void* user, uint32_t* same, fatctx_report* report, fatctx_error* error);
// Writes the field tables of the format as JSON, schema "fatctx.layout/1".
FATCTX_API int32_t fatctx_layout_json(char* buffer, size_t capacity, size_t* size, fatctx_error* error);

#ifdef __cplusplus
}  // extern "C"
#endif
