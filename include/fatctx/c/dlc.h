// Multi-SoC DLC archives of Snapdragon compilers, in files and in containers. docs/dlc.md describes them.
#pragma once

#include "fatctx/c/append.h"
#include "fatctx/c/memory.h"

#ifdef __cplusplus
extern "C" {
#endif

// Writes 1 into `found` if the file has the entries of a DLC, else 0. Errors: not_found, io, not_regular_file.
FATCTX_API int32_t fatctx_is_dlc(const char* path, uint32_t* found, fatctx_error* error);
// Writes what an archive contains: entries, context binaries with their SoCs, findings. Schema "fatctx.dlc/1". Checks
// the structure of the whole archive and reads its metadata, never a payload. Errors: not_found, io, not_regular_file,
// bad_magic, truncated, malformed, unsupported, limit_exceeded.
FATCTX_API int32_t fatctx_dlc_json(const char* path, char* buffer, size_t capacity, size_t* size, fatctx_error* error);
// Does the same for an archive that was imported into a container. `layout` is the name of its layout record; null: the
// only archive.
// Errors: also not_found (no archive), invalid_argument (several, and none named), bad_reference (a record is missing
//         or has other bytes), checksum_mismatch, changed.
FATCTX_API int32_t fatctx_container_dlc_json(fatctx_container container, const char* layout, char* buffer,
                                             size_t capacity, size_t* size, fatctx_error* error);
// Lists the archives that were imported into a container, schema "fatctx.stored_dlcs/1". Errors: checksum_mismatch,
// malformed (of a layout record), changed.
FATCTX_API int32_t fatctx_container_dlcs_json(fatctx_container container, char* buffer, size_t capacity, size_t* size,
                                              fatctx_error* error);

typedef struct fatctx_dlc_import {
  uint32_t struct_size;
  uint32_t without_layout;  // discard the bytes between the entries: the archive cannot be given back
  const char* group;        // goes into all records
  const char* unit;         // goes into the context binaries
  const char* prefix;       // in front of all names, to tell several archives in one container apart
} fatctx_dlc_import;
// Adds one record for each entry, and one with the archive's layout. `options` may be null. The file must not change
// until publish. Errors: those of fatctx_dlc_json() and fatctx_packer_add(); changed. The packer must not be used after
// an error.
FATCTX_API int32_t fatctx_packer_add_dlc(fatctx_packer packer, const char* path, const fatctx_dlc_import* options,
                                         fatctx_error* error);

// Does the same for an appender.
FATCTX_API int32_t fatctx_appender_add_dlc(fatctx_appender appender, const char* path, const fatctx_dlc_import* options,
                                           fatctx_error* error);
typedef struct fatctx_dlc_choice {  // a choice of the context binaries to keep
  uint32_t struct_size;
  uint32_t reserved;
  const uint32_t* qnn_socs;  // all of these SoCs
  uint64_t soc_count;
  const char* const* entries;  // and these, by name
  uint64_t entry_count;
} fatctx_dlc_choice;
typedef struct fatctx_thin_dlc {
  uint32_t struct_size;
  uint32_t entry_count;  // the ones that are kept
  uint64_t size_bytes;
  uint64_t new_bytes;      // bytes that the original lacks; a view holds them in memory
  uint64_t copied_bytes;   // payload that a view could not map; 0 for a file
  uint32_t mapped_pieces;  // ranges of the original; of a view: that are mapped
  uint32_t built_pieces;   // new bytes between them
} fatctx_thin_dlc;
// Writes a thin DLC of the file, which appears whole or not at all; `out` = null only plans it. `report` may be null.
// Errors: those of fatctx_dlc_json(); no_match (naming the existing ones), bad_reference (no metadata); of writing also
//         exists (without `overwrite`), no_space, changed, commit_unknown.
FATCTX_API int32_t fatctx_dlc_thin(const char* path, const fatctx_dlc_choice* choice, const char* out,
                                   uint32_t overwrite, fatctx_thin_dlc* report, fatctx_error* error);

// Writes the original archive, byte for byte, checked against the hash of the original. `layout` as in
// fatctx_container_dlc_json(), `progress` may be null. Errors: those; exists, no_space, io, cancelled, commit_unknown.
FATCTX_API int32_t fatctx_container_export_dlc(fatctx_container container, const char* layout, const char* out,
                                               uint32_t overwrite, fatctx_progress progress, void* user,
                                               fatctx_error* error);
// Writes the file that fatctx_dlc_thin() of the original would write. `report` may be null.
FATCTX_API int32_t fatctx_container_thin_dlc(fatctx_container container, const char* layout,
                                             const fatctx_dlc_choice* choice, const char* out, uint32_t overwrite,
                                             fatctx_thin_dlc* report, fatctx_error* error);
// Makes a view of the same bytes as one range of memory: pages of the container, and sealed memory for the bytes
// between payloads. The view has record id 0. `report` may be null.
// Errors: also copy_not_allowed (payload that is not stored in the container as whole pages, and max_copied_bytes does
//         not allow it), no_resource, out_of_memory, unsupported.
FATCTX_API int32_t fatctx_container_thin_dlc_view(fatctx_container container, const char* layout,
                                                  const fatctx_dlc_choice* choice, fatctx_view* view,
                                                  fatctx_thin_dlc* report, fatctx_error* error);
// Brings the mapped bytes of such a view into memory. Errors: those of fatctx_container_prefetch(); invalid_argument,
// if the view is not one of a thin DLC.
FATCTX_API int32_t fatctx_thin_dlc_prefetch(fatctx_view view, const fatctx_prefetch_options* options,
                                            fatctx_prefetch_report* report, fatctx_error* error);

#ifdef __cplusplus
}  // extern "C"
#endif
