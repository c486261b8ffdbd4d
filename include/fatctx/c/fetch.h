// Fetches: bring a part of a container from anywhere, with the network of the caller (docs/delivery.md). The plan names
// ranges of the source, the caller brings their bytes in any order, and the plan checks every one before it writes it.
#pragma once

#include "fatctx/c/device.h"
#include "fatctx/c/open.h"
#include "fatctx/c/records.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fatctx_fetch_plan {
  uint64_t id;
} fatctx_fetch_plan;

// The bytes that a plan waits for; each stage is checked by the one before it.
enum {
  FATCTX_FETCH_HEADER = 0,
  FATCTX_FETCH_TABLE = 1,
  FATCTX_FETCH_HASHES = 2,
  FATCTX_FETCH_PAYLOAD = 3,
  FATCTX_FETCH_DONE = 4
};
FATCTX_API const char* fatctx_fetch_stage_name(uint32_t stage);  // "header", "table", ...; "unknown"

typedef struct fatctx_fetch_options {
  uint32_t struct_size;
  uint32_t all;  // all records; 0
  // The records that the file gets are those named, those for the devices, or `all`. With none of these: those for this
  // machine.
  const char* const* records;  // names; their weights come as well; null
  uint64_t record_count;
  const fatctx_device* devices;  // null
  uint64_t device_count;
  const char* group;  // the group of graphs, for devices; null: the only one
  uint32_t
      metadata;   // no payload, but header, table and description; `records` are weight blobs whose tensor tables come
  uint32_t more;  // keeps the records of a partial container at `path`, of the same generation; 0
  uint32_t overwrite;  // `path` may be replaced; 0
  uint32_t reserved;
  const char* const* seeds;  // paths of containers that are here; equal leaves are copied from them; null
  uint64_t seed_count;
  uint64_t gap_bytes;  // ranges with at most so many bytes between them are fetched as one; 0: 128 KiB
  // Its trusted_keys and minimum_generation are for the source, the rest is not read. With keys, every byte is also
  // compared with the signed SHA-256. Null: defaults.
  const fatctx_open_options* open;
} fatctx_fetch_options;

typedef struct fatctx_fetch_report {
  uint32_t struct_size;
  uint32_t stage;         // FATCTX_FETCH_HEADER, ...
  uint64_t generation;    // 0 until the table is there
  uint64_t record_count;  // that the file will have
  uint64_t source_bytes;
  uint64_t needed_bytes;    // payload that the records need, rounded to whole leaves of 64 KiB
  uint64_t present_bytes;   // the part of it that an interrupted fetch left here
  uint64_t reused_bytes;    // the part of it that was copied from the seeds
  uint64_t fetched_bytes;   // all that was given to fatctx_fetch_plan_take()
  uint64_t missing_bytes;   // that the present stage lacks
  uint64_t degraded_count;  // copies of metadata that the source has damaged
} fatctx_fetch_report;

// Begins a fetch of a container of `source_bytes` bytes into `path`, or goes on with one that did not end: its file is
// `<path>.fetching` until fatctx_fetch_plan_publish(). A plan works for one call at a time, as a packer does.
// Errors: exists (`path` exists, and neither `overwrite` nor `more` is set), locked (another process works on it),
//         operation_not_permitted (`<path>.fetching` is the file of somebody else), truncated (an empty source),
//         not_found (a seed), stale_handle (a device), io, no_space.
FATCTX_API int32_t fatctx_fetch_plan_begin(const char* path, uint64_t source_bytes, const fatctx_fetch_options* options,
                                           fatctx_fetch_plan* plan, fatctx_error* error);
// Writes the ranges of the source that the present stage lacks, ascending; none when all is there. `count` gets their
// number, and `ranges` the first `capacity` of them. `ranges` may be null if `capacity` is 0.
FATCTX_API int32_t fatctx_fetch_plan_wanted(fatctx_fetch_plan plan, fatctx_file_range* ranges, uint64_t capacity,
                                            uint64_t* count, fatctx_error* error);
// Takes bytes of the source: any part of the wanted ranges, in any order and any cut. Others are ignored.
// Errors: checksum_mismatch (the bytes are not those of the container; they were not written, and are wanted again),
//         bad_magic (not a container), those of fatctx_container_open, not_found (a record), no_match (a device),
//         changed (with `more`: the source has another generation), invalid_argument (bytes behind the end of the
//         source), no_space, io.
FATCTX_API int32_t fatctx_fetch_plan_take(fatctx_fetch_plan plan, uint64_t offset, const void* bytes, uint64_t size,
                                          fatctx_error* error);
// Uses a file that is here:
// - a container: it copies equal leaves, as of the seeds;
// - the block index of the source (`fatctx index` makes it): it looks for blocks in the seeds, at any offset;
// - an update that makes the source from one of the seeds (`fatctx delta` makes it): it makes what the seeds have the
//   bytes for. They may be partial. Meanwhile it needs room for the whole container beside the file.
// After an index or an update, it joins wanted ranges over at most 8 KiB, and over more only if there would be over
// 4,096 ranges. None of these files needs trust: each leaf must match, or is wanted again. Time: linear in the sizes of
// the container and of the seeds.
// Errors: operation_not_permitted (the stage is not FATCTX_FETCH_PAYLOAD), changed (an index or update of another
//         state, or no seed is the old file of the update), malformed, truncated, trailing_data, checksum_mismatch,
//         limit_exceeded (a bad index or update), not_found, those of fatctx_container_open, no_space, io.
FATCTX_API int32_t fatctx_fetch_plan_use(fatctx_fetch_plan plan, const char* path, fatctx_error* error);
FATCTX_API int32_t fatctx_fetch_plan_report(fatctx_fetch_plan plan, fatctx_fetch_report* report, fatctx_error* error);
// Writes the file to the disk and gives it its name. Processes that use an old file of this name keep it.
// Errors: operation_not_permitted (bytes are missing, or it was published), exists, locked, commit_unknown, no_space,
//         io.
FATCTX_API int32_t fatctx_fetch_plan_publish(fatctx_fetch_plan plan, fatctx_error* error);
// Removes the unfinished file. Errors: operation_not_permitted (it was published).
FATCTX_API int32_t fatctx_fetch_plan_discard(fatctx_fetch_plan plan, fatctx_error* error);
// Ends the plan. The unfinished file stays: the next plan for the same path goes on with it.
FATCTX_API int32_t fatctx_fetch_plan_close(fatctx_fetch_plan plan, fatctx_error* error);

#ifdef __cplusplus
}  // extern "C"
#endif
