// Records as words and numbers: types, element types, codecs, and hashes of contents.
#pragma once

#include "fatctx/c/error.h"

#ifdef __cplusplus
extern "C" {
#endif

// Record types. The numbers are stored in the file (docs/format.md, section 5.2).
enum {
  FATCTX_RECORD_CONTEXT_BINARY = 1,
  FATCTX_RECORD_WEIGHT_BLOB = 2,
  FATCTX_RECORD_TENSOR_TABLE = 3,
  FATCTX_RECORD_SOURCE_MODEL = 4,
  FATCTX_RECORD_WRAPPER_MODEL = 5,
  FATCTX_RECORD_DESCRIPTION = 6,
  FATCTX_RECORD_OPAQUE = 7
};
// Element types. The numbers are stored in the file (docs/format.md, section 6).
enum {
  FATCTX_DTYPE_F32 = 1,
  FATCTX_DTYPE_F64 = 2,
  FATCTX_DTYPE_F16 = 3,
  FATCTX_DTYPE_BF16 = 4,
  FATCTX_DTYPE_I8 = 5,
  FATCTX_DTYPE_I16 = 6,
  FATCTX_DTYPE_I32 = 7,
  FATCTX_DTYPE_I64 = 8,
  FATCTX_DTYPE_U8 = 9,
  FATCTX_DTYPE_U16 = 10,
  FATCTX_DTYPE_U32 = 11,
  FATCTX_DTYPE_U64 = 12,
  FATCTX_DTYPE_BOOL = 13,
  FATCTX_DTYPE_I4 = 14,
  FATCTX_DTYPE_U4 = 15
};
// How the bytes of a record are stored. The numbers are stored in the file (docs/format.md, section 5.2).
enum { FATCTX_CODEC_NONE = 0, FATCTX_CODEC_LZ4 = 1 };

// Return words for numbers: "weight_blob", "float32"; "unknown" for a number that is not listed. Static storage.
FATCTX_API const char* fatctx_record_type_name(uint32_t type);
FATCTX_API const char* fatctx_dtype_name(uint32_t dtype);
// Return numbers for words; 0 for an unknown word, and for null.
FATCTX_API uint32_t fatctx_record_type_from_name(const char* name);
FATCTX_API uint32_t fatctx_dtype_from_name(const char* name);
FATCTX_API uint32_t fatctx_dtype_bits(uint32_t dtype);  // bits an element takes; 0 for a number that is not listed
// Returns the bytes that a tensor takes: row-major, without gaps, types below a byte rounded up to whole bytes. `shape`
// may be null if `rank` is 0. Errors: invalid_argument (a type that is not listed), limit_exceeded (more bits than 64
// bits count).
FATCTX_API int32_t fatctx_tensor_size_bytes(uint32_t dtype, const uint64_t* shape, uint64_t rank, uint64_t* size_bytes,
                                            fatctx_error* error);

// Compute XXH3-128 in canonical byte order, into 16 bytes at `hash`: detects accidents, not forgeries. `bytes` may be
// null if `size` is 0. Errors of the second: not_found, io, not_regular_file, changed.
FATCTX_API int32_t fatctx_content_hash(const void* bytes, uint64_t size, uint8_t* hash, fatctx_error* error);
FATCTX_API int32_t fatctx_content_hash_of_file(const char* path, uint8_t* hash, fatctx_error* error);

#ifdef __cplusplus
}  // extern "C"
#endif
