// Views: the read-only bytes of a record, of a tensor, or of a range on request.
#pragma once

#include "fatctx/c/open.h"

#ifdef __cplusplus
extern "C" {
#endif

// A view of the read-only bytes of a record or of a tensor. `data` is valid until the handle is closed; copies of this
// struct are the same handle. `data` is null for an empty record.
typedef struct fatctx_view {
  uint64_t id;
  const void* data;
  uint64_t size;  // bytes
} fatctx_view;

// Make views of a record's bytes, checked by the open policy before they are handed out.
// Errors: not_found, unsupported (also for a record with a codec), checksum_mismatch, not_present (a partial file does
// not have the bytes), io, truncated, changed.
FATCTX_API int32_t fatctx_container_acquire(fatctx_container container, uint32_t record_id, fatctx_view* view,
                                            fatctx_error* error);
FATCTX_API int32_t fatctx_container_acquire_name(fatctx_container container, const char* name, fatctx_view* view,
                                                 fatctx_error* error);
// Waits for the checks that FATCTX_VERIFY_BESIDE_LOAD has begun for this container: of `count` records, or of all if
// `record_ids` is null. Errors: not_found; checksum_mismatch, io, truncated, of the first damaged record.
FATCTX_API int32_t fatctx_container_await_checks(fatctx_container container, const uint32_t* record_ids, uint64_t count,
                                                 fatctx_error* error);
// Gets how a view of the record would be made (fatctx_access_path_name()), without making one. Errors: not_found,
// unsupported, copy_not_allowed; for a recipe those of acquire, because its program is read.
FATCTX_API int32_t fatctx_container_access_path(fatctx_container container, uint32_t record_id, uint32_t* access_path,
                                                fatctx_error* error);
// Returns the word of an access path: "direct", "stitched", ...; "unknown". Static storage.
FATCTX_API const char* fatctx_access_path_name(uint32_t access_path);

// The tensors of a weight blob by name.
typedef struct fatctx_tensor_table {
  uint64_t id;
} fatctx_tensor_table;
// Gets the tensor table of a weight blob. Errors: as acquire; not_found if it has no table; malformed.
FATCTX_API int32_t fatctx_container_tensors(fatctx_container container, uint32_t weights_id, fatctx_tensor_table* table,
                                            fatctx_error* error);
// Gets a view of one tensor of a weight blob. Compares the hashes of its own bytes and not of the whole blob, and reads
// a few pages of the table. Errors: those of fatctx_container_tensors(); not_found, naming the nearest name.
FATCTX_API int32_t fatctx_container_tensor(fatctx_container container, uint32_t weights_id, const char* name,
                                           fatctx_view* view, fatctx_error* error);

FATCTX_API int32_t fatctx_view_close(fatctx_view view, fatctx_error* error);
// Makes another handle to the same bytes, closed on its own.
FATCTX_API int32_t fatctx_view_copy(fatctx_view view, fatctx_view* copy, fatctx_error* error);
typedef struct fatctx_view_info {
  uint32_t struct_size;
  uint32_t record_id;  // 0 for a tensor
  uint32_t is_tensor;
  uint32_t access_path;  // fatctx_access_path_name()
  const void* data;
  uint64_t size;
  uint64_t copied_bytes;  // memory shown instead of pages of the file, shared with other views of the record
  uint64_t cached_bytes;  // bytes shown from a file in a cache folder instead of pages of the container
} fatctx_view_info;
FATCTX_API int32_t fatctx_view_describe(fatctx_view view, fatctx_view_info* info, fatctx_error* error);

typedef struct fatctx_tensor_info {
  uint32_t struct_size;
  uint32_t dtype;  // FATCTX_DTYPE_...
  fatctx_text name;
  const uint64_t* shape;  // elements per dimension, outermost first
  // Bytes from one element to the next in each dimension; null for element types below a byte, for a scalar, and from
  // fatctx_tensor_table_at().
  const uint64_t* strides_bytes;
  uint64_t rank;
  uint64_t offset_in_blob;
  uint64_t size_bytes;
  uint32_t alias;  // shares bytes with another tensor on purpose
  uint32_t reserved;
} fatctx_tensor_info;
// Gets the facts of the tensor of a view. Lifetime: name, shape and strides borrow from `view`.
// Errors: invalid_argument if it is a view of a whole record.
FATCTX_API int32_t fatctx_view_tensor(fatctx_view view, fatctx_tensor_info* tensor, fatctx_error* error);

// Gets the number of tensors, and the id of the weight blob; `weights_id` may be null.
FATCTX_API int32_t fatctx_tensor_table_size(fatctx_tensor_table table, uint64_t* size, uint32_t* weights_id,
                                            fatctx_error* error);
// Gets a tensor by index in the bytewise order of names. Lifetime: name and shape borrow from `table`.
// Errors: not_found.
FATCTX_API int32_t fatctx_tensor_table_at(fatctx_tensor_table table, uint64_t index, fatctx_tensor_info* tensor,
                                          fatctx_error* error);
// Make views of tensors, by name or by index. Errors: not_found, naming the nearest name.
FATCTX_API int32_t fatctx_tensor_table_view(fatctx_tensor_table table, const char* name, fatctx_view* view,
                                            fatctx_error* error);
FATCTX_API int32_t fatctx_tensor_table_view_at(fatctx_tensor_table table, uint64_t index, fatctx_view* view,
                                               fatctx_error* error);
FATCTX_API int32_t fatctx_tensor_table_close(fatctx_tensor_table table, fatctx_error* error);

// Ranges: parts of a record on request, for backends that call back for them.

typedef struct fatctx_range_access {
  uint64_t id;
} fatctx_range_access;
typedef struct fatctx_range_hooks {
  uint32_t struct_size;
  uint32_t reserved;
  // Registers the pages with a device; called on the thread that asks. An error refuses the range, and `released` is
  // then not called for it. May be null.
  int32_t (*provided)(void* user, const void* aligned, uint64_t aligned_size, fatctx_error* error);
  // Undoes the registration: once for each provided range, when it is released or the last owner is closed. May be
  // null.
  void (*released)(void* user, const void* aligned, uint64_t aligned_size);
  fatctx_release release;
  void* user;  // for all of them
} fatctx_range_hooks;
typedef struct fatctx_range {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t id;  // for fatctx_range_access_release(); never 0, never used again
  const void* data;
  uint64_t size;
  const void* aligned;  // whole pages of 4 KiB around them, as far as the record goes
  uint64_t aligned_size;
  uint64_t data_start;  // of `data` in `aligned`
} fatctx_range;
// Makes ranges over a view of a whole record, which it shares. It holds the mapping until it is closed, and may outlive
// the view. `hooks` may be null. Errors: invalid_argument (a view of a tensor).
FATCTX_API int32_t fatctx_range_access_create(fatctx_view view, const fatctx_range_hooks* hooks,
                                              fatctx_range_access* access, fatctx_error* error);
// Provides a range. `offset` and `size` count from the first byte of the record. Errors: invalid_argument (an empty
// range, or one that leaves the record), those of the hook.
FATCTX_API int32_t fatctx_range_access_provide(fatctx_range_access access, uint64_t offset, uint64_t size,
                                               fatctx_range* range, fatctx_error* error);
// Gives a range back. Errors: stale_handle (never provided, or released already).
FATCTX_API int32_t fatctx_range_access_release(fatctx_range_access access, uint64_t range_id, fatctx_error* error);
// Gets the number of ranges that were provided and not released.
FATCTX_API int32_t fatctx_range_access_outstanding(fatctx_range_access access, uint64_t* count, fatctx_error* error);
// Closes the handle and releases the remaining ranges, if no other call is using it.
FATCTX_API int32_t fatctx_range_access_close(fatctx_range_access access, fatctx_error* error);

#ifdef __cplusplus
}  // extern "C"
#endif
