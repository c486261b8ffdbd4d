// How files become memory: what this build can map, the guard of mappings, and replacements by the program.
#pragma once

#include "fatctx/c/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fatctx_file_mapping_info {
  uint32_t struct_size;
  uint32_t available;  // 0: this build cannot map files on this system
  fatctx_text how;     // "Boost.Interprocess", "mmap", "MapViewOfFile"; static storage
  uint64_t page_bytes;
  uint64_t fallbacks;      // how often this process copied because a consumer could not take mapped memory
  fatctx_text provider;    // whose calls: "posix", "win32"; static storage
  uint64_t granule_bytes;  // a map begins at a multiple of this: a page, or 64 KiB on Windows
  uint32_t stitched;       // 1: pieces of granules can be mapped side by side in one view
  uint32_t sealed_memory;  // 1: copies can be made that nobody can change, and composed views with them
  uint64_t lost_mappings;  // mappings of this process that have lost bytes so far; see the guard
  uint32_t guard_installed;
  uint32_t reserved;
} fatctx_file_mapping_info;
// Gets what this build and this system can do, and what this process has met so far.
FATCTX_API int32_t fatctx_file_mapping_describe(fatctx_file_mapping_info* info, fatctx_error* error);

// Installs the guard against SIGBUS. Bytes of a file that was truncated while mapped then read as zeros and do not end
// the process. Every later call for that container, and fatctx_session_end(), answers mapping_lost. Process-wide and
// permanent; faults at other addresses go to the previous handler. Errors: unsupported, io.
FATCTX_API int32_t fatctx_mapping_guard_install(fatctx_error* error);

// Seams for embedders: the mapping of files, and the memory of views. Each is a handle made of callbacks, so that two
// opens with one handle share one mapping. Containers, models, sessions and views hold it: the handle may be closed
// before them, and `release` is called when the last of them is closed.
// Threads:    callbacks are called from any number of threads at once.

typedef struct fatctx_mapping_provider {
  uint64_t id;
} fatctx_mapping_provider;
typedef struct fatctx_view_allocator {
  uint64_t id;
} fatctx_view_allocator;

// A replacement for the system's mmap: a runtime that has a mapping of its own.
typedef struct fatctx_mapping_callbacks {
  uint32_t struct_size;
  uint32_t reserved;
  const char* name;  // for reports: "hexagon fastrpc"; copied; required
  // Makes `size` bytes of the file behind `descriptor` readable from its byte `offset` on (a multiple of 4096), and
  // keeps them so until unmap. `descriptor` is borrowed for the call. Required. Answers unsupported if mapping is not
  // available: with FATCTX_FILE_MAPPING_AUTO the library copies then. Any other code is the answer of the open.
  int32_t (*map)(void* user, int descriptor, uint64_t offset, uint64_t size, const void** mapped, fatctx_error* error);
  // Called exactly once for each run of bytes that map gave, after its last use. Required.
  void (*unmap)(void* user, const void* mapped, uint64_t size);
  fatctx_release release;
  void* user;  // for all of them
} fatctx_mapping_callbacks;
// Makes a handle of the callbacks. Errors: invalid_argument.
FATCTX_API int32_t fatctx_mapping_provider_create(const fatctx_mapping_callbacks* callbacks,
                                                  fatctx_mapping_provider* provider, fatctx_error* error);
FATCTX_API int32_t fatctx_mapping_provider_close(fatctx_mapping_provider provider, fatctx_error* error);

// Memory that a consumer shares with a device. This struct never changes.
typedef struct fatctx_block {
  void* data;          // at least as aligned as requested
  uint64_t size;       // bytes, at least as many as requested
  int32_t descriptor;  // for import by a device; -1 if there is none
  uint32_t reserved;
} fatctx_block;
// An allocator of memory that a device can share (rpcmem, a memfd, a DMA buffer). A record is read into it once per
// process, and all sessions see the same bytes.
typedef struct fatctx_allocator_callbacks {
  uint32_t struct_size;
  uint32_t reserved;
  const char* name;  // for reports; copied; required
  // Fills `block`, which comes with data = null and descriptor = -1. Required. Codes: backend_library_missing,
  // no_resource, out_of_memory.
  int32_t (*allocate)(void* user, uint64_t size, uint64_t alignment, fatctx_block* block, fatctx_error* error);
  // Called when the block holds the record's bytes, before any view of it is handed out, so that it can be registered
  // with a device. An error gives the block back. May be null.
  int32_t (*filled)(void* user, const fatctx_block* block, fatctx_error* error);
  // Called exactly once for each block that allocate gave, after the last view of it. Required.
  void (*give_back)(void* user, const fatctx_block* block);
  fatctx_release release;
  void* user;  // for all of them
} fatctx_allocator_callbacks;
// Makes a handle of the callbacks. Errors: invalid_argument.
FATCTX_API int32_t fatctx_view_allocator_create(const fatctx_allocator_callbacks* callbacks,
                                                fatctx_view_allocator* allocator, fatctx_error* error);
FATCTX_API int32_t fatctx_view_allocator_close(fatctx_view_allocator allocator, fatctx_error* error);

#ifdef __cplusplus
}  // extern "C"
#endif
