// Errors of the C interface: codes, the struct that calls fill, and its text.
#pragma once

#include "fatctx/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// Codes of docs/errors.md.
enum {
  FATCTX_OK = 0,
  FATCTX_ERROR_IO = 1,
  FATCTX_ERROR_NOT_FOUND = 2,
  FATCTX_ERROR_INVALID_ARGUMENT = 3,
  FATCTX_ERROR_TRUNCATED = 4,
  FATCTX_ERROR_TRAILING_DATA = 5,
  FATCTX_ERROR_BAD_MAGIC = 6,
  FATCTX_ERROR_UNSUPPORTED = 7,
  FATCTX_ERROR_MALFORMED = 8,
  FATCTX_ERROR_CHECKSUM_MISMATCH = 9,
  FATCTX_ERROR_LIMIT_EXCEEDED = 10,
  FATCTX_ERROR_BAD_REFERENCE = 11,
  FATCTX_ERROR_NO_MATCH = 12,
  FATCTX_ERROR_CODEC = 13,
  FATCTX_ERROR_SIGNATURE_MISSING = 14,
  FATCTX_ERROR_SIGNATURE_BAD = 15,
  FATCTX_ERROR_ROLLBACK = 16,
  FATCTX_ERROR_NOT_REGULAR_FILE = 17,
  FATCTX_ERROR_CHANGED = 18,
  FATCTX_ERROR_MAPPING_LOST = 19,
  FATCTX_ERROR_REMOTE_FILESYSTEM = 20,
  FATCTX_ERROR_LOCKED = 21,
  FATCTX_ERROR_EXISTS = 22,
  FATCTX_ERROR_COMMIT_UNKNOWN = 23,
  FATCTX_ERROR_NO_SPACE = 24,
  FATCTX_ERROR_NO_RESOURCE = 25,
  FATCTX_ERROR_STALE_HANDLE = 26,
  FATCTX_ERROR_CANCELLED = 27,
  FATCTX_ERROR_OUT_OF_MEMORY = 28,
  FATCTX_ERROR_INTERNAL = 29,
  FATCTX_ERROR_OPERATION_NOT_PERMITTED = 30,
  FATCTX_ERROR_SERIALISE_FAILED = 31,
  FATCTX_ERROR_BACKEND_LIBRARY_MISSING = 32,
  FATCTX_ERROR_BACKEND_RESTARTED = 33,
  FATCTX_ERROR_TIMED_OUT = 34,
  FATCTX_ERROR_INVALID_CONFIG = 35,
  FATCTX_ERROR_COPY_NOT_ALLOWED = 36,
  FATCTX_ERROR_NOT_PRESENT = 37
};

// An error, in the caller's memory. If struct_size is smaller than this struct, the fields that fit as a whole are
// written. Below 8 there is no room for the code, and nothing is written.
typedef struct fatctx_error {
  uint32_t struct_size;
  int32_t code;
  uint32_t has_file_offset;
  uint32_t has_record_id;
  uint64_t file_offset;  // the byte the complaint is about, from byte 0 of the container
  uint32_t record_id;
  uint32_t has_os_error;
  int32_t os_error;    // errno or GetLastError()
  char rule[20];       // "F16": a row of docs/format.md section 9; empty if none
  char message[1024];  // one line without a final stop, cut at the border of a character
} fatctx_error;

// Initialises an error. `struct_size` is sizeof(fatctx_error) as the caller knows it. Does nothing for null or a size
// below 8.
FATCTX_API void fatctx_error_init(fatctx_error* error, size_t struct_size);
// Returns "checksum_mismatch"; "ok" for 0 and "unknown" for a code that is not listed. Static storage.
FATCTX_API const char* fatctx_error_code_name(int32_t code);
// Returns the line for people: "m.fatctx: record 3: extent overlaps record 2 (malformed, F16, at byte 0x30000)". A code
// that is not listed is printed in decimal and hexadecimal. Errors: invalid_argument, out_of_memory.
FATCTX_API int32_t fatctx_error_text(const fatctx_error* error, char* buffer, size_t capacity, size_t* size);

// Takes one finding of a check, valid during the call only.
typedef void (*fatctx_finding)(void* user, const fatctx_error* finding);

// Reads "2", "2.48", "2.48.0", "2.48.0.1"; a leading "v" is allowed. Errors: invalid_argument.
FATCTX_API int32_t fatctx_version_parse(const char* text, fatctx_version* version, fatctx_error* error);
// Writes "2.48": trailing zero parts are left out. `version` is required.
FATCTX_API int32_t fatctx_version_text(const fatctx_version* version, char* buffer, size_t capacity, size_t* size,
                                       fatctx_error* error);

#ifdef __cplusplus
}  // extern "C"
#endif
