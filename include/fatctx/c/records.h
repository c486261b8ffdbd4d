// The records of a container: their facts, as structs and as JSON, and their bytes as a stream or a file.
#pragma once

#include "fatctx/c/open.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fatctx_record_info {
  uint32_t struct_size;
  uint32_t id;
  uint32_t type;       // FATCTX_RECORD_...
  uint32_t supported;  // 0: this version lists the record but cannot hand it out
  uint32_t ignorable;
  uint32_t must_map;
  uint32_t slice_count;
  uint32_t weight_count;
  const uint32_t* weights;  // ids of the weight blobs it refers to
  fatctx_text name;
  uint64_t size_bytes;
  uint64_t stored_bytes;
  uint64_t file_offset;  // of the first slice; 0 for an empty record
  uint8_t hash[16];      // of its bytes
  // The target it was built for. Empty texts and zeros mean "not stated".
  fatctx_text group;
  fatctx_text unit;
  fatctx_text backend;
  fatctx_text part;
  fatctx_text arch;
  fatctx_text features;  // sorted, comma separated
  fatctx_text variant;
  uint32_t qnn_soc;
  uint32_t vtcm_mb;
  uint32_t generic;
  fatctx_version sdk;
  fatctx_version api;
  fatctx_version blob;
  uint32_t codec;   // FATCTX_CODEC_...; with any but NONE it has no view: stream and extract give its bytes
  uint32_t recipe;  // 1: stored as a program and the bytes it copies from; its bytes are made on request
} fatctx_record_info;
// Gets the number of records.
FATCTX_API int32_t fatctx_container_record_count(fatctx_container container, uint64_t* count, fatctx_error* error);
// Get a record by index in ascending record id, by id, by name. Lifetime: texts and weights borrow from `container`.
// Errors: not_found.
FATCTX_API int32_t fatctx_container_record_at(fatctx_container container, uint64_t index, fatctx_record_info* record,
                                              fatctx_error* error);
FATCTX_API int32_t fatctx_container_record(fatctx_container container, uint32_t record_id, fatctx_record_info* record,
                                           fatctx_error* error);
FATCTX_API int32_t fatctx_container_find(fatctx_container container, const char* name, fatctx_record_info* record,
                                         fatctx_error* error);
// Writes the target of a record for people: "htp SM8650 soc 57 v75 vtcm 8". Errors: not_found.
FATCTX_API int32_t fatctx_container_record_target(fatctx_container container, uint32_t record_id, char* buffer,
                                                  size_t capacity, size_t* size, fatctx_error* error);

// Writes the ids of the other records that are stored in the same bytes as this one, ascending: the first `capacity` of
// them into `ids`, and their number into `count`. `ids` may be null if `capacity` is 0. Errors: not_found.
FATCTX_API int32_t fatctx_container_same_bytes(fatctx_container container, uint32_t record_id, uint32_t* ids,
                                               uint64_t capacity, uint64_t* count, fatctx_error* error);

typedef struct fatctx_info_parts {  // requested parts besides file and records
  uint32_t struct_size;
  uint32_t graphs;      // 0
  uint32_t options;     // 0
  uint32_t tensors_of;  // id of a weight blob; 0, which is none
  uint32_t sharing;     // 0; the sharing of records, actual and possible: reads and verifies the payload
  uint32_t extents;     // 0; the place of everything in the file: header, tables, segments, leaf hashes, slices
  uint32_t present;     // 0; reads payload to find absent bytes, as fatctx_container_absent() does
} fatctx_info_parts;
// Writes file, records and their description as JSON, schema "fatctx.info/1". `parts`: null for none of them.
// Errors: malformed, checksum_mismatch, io (the description); those of fatctx_container_tensors; with sharing also
//         changed, truncated, limit_exceeded (records that together are more than 64 times as large as their file).
FATCTX_API int32_t fatctx_container_info_json(fatctx_container container, const fatctx_info_parts* parts, char* buffer,
                                              size_t capacity, size_t* size, fatctx_error* error);

typedef struct fatctx_file_range {  // bytes of the file; this struct never changes
  uint64_t offset;
  uint64_t size;
} fatctx_file_range;
// Writes the ranges of the file that a partial container should have and does not: those that one record needs, or with
// `record_id` 0 all of them, ascending. `count` gets their number, and `ranges` the first `capacity` of them.
// `ranges` may be null if `capacity` is 0. Without `read_payload` only holes of the file count, and no payload is read;
// with it, about a page of each 64 KiB is, and zeros count too. Errors: not_found, truncated, io.
FATCTX_API int32_t fatctx_container_absent(fatctx_container container, uint32_t record_id, uint32_t read_payload,
                                           fatctx_file_range* ranges, uint64_t capacity, uint64_t* count,
                                           fatctx_error* error);

// Takes the next bytes of a stream, valid during the call only; a result other than 0 stops it: cancelled.
typedef int32_t (*fatctx_sink)(void* user, const void* bytes, uint64_t size);
// Write the bytes of a record as a stream, or as a file that appears whole or not at all; for a record with a codec the
// decoded bytes. They are read with pread, never through the map, and checked before they are handed on. `progress` may
// be null.
// Errors: not_found, unsupported, checksum_mismatch, codec, truncated, changed, io, cancelled; for a file also exists
//         (without `overwrite`), no_space, commit_unknown.
FATCTX_API int32_t fatctx_container_stream(fatctx_container container, uint32_t record_id, fatctx_sink sink, void* user,
                                           fatctx_error* error);
FATCTX_API int32_t fatctx_container_extract(fatctx_container container, uint32_t record_id, const char* path,
                                            uint32_t overwrite, fatctx_progress progress, void* user,
                                            fatctx_error* error);

// The way in which fatctx_container_read() gets bytes. STREAMED is in reports only: one piece after another, on the
// calling thread.
enum {
  FATCTX_READ_AUTO = 0,    // from the page cache what it has; the rest of large records past it
  FATCTX_READ_DIRECT = 1,  // past the page cache where that is possible
  FATCTX_READ_CACHED = 2,
  FATCTX_READ_STREAMED = 3
};
typedef struct fatctx_read_options {
  uint32_t struct_size;
  uint32_t method;       // FATCTX_READ_...; FATCTX_READ_AUTO
  uint32_t keep_cached;  // does not drop the pages that the call read into the page cache; 0
  uint32_t threads;      // number of threads; 0: chosen by the size, at most 4
} fatctx_read_options;
typedef struct fatctx_read_report {
  uint32_t struct_size;
  uint32_t method;        // FATCTX_READ_...: the one that read most of the bytes
  uint64_t size_bytes;    // size of the record
  uint64_t direct_bytes;  // read past the page cache
  uint64_t cached_bytes;  // bytes that the page cache had before; 0 if the system does not report it
  uint32_t threads;       // number of threads that read; 0: the calling thread alone
  uint32_t reserved;
  char reason[160];  // why this method, with the measured facts; cut to fit
} fatctx_read_report;
// Reads the bytes of a record into `memory`, which has exactly its size: for consumers that cannot take mapped memory.
// Large records are read by several threads, checked there, and not left in the page cache. `options`, `report` and
// `progress` may be null. After an error the content of `memory` is undefined.
// Errors: invalid_argument (another size); those of fatctx_container_stream().
FATCTX_API int32_t fatctx_container_read(fatctx_container container, uint32_t record_id, void* memory, uint64_t size,
                                         const fatctx_read_options* options, fatctx_read_report* report,
                                         fatctx_progress progress, void* user, fatctx_error* error);

#ifdef __cplusplus
}  // extern "C"
#endif
