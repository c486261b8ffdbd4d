// Rewrites: containers written anew, with fewer records, without dead bytes, several as one.
#pragma once

#include "fatctx/c/pack.h"
#include "fatctx/c/report.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { FATCTX_SEAL_AS_SOURCE = 0, FATCTX_SEAL_NO = 1, FATCTX_SEAL_YES = 2 };
// Beside FATCTX_SHARING_...: as the records share bytes now, with off becoming pages; for a merge bytes if a container
// shares so, else pages.
enum { FATCTX_SHARING_AS_SOURCE = 3 };

typedef struct fatctx_rewrite_options {
  uint32_t struct_size;
  uint32_t seal;         // FATCTX_SEAL_...; AS_SOURCE, which means NO for a merge
  uint32_t overwrite;    // replace `target` if it is an existing, different file; otherwise exists; 0
  uint32_t sharing;      // FATCTX_SHARING_... or FATCTX_SHARING_AS_SOURCE; the latter
  const uint32_t* keep;  // ids of the records that stay; null: all. The description stays always, a table of tensors
                         // with its weight blob. Not for a merge
  uint64_t keep_count;
  uint64_t generation;     // the one to write; 0: the newest. Not for a merge
  const char* model_name;  // for a merge alone; null: that of the first container
  uint32_t max_pieces;     // as in fatctx_pack_options; 4096
  uint32_t threads;        // as in fatctx_pack_options; 0
  fatctx_progress progress;
  void* progress_user;
  uint64_t max_made_bytes;  // as fatctx_open_options.max_made_bytes, of each source by itself; 0
} fatctx_rewrite_options;
FATCTX_API void fatctx_rewrite_options_init(fatctx_rewrite_options* options, size_t struct_size);

// Writes the kept records to `target`, which may be `source`: that file is then locked against appends, and replaced.
// The new file keeps the uuid and has one generation, the one after the newest. It appears whole or not at all, and a
// process that has the old one mapped keeps it. `options`: null for the defaults. `report` (schema
// "fatctx.rewrite/1") may be null.
// Errors: not_found, exists, locked (another process is appending to `source`), changed (`source` was replaced
//         meanwhile), not_regular_file (`source` is a link and would be replaced), not_found (an id of `keep`, the
//         generation), invalid_argument (a kept binary refers to weights that are not kept), unsupported (a record that
//         this version only lists), checksum_mismatch and codec (a record is damaged: remove it, or restore the file),
//         cancelled, those of opening `source` and of fatctx_packer_publish. Except for commit_unknown, `target` is
//         unchanged after an error.
FATCTX_API int32_t fatctx_rewrite_container(const char* source, const char* target,
                                            const fatctx_rewrite_options* options, fatctx_report* report,
                                            fatctx_error* error);
// Writes the records of all containers to `target`. If several have equal records under one name, it writes one. The
// order of `sources` changes a byte only if they disagree on the name of the model or on options of the whole
// container: then the first one counts, with a warning. Extents and granules are the largest that a source has.
// Errors: exists (two records of one name, or of one key, that differ), invalid_argument (fewer than two sources; an
//         option that is not for a merge), those of fatctx_rewrite_container.
FATCTX_API int32_t fatctx_merge_containers(const char* const* sources, uint64_t count, const char* target,
                                           const fatctx_rewrite_options* options, fatctx_report* report,
                                           fatctx_error* error);

// A target as a filter: a null, empty or 0 field fits everything. `arch` may be a SoC as fatctx_device_parse() takes
// it. Elements of arrays have no struct_size: this struct never changes.
typedef struct fatctx_target_filter {
  const char* group;
  const char* unit;
  const char* backend;
  const char* part;
  const char* arch;
  const char* features;  // comma separated; the record must have all of them
  const char* variant;
  uint32_t qnn_soc;
  uint32_t vtcm_mb;
  fatctx_version sdk;
  uint32_t generic;
  uint32_t reserved;
} fatctx_target_filter;
// Writes the ids to keep when a container is stripped to targets, for `keep`: context binaries that fit one of
// `filters`, the weights that they refer to, and other records with a backend in their key that fit one. Also those of
// records that belong to no target, such as source models, and weights that no binary refers to. Ascending: the first
// `capacity` of them into `ids`, and their number into `count`. `ids` may be null if `capacity` is 0.
// Errors: invalid_argument (there are no filters), no_match (no context binary fits one of them).
FATCTX_API int32_t fatctx_container_records_left(fatctx_container container, const fatctx_target_filter* filters,
                                                 uint64_t filter_count, uint32_t* ids, uint64_t capacity,
                                                 uint64_t* count, fatctx_error* error);
// Writes the ids of all records except `gone`, in the same way.
// Errors: not_found, invalid_argument (a description or a table of tensors, which is kept or removed with the record it
//         describes).
FATCTX_API int32_t fatctx_container_records_without(fatctx_container container, const uint32_t* gone,
                                                    uint64_t gone_count, uint32_t* ids, uint64_t capacity,
                                                    uint64_t* count, fatctx_error* error);

#ifdef __cplusplus
}  // extern "C"
#endif
