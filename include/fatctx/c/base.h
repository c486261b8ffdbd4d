// The common parts of the C interface: versions, texts, callbacks. fatctx/fatctx.h states the rules of all calls.
#pragma once

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define FATCTX_API __attribute__((visibility("default")))
#else
#define FATCTX_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define FATCTX_ABI_VERSION 1u
// Returns the FATCTX_ABI_VERSION of the library; another number means that header and library do not belong together.
FATCTX_API uint32_t fatctx_abi_version(void);
FATCTX_API const char* fatctx_library_version(void);  // "0.1.0"; static storage
FATCTX_API const char* fatctx_format_version(void);   // "1.0": the format it writes; static storage

typedef struct fatctx_text {
  const char* data;  // UTF-8, not ended by NUL: printf("%.*s", (int)text.size, text.data)
  uint64_t size;     // bytes
} fatctx_text;

// All zero means "unknown".
typedef struct fatctx_version {
  uint16_t major;
  uint16_t minor;
  uint32_t patch;
  uint32_t build;
} fatctx_version;

// Called from time to time; a result other than 0 stops the work, which then answers cancelled and leaves nothing
// behind. Work that reads the bytes more than once, as packing does, begins again at 0 for each pass, with the total of
// that pass.
typedef int32_t (*fatctx_progress)(void* user, uint64_t done_bytes, uint64_t total_bytes);
// Called when the library no longer needs a caller's memory, or the `user` of callbacks that it holds, on the thread
// that gives up the last share. Null if the caller does not need the call. Not called if the function it was given to
// fails.
typedef void (*fatctx_release)(void* user);

// Kinds of text that a call writes. CSV is for profiles only.
enum { FATCTX_FORMAT_TEXT = 0, FATCTX_FORMAT_JSON = 1, FATCTX_FORMAT_CSV = 2 };

// Is the answer for a word that is not listed, where 0 has a meaning.
#define FATCTX_UNKNOWN 0xFFFFFFFFu

#ifdef __cplusplus
}  // extern "C"
#endif
