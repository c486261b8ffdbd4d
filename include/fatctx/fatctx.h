// The C interface: it offers the functions of the C++ headers to C99 and to every language that can call C.
// docs/c_api.md shows it in use and has a table from C++ to C.
//
// Results:    a function that can fail returns 0 (FATCTX_OK) or a code of docs/errors.md. The list of codes is open:
//             treat an unknown one as an error, print it with fatctx_error_text().
// Errors:     the last parameter `error` may be null. Otherwise it is the caller's fatctx_error, made by
//             fatctx_error_init(). Every call writes it, even a successful one; it has nothing to free.
// Handles:    numbers that are looked up, never pointers. {0} is "no handle" and answers invalid_argument; a handle
//             that is closed, made up or of another kind answers stale_handle. The caller closes every handle it gets;
//             closing {0} is not an error, closing twice is stale_handle. A failed call sets the handle it would have
//             made to {0}.
// Ownership:  handles are independent of each other. A view keeps its bytes mapped after the container, the model and
//             the session it came from are closed, and all of them may be closed in any order and on any thread.
// Null:       a null pointer answers invalid_argument where a pointer is required. Comments say where null has a
//             meaning.
// Structs:    the caller sets `struct_size` to sizeof (by the _init function if one exists). The library reads and
//             writes no byte beyond it, so that a program and a library of different age work together: a field that
//             only one of them knows has its default. A field that the program sets and that the library does not know
//             is unsupported, and so is a field `reserved` that is not 0. A struct_size below 8 is invalid_argument.
// Texts in:   UTF-8, ended by NUL.
// Texts out:  fatctx_text borrows from the handle of the call, and is not ended by NUL. A function with `buffer`,
//             `capacity` and `size` works like snprintf: it writes at most `capacity` bytes including a NUL, cut at the
//             border of a character, and sets `*size` to the bytes of the whole text without NUL. buffer = null with
//             capacity = 0 only asks for the size; `size` may be null.
// Threads:    every function from any number of threads. A handle that one thread closes while another calls with it
//             answers stale_handle or completes the call. A thread must not be cancelled (pthread_cancel) in a call.
// Callbacks:  run on the calling thread during the call, and must return (no longjmp), without an exception. They may
//             call the library. Comments name each callback that is kept, or that another thread calls. A callback that
//             can fail returns 0 or a code as the functions here do; it may also put a line into `error->message`.
// Exceptions: none leaves a function; out_of_memory and internal replace them.
// The file:   must not be truncated while it is mapped; replacing it by rename is safe.
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

// Goes up when a program built with an older header would misbehave. Added functions, fields and codes do not raise it.
#define FATCTX_ABI_VERSION 1u
// Returns the FATCTX_ABI_VERSION of the library; another number means that header and library do not belong together.
FATCTX_API uint32_t fatctx_abi_version(void);
FATCTX_API const char* fatctx_library_version(void);  // "0.1.0"; static storage
FATCTX_API const char* fatctx_format_version(void);   // "1.0": the format it writes; static storage

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
  FATCTX_ERROR_COPY_NOT_ALLOWED = 36
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

// Handles.
typedef struct fatctx_device {
  uint64_t id;
} fatctx_device;
typedef struct fatctx_container {
  uint64_t id;
} fatctx_container;
typedef struct fatctx_model {
  uint64_t id;
} fatctx_model;
typedef struct fatctx_session {
  uint64_t id;
} fatctx_session;
typedef struct fatctx_tensor_table {
  uint64_t id;
} fatctx_tensor_table;
typedef struct fatctx_packer {
  uint64_t id;
} fatctx_packer;
typedef struct fatctx_mapping_provider {
  uint64_t id;
} fatctx_mapping_provider;
typedef struct fatctx_view_allocator {
  uint64_t id;
} fatctx_view_allocator;
typedef struct fatctx_range_access {
  uint64_t id;
} fatctx_range_access;
typedef struct fatctx_prefetch {
  uint64_t id;
} fatctx_prefetch;
typedef struct fatctx_record_lock {
  uint64_t id;
} fatctx_record_lock;
typedef struct fatctx_metrics {
  uint64_t id;
} fatctx_metrics;
typedef struct fatctx_profile {
  uint64_t id;
} fatctx_profile;
typedef struct fatctx_sharing {
  uint64_t id;
} fatctx_sharing;
typedef struct fatctx_appender {
  uint64_t id;
} fatctx_appender;
typedef struct fatctx_imported_tensors {
  uint64_t id;
} fatctx_imported_tensors;
typedef struct fatctx_diff {
  uint64_t id;
} fatctx_diff;

// A view of the read-only bytes of a record or of a tensor. `data` is valid until the handle is closed; copies of this
// struct are the same handle. `data` is null for an empty record.
typedef struct fatctx_view {
  uint64_t id;
  const void* data;
  uint64_t size;  // bytes
} fatctx_view;

// Called from time to time; a result other than 0 stops the work, which then answers cancelled and leaves nothing
// behind.
typedef int32_t (*fatctx_progress)(void* user, uint64_t done_bytes, uint64_t total_bytes);
// Takes the next bytes of a stream, valid during the call only; a result other than 0 stops it: cancelled.
typedef int32_t (*fatctx_sink)(void* user, const void* bytes, uint64_t size);
// Takes one finding of a check, valid during the call only.
typedef void (*fatctx_finding)(void* user, const fatctx_error* finding);
// Called when the library no longer needs a caller's memory, or the `user` of callbacks that it holds, on the thread
// that gives up the last share. Null if the caller does not need the call. Not called if the function it was given to
// fails.
typedef void (*fatctx_release)(void* user);

// Kinds of text that the explain functions write.
enum { FATCTX_FORMAT_TEXT = 0, FATCTX_FORMAT_JSON = 1 };

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
// Levels of how well a record fits the device.
enum {
  FATCTX_LEVEL_OPTIMAL = 1,
  FATCTX_LEVEL_PREFER_RECOMPILATION = 2,
  FATCTX_LEVEL_FALLBACK = 3,
  FATCTX_LEVEL_UNSUPPORTED = 4
};

// Return words for numbers: "weight_blob", "float32", "OPTIMAL", "A1", "direct". "unknown" or "UNKNOWN" for a number
// that is not listed. Static storage.
FATCTX_API const char* fatctx_record_type_name(uint32_t type);
FATCTX_API const char* fatctx_dtype_name(uint32_t dtype);
FATCTX_API const char* fatctx_level_name(uint32_t level);
FATCTX_API const char* fatctx_axis_id(uint32_t axis);
FATCTX_API const char* fatctx_access_path_name(uint32_t access_path);
FATCTX_API const char* fatctx_codec_name(uint32_t codec);
FATCTX_API const char* fatctx_verify_policy_name(uint32_t verify);
FATCTX_API const char* fatctx_file_mapping_name(uint32_t file_mapping);
FATCTX_API const char* fatctx_prefetch_method_name(uint32_t method);
FATCTX_API const char* fatctx_profile_level_name(uint32_t level);
FATCTX_API const char* fatctx_profile_event_name(uint32_t kind);
// Return numbers for words; 0 for an unknown word, and for null.
FATCTX_API uint32_t fatctx_record_type_from_name(const char* name);
FATCTX_API uint32_t fatctx_dtype_from_name(const char* name);
// Do the same where 0 has a meaning: FATCTX_UNKNOWN for an unknown word, and for null.
#define FATCTX_UNKNOWN 0xFFFFFFFFu
FATCTX_API uint32_t fatctx_codec_from_name(const char* name);
FATCTX_API uint32_t fatctx_verify_policy_from_name(const char* name);
FATCTX_API uint32_t fatctx_file_mapping_from_name(const char* name);
FATCTX_API uint32_t fatctx_profile_level_from_name(const char* name);
FATCTX_API uint32_t fatctx_dtype_bits(uint32_t dtype);  // bits an element takes; 0 for a number that is not listed

// Returns the bytes that a tensor takes: row-major, without gaps, types below a byte rounded up to whole bytes. `shape`
// may be null if `rank` is 0. Errors: invalid_argument (a type that is not listed), limit_exceeded (more bits than 64
// bits count).
FATCTX_API int32_t fatctx_tensor_size_bytes(uint32_t dtype, const uint64_t* shape, uint64_t rank, uint64_t* size_bytes,
                                            fatctx_error* error);
// Reads "2", "2.48", "2.48.0", "2.48.0.1"; a leading "v" is allowed. Errors: invalid_argument.
FATCTX_API int32_t fatctx_version_parse(const char* text, fatctx_version* version, fatctx_error* error);
// Writes "2.48": trailing zero parts are left out. `version` is required.
FATCTX_API int32_t fatctx_version_text(const fatctx_version* version, char* buffer, size_t capacity, size_t* size,
                                       fatctx_error* error);

// Compute XXH3-128 in canonical byte order, into 16 bytes at `hash`: detects accidents, not forgeries. `bytes` may be
// null if `size` is 0. Errors of the second: not_found, io, not_regular_file, changed.
FATCTX_API int32_t fatctx_content_hash(const void* bytes, uint64_t size, uint8_t* hash, fatctx_error* error);
FATCTX_API int32_t fatctx_content_hash_of_file(const char* path, uint8_t* hash, fatctx_error* error);

// Writes the field tables of the format as JSON, schema "fatctx.layout/1".
FATCTX_API int32_t fatctx_layout_json(char* buffer, size_t capacity, size_t* size, fatctx_error* error);

// The table of SoCs: part names, numbers and the known facts about each chip.

typedef struct fatctx_soc_table {
  uint64_t id;
} fatctx_soc_table;
// Rules by which a part name was understood.
enum {
  FATCTX_PART_EXACT = 0,
  FATCTX_PART_ALIAS = 1,
  FATCTX_PART_STRIP_SUFFIX = 2,
  FATCTX_PART_STRIP_P = 3,
  FATCTX_PART_UNKNOWN = 4
};
typedef struct fatctx_soc {
  uint32_t struct_size;
  uint32_t rule;  // FATCTX_PART_...
  fatctx_text part;
  fatctx_text vendor;   // empty if unknown, like all that follow
  fatctx_text name;     // as sold
  fatctx_text arch;     // "v79"
  fatctx_text runtime;  // "HTP", "DSP", ...
  uint32_t qnn_soc;     // 0: unknown
  uint32_t vtcm_mb;     // MB; 0: unknown
} fatctx_soc;

// Reads a table in the form of docs/selection.md, section 10: `path` adds to the built-in one or replaces it. Null: the
// built-in one. Errors: invalid_argument with file, line and column; not_found, io, not_regular_file, limit_exceeded.
FATCTX_API int32_t fatctx_soc_table_read(const char* path, fatctx_soc_table* table, fatctx_error* error);
// Finds the row of a part, by any of its names. Lifetime: texts borrow from `table`. Errors: not_found.
FATCTX_API int32_t fatctx_soc_table_find(fatctx_soc_table table, const char* name, fatctx_soc* soc,
                                         fatctx_error* error);
// Writes rows with `search` in a name, the arch or a number, schema "fatctx.socs/1"; null or empty: all.
FATCTX_API int32_t fatctx_soc_table_json(fatctx_soc_table table, const char* search, char* buffer, size_t capacity,
                                         size_t* size, fatctx_error* error);
FATCTX_API int32_t fatctx_soc_table_close(fatctx_soc_table table, fatctx_error* error);

// Devices: the facts about a machine.

// Asks this machine. An unknown machine is a device whose facts are empty, and not an error. Detection is advice; the
// load is the proof.
FATCTX_API int32_t fatctx_device_detect(fatctx_device* device, fatctx_error* error);

typedef struct fatctx_detect_options {
  uint32_t struct_size;
  uint32_t environment;      // ask FATCTX_SOC, FATCTX_ARCH, FATCTX_VTCM_MB and FATCTX_SOC_TABLE for missing options; 0
  const char* soc;           // replaces the machine's: "SM8750", "69", "kernel:639", "v79"; null
  const char* arch;          // the same if only the arch is known: "v79"; null
  const char* root;          // a folder with the files of another machine; null
  fatctx_soc_table table;    // {0}: the built-in one
  uint32_t vtcm_mb;          // replaces the detected one; 0: none
  uint32_t backend_soc;      // a backend's answer for the device it runs on: its QNN number; 0: no answer
  const char* backend_arch;  // its arch; null: no answer
  uint32_t backend_vtcm_mb;  // its VTCM; 0: no answer
  uint32_t reserved;
} fatctx_detect_options;
FATCTX_API void fatctx_detect_options_init(fatctx_detect_options* options, size_t struct_size);
// Does the same with options; null for the defaults. Errors: invalid_config; those of fatctx_soc_table_read() for the
// table that the environment names.
FATCTX_API int32_t fatctx_device_detect_with(const fatctx_detect_options* options, fatctx_device* device,
                                             fatctx_error* error);
// Gets the NPU of a detected device, which elsewhere is its processor: a new handle. Errors: not_found.
FATCTX_API int32_t fatctx_device_npu(fatctx_device device, fatctx_device* npu, fatctx_error* error);
// Writes how it was found, schema "fatctx.detection/1".
FATCTX_API int32_t fatctx_device_detection_json(fatctx_device device, char* buffer, size_t capacity, size_t* size,
                                                fatctx_error* error);
// Reads a device given by hand: "x86-64-v3", "aarch64+dotprod+i8mm", "v75", a SoC of the built-in table ("SM8750",
// "69", "kernel:639"), or JSON of schema "fatctx.device/1" (a text whose first character is `{`).
// Errors: invalid_argument, naming the accepted forms.
FATCTX_API int32_t fatctx_device_parse(const char* text, fatctx_device* device, fatctx_error* error);
FATCTX_API int32_t fatctx_device_json(fatctx_device device, char* buffer, size_t capacity, size_t* size,
                                      fatctx_error* error);
FATCTX_API int32_t fatctx_device_close(fatctx_device device, fatctx_error* error);

typedef struct fatctx_device_source {  // a place that detection looked at
  uint32_t struct_size;
  uint32_t reserved;
  fatctx_text name;   // "cpuid", "soc0.soc_id", ...
  fatctx_text raw;    // the value as read
  fatctx_text state;  // "used", "agrees", "disagrees", "absent", "unreadable", "unparsable"
  fatctx_text note;   // the reason, if there is one
} fatctx_device_source;
// Counts the sources. A device that was not detected has none.
FATCTX_API int32_t fatctx_device_source_count(fatctx_device device, uint64_t* count, fatctx_error* error);
// Gets a source by index. Lifetime: texts borrow from `device`. Errors: not_found (index out of range).
FATCTX_API int32_t fatctx_device_source_at(fatctx_device device, uint64_t index, fatctx_device_source* source,
                                           fatctx_error* error);

// Containers: a file and its records.

// The point in time at which payload is checked. Metadata is always checked.
// PRIVATE_COPY: views are copies in sealed memory of this process, which nobody can change after they were checked.
enum { FATCTX_VERIFY_RECORD_ON_ACQUIRE = 0, FATCTX_VERIFY_NONE = 1, FATCTX_VERIFY_PRIVATE_COPY = 2 };
// The use of file mapping: map, and copy only if that is not possible; never copy; always copy.
enum { FATCTX_FILE_MAPPING_AUTO = 0, FATCTX_FILE_MAPPING_REQUIRE = 1, FATCTX_FILE_MAPPING_DISABLED = 2 };

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
} fatctx_file_mapping_info;
FATCTX_API int32_t fatctx_file_mapping_describe(fatctx_file_mapping_info* info, fatctx_error* error);

// Installs the guard against SIGBUS. Bytes of a file that was truncated while mapped then read as zeros and do not end
// the process. Every later call for that container, and fatctx_session_end(), answers mapping_lost. Process-wide and
// permanent; faults at other addresses go to the previous handler. Errors: unsupported, io.
FATCTX_API int32_t fatctx_mapping_guard_install(fatctx_error* error);
FATCTX_API uint32_t fatctx_mapping_guard_installed(void);  // 0 or 1
FATCTX_API uint64_t fatctx_lost_mappings(void);            // mappings of this process that have lost bytes so far

// Seams for embedders: the mapping of files, and the memory of views. Each is a handle made of callbacks, so that two
// opens with one handle share one mapping. Containers, models, sessions and views hold it: the handle may be closed
// before them, and `release` is called when the last of them is closed.
// Threads:    callbacks are called from any number of threads at once.

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

typedef struct fatctx_open_options {
  uint32_t struct_size;
  uint32_t verify;           // FATCTX_VERIFY_...; FATCTX_VERIFY_RECORD_ON_ACQUIRE
  uint32_t refuse_symlinks;  // 0
  uint32_t require_local;    // refuse network and FUSE file systems with remote_filesystem; 0
  uint32_t file_mapping;     // FATCTX_FILE_MAPPING_...; FATCTX_FILE_MAPPING_AUTO
  uint32_t reserved;
  fatctx_mapping_provider mapping_provider;  // {0}: the system
  fatctx_view_allocator allocator;           // not {0}: views are placed in its memory
  uint64_t max_copied_bytes;                 // memory that composed views may take together; 0
  // Folder of mode 0700 whose files hold the built bytes of composed views, shared between processes, instead of that
  // memory. Null or empty: none. Naming it is the permission. Copied by the call.
  const char* cache_folder;
  uint64_t cache_limit_bytes;  // the most that its files may take together; 0: 4 GiB
  // Public keys of 32 bytes each, one behind the other, of which one must have signed the container; payload is then
  // compared with the signed SHA-256. Null: signatures are not required. Copied by the call.
  const uint8_t* trusted_keys;
  uint64_t trusted_key_count;
  uint64_t minimum_generation;  // an older one is refused with rollback; 0
  // An earlier state of a container that was appended to, as long as its bytes exist; 0: the newest. Fails with
  // not_found if the file does not have it.
  uint64_t generation;
  // The most bytes that one call may make from the container's stored bytes, or read again, over all its records and
  // threads; beyond it: limit_exceeded. 0: 1 GiB, or 100 times the stored bytes if that is more (docs/format.md, 8.1).
  uint64_t max_made_bytes;
} fatctx_open_options;
// Sets every field to its default: the value behind the semicolon, or zero or null if no default is named.
// `struct_size` is sizeof(fatctx_open_options) as the caller knows it; the same holds for all _init functions. Does
// nothing for null.
FATCTX_API void fatctx_open_options_init(fatctx_open_options* options, size_t struct_size);

// Opens `path`, or joins this process's existing mapping of the same file. Reads the header and the table of contents,
// never payload. `options`: null for the defaults, in all functions that take options.
// Errors: not_found, io, not_regular_file, truncated, trailing_data, bad_magic, unsupported, malformed,
//         checksum_mismatch, limit_exceeded, bad_reference, changed, remote_filesystem, copy_not_allowed, no_resource,
//         out_of_memory.
FATCTX_API int32_t fatctx_container_open(const char* path, const fatctx_open_options* options,
                                         fatctx_container* container, fatctx_error* error);
// Does the same for `size` bytes from `offset` of an open file, such as an asset in an application's package; size = 0
// is "to the end of the file".
// Ownership:  `descriptor` stays the caller's and may be closed afterwards. On Windows it is the number of a HANDLE (of
//             which 32 bits count), not a descriptor of the C runtime.
FATCTX_API int32_t fatctx_container_open_descriptor(int descriptor, uint64_t offset, uint64_t size,
                                                    const fatctx_open_options* options, fatctx_container* container,
                                                    fatctx_error* error);
// Does the same for memory.
// Ownership:  `bytes` stay the caller's, and must exist unchanged until the last handle that uses them is closed.
//             `release`, if it is not null, is called once then, with `user`. It is not called if the open fails.
FATCTX_API int32_t fatctx_container_open_memory(const void* bytes, uint64_t size, const fatctx_open_options* options,
                                                fatctx_release release, void* user, fatctx_container* container,
                                                fatctx_error* error);
// Opens the same source again, with the same options: the present file at its path, or the present contents of the file
// behind its descriptor. `container`, its sessions and views keep the old bytes. Errors: as open.
FATCTX_API int32_t fatctx_container_reopen(fatctx_container container, fatctx_container* reopened, fatctx_error* error);
FATCTX_API int32_t fatctx_container_close(fatctx_container container, fatctx_error* error);
// Checks that the file is still the one that was opened, and that no mapped byte was lost. Errors: changed, io, and
// with the guard installed mapping_lost.
FATCTX_API int32_t fatctx_container_check(fatctx_container container, fatctx_error* error);

typedef struct fatctx_open_report {  // a report of an open
  uint32_t struct_size;
  uint32_t degraded_count;  // copies of metadata that are damaged; 0: the file is whole
  fatctx_text path;         // as given to open
  fatctx_text filesystem;   // "ext4", "overlayfs", ...
  fatctx_text uuid;         // hexadecimal with dashes
  uint64_t generation;
  uint64_t file_size;
  uint64_t committed_end;
  uint64_t tail_bytes;  // bytes behind the committed end; never read
  uint32_t slot;        // 'A' or 'B': the pair that names the newest generation
  uint32_t sealed;
  uint32_t signed_file;
  uint32_t remote_filesystem;
  uint32_t already_live;    // another open of this process had mapped it; nothing was read
  uint32_t verify;          // FATCTX_VERIFY_...
  uint32_t mapped;          // 0: views are copies, for the reason in copy_reason
  uint32_t copied_records;  // records whose views are copies although the file is mapped
  fatctx_text copy_reason;
  uint8_t toc_hash[16];
  fatctx_text copied_records_reason;  // for the first of them
  uint64_t newest_generation;         // newest in the file; larger than `generation` if an earlier one was requested
  uint64_t dead_bytes;                // used by no record; compacting gives them back
  uint32_t earlier_generations;       // generations before `generation` whose bytes are still in the file
  uint32_t signature_verified;        // with one of trusted_keys
  fatctx_text key_id;                 // SHA-256 of the public key that the signature names, hexadecimal; empty: none
  fatctx_text format_version;         // "1.0": of the file
} fatctx_open_report;
// Gets the report of the open. Lifetime: texts borrow from `container`.
FATCTX_API int32_t fatctx_container_report(fatctx_container container, fatctx_open_report* report, fatctx_error* error);
typedef struct fatctx_generation_info {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t number;
  uint64_t committed_end;  // where it ends in the file
} fatctx_generation_info;
// Gets an earlier generation, by index below `earlier_generations` of the report, ascending. Errors: not_found (index
// out of range).
FATCTX_API int32_t fatctx_container_generation(fatctx_container container, uint64_t index,
                                               fatctx_generation_info* generation, fatctx_error* error);
// Gets "prologue copy 0", "slot A1", ... Lifetime: borrows from `container`. Errors: not_found (index out of range).
FATCTX_API int32_t fatctx_container_degraded(fatctx_container container, uint64_t index, fatctx_text* text,
                                             fatctx_error* error);

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
} fatctx_info_parts;
FATCTX_API void fatctx_info_parts_init(fatctx_info_parts* parts, size_t struct_size);
// Writes file, records and their description as JSON, schema "fatctx.info/1". `parts`: null for none of them.
// Errors: malformed, checksum_mismatch, io (the description); those of fatctx_container_tensors; with sharing also
//         changed, truncated, limit_exceeded (records that together are more than 64 times as large as their file).
FATCTX_API int32_t fatctx_container_info_json(fatctx_container container, const fatctx_info_parts* parts, char* buffer,
                                              size_t capacity, size_t* size, fatctx_error* error);

// Sharing: the bytes that are stored once, and those that could be. A report of one moment, kept by a handle.

// Measures sharing. Reads and verifies every record whose pages could be shared: uncompressed, in a segment of its own.
// The others count as they are stored. Takes about 30 bytes of memory for each 4 KiB. `progress` may be null.
// Errors: checksum_mismatch, malformed, changed, truncated, io, cancelled, limit_exceeded (records that together are
//         more than 64 times as large as their file).
FATCTX_API int32_t fatctx_container_sharing(fatctx_container container, fatctx_progress progress, void* user,
                                            fatctx_sharing* sharing, fatctx_error* error);
typedef struct fatctx_sharing_info {  // payload bytes, without padding, header and tables
  uint32_t struct_size;
  uint32_t record_count;
  uint32_t layout_group_count;
  uint32_t target_count;
  uint64_t input_bytes;      // all records, each by itself
  uint64_t off_bytes;        // equal records once
  uint64_t stored_bytes;     // in this file
  uint64_t pages_4k_bytes;   // with each different page of 4 KiB stored once: no sharing by pages can be smaller
  uint64_t pages_16k_bytes;  // of 16 KiB
  uint64_t pages_64k_bytes;  // of 64 KiB
  uint64_t bytes_at_most;    // with each different content-defined chunk stored once: a bound of sharing at any offset
} fatctx_sharing_info;
FATCTX_API int32_t fatctx_sharing_describe(fatctx_sharing sharing, fatctx_sharing_info* info, fatctx_error* error);
// Elements of an array have no struct_size: this struct never changes.
typedef struct fatctx_shared_bytes {
  uint32_t record_id;
  uint32_t reserved;
  uint64_t bytes;  // of the file, under both records
} fatctx_shared_bytes;
typedef struct fatctx_record_sharing {  // own, shared and repeated bytes are the stored bytes of the record
  uint32_t struct_size;
  uint32_t record_id;
  uint64_t size_bytes;                     // logical
  uint64_t own_bytes;                      // of the file, under this record only
  uint64_t shared_bytes;                   // of the file, under other records too
  uint64_t repeated_bytes;                 // taken again from a place where the record already takes them
  const fatctx_shared_bytes* shared_with;  // most bytes first; at most 16
  uint32_t shared_with_count;
  uint32_t sharer_count;    // all that share bytes with it
  uint32_t pieces;          // slices of the file
  uint32_t layout_group;    // index of its group; FATCTX_UNKNOWN: nothing looked at it
  uint64_t composed_bytes;  // built here for a view of a recipe, in whole pages; else 0
} fatctx_record_sharing;
// Gets a record by index, in the order of the container's records. Lifetime: `shared_with` borrows from `sharing`.
// Errors: not_found (index out of range); also for the two below.
FATCTX_API int32_t fatctx_sharing_record(fatctx_sharing sharing, uint64_t index, fatctx_record_sharing* record,
                                         fatctx_error* error);
typedef struct fatctx_layout_group {  // records that consist of the same bytes, at any offset
  uint32_t struct_size;
  uint32_t record_count;
  const uint32_t* records;  // ids: the base first, then in the order in which pages are looked for
  uint64_t size_bytes;      // logical, of all of them
  uint64_t stored_bytes;    // of the file, under any of them
  uint64_t distinct_bytes;  // in content-defined chunks, each counted once
} fatctx_layout_group;
// Gets a group by index, most logical bytes first. Lifetime: `records` borrows from `sharing`.
FATCTX_API int32_t fatctx_sharing_layout_group(fatctx_sharing sharing, uint64_t index, fatctx_layout_group* group,
                                               fatctx_error* error);
typedef struct fatctx_target_sharing {  // the bytes for one chip alone
  uint32_t struct_size;
  uint32_t record_count;
  fatctx_text target;       // as fatctx_container_record_target()
  const uint32_t* records;  // ids, ascending
  uint64_t alone_bytes;
} fatctx_target_sharing;
// Gets a target by index, in the order of their first records. Lifetime: as above.
FATCTX_API int32_t fatctx_sharing_target(fatctx_sharing sharing, uint64_t index, fatctx_target_sharing* target,
                                         fatctx_error* error);
FATCTX_API int32_t fatctx_sharing_close(fatctx_sharing sharing, fatctx_error* error);

// Make views of a record's bytes, checked by the open policy before they are handed out.
// Errors: not_found, unsupported (also for a record with a codec), checksum_mismatch, io, truncated, changed.
FATCTX_API int32_t fatctx_container_acquire(fatctx_container container, uint32_t record_id, fatctx_view* view,
                                            fatctx_error* error);
FATCTX_API int32_t fatctx_container_acquire_name(fatctx_container container, const char* name, fatctx_view* view,
                                                 fatctx_error* error);
// Gets how a view of the record would be made (fatctx_access_path_name()), without making one. Errors: not_found,
// unsupported, copy_not_allowed; for a recipe those of acquire, because its program is read.
FATCTX_API int32_t fatctx_container_access_path(fatctx_container container, uint32_t record_id, uint32_t* access_path,
                                                fatctx_error* error);
// Gets the tensor table of a weight blob. Errors: as acquire; not_found if it has no table; malformed.
FATCTX_API int32_t fatctx_container_tensors(fatctx_container container, uint32_t weights_id, fatctx_tensor_table* table,
                                            fatctx_error* error);

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

typedef struct fatctx_verify_options {
  uint32_t struct_size;
  uint32_t reserved;
  fatctx_finding finding;
  fatctx_progress progress;
  void* user;             // for both
  uint32_t strict;        // for a whole file: as if it were for delivery (docs/cli/inspect.md, fatctx verify); 0
  uint32_t threads;       // number that read and hash; 0: the number of processors, at most 8
  uint64_t range_offset;  // only the leaves that cover these bytes: of the file, or of the record that is checked
  uint64_t range_size;    // 0: everything
  // fatctx_verify_file reads trusted_keys, minimum_generation, generation and max_made_bytes from it. A generation that
  // keys or minimum_generation refuse is a finding. Null: defaults.
  const fatctx_open_options* open;
} fatctx_verify_options;
FATCTX_API void fatctx_verify_options_init(fatctx_verify_options* options, size_t struct_size);
typedef struct fatctx_verify_report {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t checked_bytes;
  uint64_t finding_count;  // 0: whole
  uint32_t signed_file;
  uint32_t signature_verified;  // as in fatctx_open_report
} fatctx_verify_report;
// Check a whole file, or one record. Damage is a finding, not an error: look at `report`, which is required. The last
// one takes a path, and also reports damage that keeps the file from being opened. `progress` is called on the calling
// thread only.
// Errors: io, not_found, not_regular_file, cancelled; invalid_argument (a range outside, or that no leaf covers; strict
//         together with a range or with one record).
FATCTX_API int32_t fatctx_container_verify(fatctx_container container, const fatctx_verify_options* options,
                                           fatctx_verify_report* report, fatctx_error* error);
FATCTX_API int32_t fatctx_container_verify_record(fatctx_container container, uint32_t record_id,
                                                  const fatctx_verify_options* options, fatctx_verify_report* report,
                                                  fatctx_error* error);
FATCTX_API int32_t fatctx_verify_file(const char* path, const fatctx_verify_options* options,
                                      fatctx_verify_report* report, fatctx_error* error);

// Signatures: proof of who made a container. Keys are 32 bytes; a secret key exists only in its file.

// Writes NAME.key, which is secret, and NAME.pub. Errors: exists (nothing is replaced), not_found, no_space, io.
FATCTX_API int32_t fatctx_make_keys(const char* name, uint8_t public_key[32], fatctx_error* error);
// Reads a public key that fatctx_make_keys() or `fatctx keygen` wrote. Errors: invalid_argument (not a key), not_found,
// io.
FATCTX_API int32_t fatctx_read_public_key(const char* path, uint8_t public_key[32], fatctx_error* error);

typedef struct fatctx_sign_options {
  uint32_t struct_size;
  uint32_t seal;       // a sealed container stays sealed in any case; 0
  uint32_t overwrite;  // replace `out` if it is an existing, different file; 0
  uint32_t reserved;
  fatctx_progress progress;
  void* user;
  uint64_t max_made_bytes;  // as fatctx_open_options.max_made_bytes; 0
} fatctx_sign_options;
FATCTX_API void fatctx_sign_options_init(fatctx_sign_options* options, size_t struct_size);
typedef struct fatctx_sign_report {
  uint32_t struct_size;
  uint32_t sealed;
  uint64_t generation;  // the signed one
  uint64_t file_size;
  uint8_t key_id[32];
} fatctx_sign_report;
// Writes a signed copy of the container at `path` to `out`, which may be `path`. `report` may be null.
// Errors: checksum_mismatch (nothing damaged is signed), those of fatctx_container_open, exists, unsupported,
// limit_exceeded, changed, locked, no_space, io, cancelled, commit_unknown; of the key: not_found, invalid_argument,
// operation_not_permitted (others than its owner can read it).
FATCTX_API int32_t fatctx_sign_container(const char* path, const char* key_path, const char* out,
                                         const fatctx_sign_options* options, fatctx_sign_report* report,
                                         fatctx_error* error);
// Repair: damaged copies of metadata are rewritten in place from their good copies.

// Takes one restored range: "slot A1", and its offset and size in the file. `what` is valid during the call only.
typedef void (*fatctx_restored)(void* user, fatctx_text what, uint64_t file_offset, uint64_t size);
typedef struct fatctx_repair_options {
  uint32_t struct_size;
  uint32_t reserved;
  uint32_t dry_run;          // say what would be done; opens the file for reading and takes no lock; 0
  uint32_t threads;          // as fatctx_verify_options.threads
  fatctx_restored restored;  // called for each range when everything is done
  fatctx_finding finding;    // called for each damage that nothing in the file can undo
  fatctx_progress progress;  // called by the final check; stopping it keeps the restored ranges
  void* user;                // for all of them
} fatctx_repair_options;
FATCTX_API void fatctx_repair_options_init(fatctx_repair_options* options, size_t struct_size);
typedef struct fatctx_repair_report {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t generation;
  uint64_t restored_count;
  uint64_t finding_count;  // 0: the file is whole
  uint64_t checked_bytes;
} fatctx_repair_report;
// Restores metadata that has a good copy, and leaf hashes that the payload proves; never payload. Each range is written
// and synced before the next, then everything is read again. Takes the file's write lock; `path` must not be a link. A
// sealed file without damage is not written to. `report` is required.
// Errors: not_found, not_regular_file, locked, operation_not_permitted (it may not be written, and a range needs
//         restoring), remote_filesystem, unsupported, io, no_space, cancelled; those of fatctx_container_open for a
//         file that does not open.
FATCTX_API int32_t fatctx_repair(const char* path, const fatctx_repair_options* options, fatctx_repair_report* report,
                                 fatctx_error* error);

// Differences between two containers.

// The kinds of difference of a record or tensor: only in the second; only in the first; other content; same content for
// another target; same content and target, another name; refers to other weights.
enum {
  FATCTX_CHANGE_ADDED = 1,
  FATCTX_CHANGE_REMOVED = 2,
  FATCTX_CHANGE_CHANGED = 3,
  FATCTX_CHANGE_RETARGETED = 4,
  FATCTX_CHANGE_RENAMED = 5,
  FATCTX_CHANGE_REBOUND = 6
};
FATCTX_API const char* fatctx_change_name(uint32_t change);  // "added"; "unknown". Static storage
// Compares two containers. Reads metadata, and payload only of weight blobs that changed and have a tensor table in
// both. The handle does not need the containers any more. `progress` may be null.
// Errors: checksum_mismatch, malformed, codec, limit_exceeded, unsupported, truncated, changed, mapping_lost, io,
//         cancelled.
FATCTX_API int32_t fatctx_diff_create(fatctx_container before, fatctx_container after, fatctx_progress progress,
                                      void* user, fatctx_diff* diff, fatctx_error* error);
typedef struct fatctx_diff_info {
  uint32_t struct_size;
  uint32_t same;  // records and descriptions are the same
  uint64_t same_record_count;
  uint64_t record_count;                 // that differ
  uint64_t description_count;            // facts of the descriptions that differ
  uint64_t before_record_bytes_in_both;  // logical, of records whose content both have
  uint64_t after_record_bytes_in_both;
  uint64_t before_stored_bytes_in_both;  // payload in leaves of 64 KiB that both store
  uint64_t after_stored_bytes_in_both;
  uint64_t read_bytes;  // from both files, for the comparison
} fatctx_diff_info;
FATCTX_API int32_t fatctx_diff_describe(fatctx_diff diff, fatctx_diff_info* info, fatctx_error* error);
typedef struct fatctx_diffed_record {
  uint32_t struct_size;
  uint32_t change;     // FATCTX_CHANGE_...
  uint32_t type;       // FATCTX_RECORD_...
  uint32_t id_before;  // 0: it does not exist
  uint32_t id_after;
  uint32_t tensor_count;    // of a changed weight blob: tensors that differ; fatctx_diff_json lists them
  fatctx_text name_before;  // these borrow from `diff`
  fatctx_text name_after;
  fatctx_text target_before;
  fatctx_text target_after;
  uint64_t size_before;
  uint64_t size_after;
} fatctx_diffed_record;
// Gets a difference by index, removed records first. Errors: not_found.
FATCTX_API int32_t fatctx_diff_record(fatctx_diff diff, uint64_t index, fatctx_diffed_record* record,
                                      fatctx_error* error);
// Writes all of it, schema "fatctx.diff/1", by the protocol of `buffer`, `capacity` and `size`.
FATCTX_API int32_t fatctx_diff_json(fatctx_diff diff, char* buffer, size_t capacity, size_t* size, fatctx_error* error);
FATCTX_API int32_t fatctx_diff_close(fatctx_diff diff, fatctx_error* error);

// Models: a container with the target chosen for a device.

// Says if the consumer takes mapped memory: returns 1, or 0 and writes the reason ("librpcmem is missing"), ended by
// NUL, into the `capacity` bytes at `reason`, which come as an empty text. Called once per model, before any view is
// handed out. Must not open the same file (it would wait for itself).
typedef uint32_t (*fatctx_mapping_probe)(void* user, char* reason, size_t capacity);

// The policy for a best matching target that turns out to be damaged: begin_session fails, or the best target of which
// every record is whole is taken. In the second case open and choose read and check the records of a session.
enum { FATCTX_ON_DAMAGE_FAIL = 0, FATCTX_ON_DAMAGE_NEXT = 1 };

// A stored source model and its target device. All of it is valid during the call only.
typedef struct fatctx_prepare_request {
  uint32_t struct_size;
  uint32_t record_id;  // of the source model
  fatctx_text name;
  fatctx_text unit;
  fatctx_text device;     // as JSON, schema "fatctx.device/1"
  const uint8_t* source;  // its bytes, decompressed and verified
  uint64_t source_size;
} fatctx_prepare_request;
// Compiles a source model: returns 1 with the context binary, which is copied as soon as the call returns. Otherwise
// returns 0 and writes the reason, ended by NUL, into the `capacity` bytes at `reason`, which come as an empty text.
typedef uint32_t (*fatctx_prepare_hook)(void* user, const fatctx_prepare_request* request, const void** binary,
                                        uint64_t* binary_size, char* reason, size_t capacity);

// The format of an opened file.
enum { FATCTX_MODEL_CONTAINER = 0, FATCTX_MODEL_DLC = 1, FATCTX_MODEL_RAW_BINARY = 2 };
FATCTX_API const char* fatctx_model_format_name(uint32_t format);  // "container", "dlc", "raw_binary"
// The bytes that are accepted as a plain context binary: those of a known format, any that are neither container nor
// DLC (the caller vouches that they are for this device), or none.
enum { FATCTX_RAW_BINARIES_KNOWN = 0, FATCTX_RAW_BINARIES_ANY = 1, FATCTX_RAW_BINARIES_REFUSE = 2 };
FATCTX_API const char* fatctx_raw_binaries_name(uint32_t raw_binaries);
FATCTX_API uint32_t fatctx_raw_binaries_from_name(const char* name);  // or FATCTX_UNKNOWN

// A signal that stops a call from another thread, or after a time; made by fatctx_load_signal_create().
typedef struct fatctx_load_signal {
  uint64_t id;
} fatctx_load_signal;

typedef struct fatctx_model_options {
  uint32_t struct_size;
  uint32_t strict;                  // only records that fully use the device; 0
  const fatctx_open_options* open;  // null: defaults
  fatctx_device device;             // {0}: this machine
  const char* group;                // null: the only group
  const char* record_override;      // name of the context binary to take
  uint32_t force;                   // with record_override: skip the axes; 0
  uint32_t allow_lower_arch;        // 0
  uint32_t refuse_generic;          // no generic record as a fallback; 0
  uint32_t mix_targets;             // units of different targets when no target has them all; 0
  const uint32_t* boundaries;       // Hexagon generation boundaries; null: those of the table of SoCs
  uint64_t boundary_count;
  // If it says 0, all sessions share copies, and the report of the model's container says why; with
  // FATCTX_FILE_MAPPING_REQUIRE it gets copy_not_allowed instead. Null: the consumer takes mapped memory.
  fatctx_mapping_probe consumer;
  void* consumer_user;
  uint32_t on_damage;     // FATCTX_ON_DAMAGE_...; FATCTX_ON_DAMAGE_FAIL; fatctx_container_explain() does not use it
  uint32_t prepare_hook;  // judge as if source models could be compiled, also without `prepare`; 0
  fatctx_soc_table soc_table;  // tells spellings of one part and quirks; {0}: the built-in one
  // Called when no context binary of the group fits and the group has a source model, by open and choose, on the
  // calling thread. Its result is the binary of all sessions. fatctx_container_explain() does not call it. Null: source
  // models are not used.
  fatctx_prepare_hook prepare;
  void* prepare_user;
  const char* max_sdk;    // refuse records of a newer SDK, "2.50"; null: the newest that the device reads
  uint32_t raw_binaries;  // FATCTX_RAW_BINARIES_...; FATCTX_RAW_BINARIES_KNOWN
  uint32_t reserved;
  // Stops fatctx_model_open(), fatctx_view_open() and fatctx_load() from another thread or after a time. They then
  // answer within 100 ms, even if the system does not; the thread that they leave gives everything back later. {0}:
  // none
  fatctx_load_signal signal;
} fatctx_model_options;
FATCTX_API void fatctx_model_options_init(fatctx_model_options* options, size_t struct_size);

// Opens a container, a DLC or a raw binary and chooses a target. fatctx_load() does it for a descriptor or memory too.
// Errors: those of open, no_match with the reason for every record in the message, copy_not_allowed; with
//         FATCTX_ON_DAMAGE_NEXT those of acquire, of the first damaged record if no target is whole, and
//         invalid_argument with FATCTX_VERIFY_NONE, which finds no damage; for a DLC those of fatctx_dlc_open(); for a
//         raw binary bad_magic and invalid_argument; for both signature_missing and unsupported; with a signal
//         cancelled, timed_out, operation_not_permitted (it serves another call already), no_resource.
FATCTX_API int32_t fatctx_model_open(const char* path, const fatctx_model_options* options, fatctx_model* model,
                                     fatctx_error* error);
// Chooses from a container that is open; `options->open` is not used.
FATCTX_API int32_t fatctx_model_choose(fatctx_container container, const fatctx_model_options* options,
                                       fatctx_model* model, fatctx_error* error);
FATCTX_API int32_t fatctx_model_close(fatctx_model model, fatctx_error* error);
// Make new handles for the container and the device of the model; the caller closes them. Errors: not_found (a DLC and
// a raw binary have no container).
FATCTX_API int32_t fatctx_model_container(fatctx_model model, fatctx_container* container, fatctx_error* error);
FATCTX_API int32_t fatctx_model_device(fatctx_model model, fatctx_device* device, fatctx_error* error);

typedef struct fatctx_selection {
  uint32_t struct_size;
  uint32_t level;         // FATCTX_LEVEL_..., the lowest among the chosen
  int32_t tier;           // 0 to 7
  uint32_t chosen_count;  // one per unit
  const uint32_t* chosen;
  uint64_t verdict_count;  // one per context binary
  uint64_t warning_count;
  fatctx_text group;       // the group that was judged
  uint64_t damaged_count;  // records that would have been chosen and are damaged; only with FATCTX_ON_DAMAGE_NEXT
} fatctx_selection;
// Gets the selection. Lifetime: `chosen` and texts borrow from `model`.
FATCTX_API int32_t fatctx_model_selection(fatctx_model model, fatctx_selection* selection, fatctx_error* error);
typedef struct fatctx_verdict {
  uint32_t struct_size;
  uint32_t record_id;
  uint32_t level;  // FATCTX_LEVEL_...
  int32_t tier;    // -1 for a record that does not fit
  uint32_t axis;   // why it was not chosen: fatctx_axis_id(); 0 for a chosen one
  uint32_t chosen;
} fatctx_verdict;
// Gets a verdict by index. Errors: not_found (index out of range).
FATCTX_API int32_t fatctx_model_verdict(fatctx_model model, uint64_t index, fatctx_verdict* verdict,
                                        fatctx_error* error);
// Gets a warning: "vtcm_unverified", ... Lifetime: borrows from `model`. Errors: not_found (index out of range).
FATCTX_API int32_t fatctx_model_warning(fatctx_model model, uint64_t index, fatctx_text* text, fatctx_error* error);
// Gets the error of a damaged record, in the order in which they were found: the result of its acquire, with
// `record_id`. Errors: not_found (index out of range).
FATCTX_API int32_t fatctx_model_damaged(fatctx_model model, uint64_t index, fatctx_error* damage, fatctx_error* error);
// Explains why this record was chosen and no other. `format`: FATCTX_FORMAT_TEXT (several lines) or FATCTX_FORMAT_JSON
// (schema "fatctx.selection/1"; null for a raw binary).
FATCTX_API int32_t fatctx_model_explain(fatctx_model model, uint32_t format, char* buffer, size_t capacity,
                                        size_t* size, fatctx_error* error);
// Explains the choice from a container, also if no record fits. Errors: invalid_argument (group or override does not
// exist).
FATCTX_API int32_t fatctx_container_explain(fatctx_container container, const fatctx_model_options* options,
                                            uint32_t format, char* buffer, size_t capacity, size_t* size,
                                            fatctx_error* error);

// Sessions: views of the chosen binaries and of the weights they share.

typedef struct fatctx_session_info {
  uint32_t struct_size;
  uint32_t format;         // FATCTX_MODEL_...
  uint64_t binary_count;   // one for each unit
  uint64_t weights_count;  // those that the binaries refer to; of a DLC also the metadata of shared weights
  fatctx_text path;
  uint32_t selected;  // 0: a raw binary, for which nothing was selected
  uint32_t level;     // FATCTX_LEVEL_...; 0 if nothing was selected
} fatctx_session_info;
typedef struct fatctx_session_record {
  uint32_t struct_size;
  uint32_t type;       // FATCTX_RECORD_...
  uint32_t record_id;  // of the record; of a DLC 1 for the first entry, ...; of a raw binary 0
  uint32_t access_path;
  fatctx_text name;
  fatctx_text unit;  // of a context binary in a container
  uint64_t size;     // bytes
} fatctx_session_record;
enum { FATCTX_SESSION_BINARIES = 0, FATCTX_SESSION_WEIGHTS = 1 };

// Begins a session. Any number of sessions; the second and later cost no IO. Errors: those of acquire.
FATCTX_API int32_t fatctx_model_begin_session(fatctx_model model, fatctx_session* session, fatctx_error* error);
FATCTX_API int32_t fatctx_session_close(fatctx_session session, fatctx_error* error);
// Closes the session and says whether results computed from its views can be trusted. Closes the handle in any case
// except stale_handle. If the file looks different than when the session began, its records are verified again.
// Errors: those of fatctx_container_check(); then also those of acquire.
FATCTX_API int32_t fatctx_session_end(fatctx_session session, fatctx_error* error);
// Gets the context binary of `unit`; null: of the only unit. Errors: not_found, listing the units.
FATCTX_API int32_t fatctx_session_binary(fatctx_session session, const char* unit, fatctx_view* view,
                                         fatctx_error* error);
// Gets the facts of a session. Lifetime of all texts: they borrow from `session`.
FATCTX_API int32_t fatctx_session_describe(fatctx_session session, fatctx_session_info* info, fatctx_error* error);
// Gets a record by index: `part` is FATCTX_SESSION_BINARIES (in unit order) or FATCTX_SESSION_WEIGHTS (in record
// order). Lifetime of all texts: they borrow from `session`. Errors: invalid_argument (`part`), not_found (index out of
// range).
FATCTX_API int32_t fatctx_session_record_at(fatctx_session session, uint32_t part, uint64_t index,
                                            fatctx_session_record* record, fatctx_error* error);
// Makes a new handle for the model of the session, for further sessions and for the reason of the choice.
FATCTX_API int32_t fatctx_session_model(fatctx_session session, fatctx_model* model, fatctx_error* error);
// Gets the session as JSON, schema "fatctx.session/1": its records with their graphs, and the reason of the choice.
FATCTX_API int32_t fatctx_session_json(fatctx_session session, char* buffer, size_t capacity, size_t* size,
                                       fatctx_error* error);
// Gets a view of a weight blob by index. Errors: not_found (index out of range).
FATCTX_API int32_t fatctx_session_weights(fatctx_session session, uint64_t index, fatctx_view* view,
                                          fatctx_error* error);
// Gets a tensor of any of these blobs. Errors: not_found; those of fatctx_container_tensors().
FATCTX_API int32_t fatctx_session_tensor(fatctx_session session, const char* name, fatctx_view* view,
                                         fatctx_error* error);

// Opens, selects and views in one call: the context binary of `unit` for `options->device`. The view is the only
// handle. Errors: those of fatctx_model_open(), fatctx_model_begin_session() and fatctx_session_binary().
FATCTX_API int32_t fatctx_view_open(const char* path, const fatctx_model_options* options, const char* unit,
                                    fatctx_view* view, fatctx_error* error);
// Does the same for memory; `release` and `user` as in fatctx_container_open_memory().
FATCTX_API int32_t fatctx_view_open_memory(const void* bytes, uint64_t size, const fatctx_model_options* options,
                                           const char* unit, fatctx_release release, void* user, fatctx_view* view,
                                           fatctx_error* error);

// Views and tensors.

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

FATCTX_API int32_t fatctx_tensor_table_size(fatctx_tensor_table table, uint64_t* size, fatctx_error* error);
FATCTX_API int32_t fatctx_tensor_table_weights_id(fatctx_tensor_table table, uint32_t* record_id, fatctx_error* error);
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

// Memory: which pages of a record are in memory. docs/loading.md says when each call pays.

// Ways in which a prefetch worked: nothing to do; the first touch costs nothing; the first touch costs a small fault.
enum { FATCTX_PREFETCH_NONE = 0, FATCTX_PREFETCH_POPULATE = 1, FATCTX_PREFETCH_READ_AHEAD = 2 };

typedef struct fatctx_prefetch_options {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t max_bytes;        // budget; bytes beyond it stay on the disk; UINT64_MAX
  fatctx_progress progress;  // after each step of at most 4 MiB, on the thread that does the work
  void* user;
} fatctx_prefetch_options;
FATCTX_API void fatctx_prefetch_options_init(fatctx_prefetch_options* options, size_t struct_size);
typedef struct fatctx_prefetch_report {
  uint32_t struct_size;
  uint32_t method;       // FATCTX_PREFETCH_...
  uint64_t asked_bytes;  // size of the records
  uint64_t done_bytes;   // less than asked: the budget was used up, or it was cancelled
  uint32_t cancelled;
  uint32_t reserved;
} fatctx_prefetch_report;
// Bring the pages of exactly one record into memory, or of all records of a session: binaries first, then weights, each
// once. Check nothing and touch no page themselves. A stopped prefetch answers cancelled, and `report`, which is
// required, says how far it came.
// Errors: not_found, unsupported (as acquire), changed, io (naming the first bad byte), no_resource, cancelled.
FATCTX_API int32_t fatctx_container_prefetch(fatctx_container container, uint32_t record_id,
                                             const fatctx_prefetch_options* options, fatctx_prefetch_report* report,
                                             fatctx_error* error);
FATCTX_API int32_t fatctx_session_prefetch(fatctx_session session, const fatctx_prefetch_options* options,
                                           fatctx_prefetch_report* report, fatctx_error* error);
// Do the same on a thread of the library, which calls `progress`; options and `user` are used until the wait or the
// close has ended. A forked child has no such thread. Errors: not_found, unsupported, no_resource (no thread).
FATCTX_API int32_t fatctx_container_prefetch_in_background(fatctx_container container, uint32_t record_id,
                                                           const fatctx_prefetch_options* options,
                                                           fatctx_prefetch* prefetch, fatctx_error* error);
FATCTX_API int32_t fatctx_session_prefetch_in_background(fatctx_session session, const fatctx_prefetch_options* options,
                                                         fatctx_prefetch* prefetch, fatctx_error* error);
// Asks it to stop after the present step; does not wait.
FATCTX_API int32_t fatctx_prefetch_cancel(fatctx_prefetch prefetch, fatctx_error* error);
// Gets its progress: `done` is 1 when it has ended.
FATCTX_API int32_t fatctx_prefetch_state(fatctx_prefetch prefetch, uint32_t* done, uint64_t* done_bytes,
                                         fatctx_error* error);
// Waits for the end; may be called again. Errors: those of fatctx_container_prefetch(); operation_not_permitted from
// its own `progress`, which would wait for itself.
FATCTX_API int32_t fatctx_prefetch_wait(fatctx_prefetch prefetch, fatctx_prefetch_report* report, fatctx_error* error);
// Cancels and waits for the step that is going on. Errors: operation_not_permitted from its own `progress`.
FATCTX_API int32_t fatctx_prefetch_close(fatctx_prefetch prefetch, fatctx_error* error);

typedef struct fatctx_release_options {
  uint32_t struct_size;
  uint32_t keep_cached;  // only this process gives the pages back, the system's page cache may keep them; 0
} fatctx_release_options;
FATCTX_API void fatctx_release_options_init(fatctx_release_options* options, size_t struct_size);
typedef struct fatctx_release_report {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t asked_bytes;     // size of the records
  uint64_t released_bytes;  // whole pages that hold nothing else; 0 if the bytes are not pages of a file
} fatctx_release_report;
// Give back the memory of a record, or of all records of a session. Views stay valid; their bytes are read from the
// file again when they are touched. Errors: not_found, unsupported (as acquire), operation_not_permitted (it is
// locked).
FATCTX_API int32_t fatctx_container_release(fatctx_container container, uint32_t record_id,
                                            const fatctx_release_options* options, fatctx_release_report* report,
                                            fatctx_error* error);
FATCTX_API int32_t fatctx_session_release(fatctx_session session, const fatctx_release_options* options,
                                          fatctx_release_report* report, fatctx_error* error);
// Acquires the record and keeps its pages in memory until the lock is closed. Errors: those of acquire, no_resource
// (naming RLIMIT_MEMLOCK and the bytes).
FATCTX_API int32_t fatctx_container_lock(fatctx_container container, uint32_t record_id, fatctx_record_lock* lock,
                                         fatctx_error* error);
FATCTX_API int32_t fatctx_record_lock_close(fatctx_record_lock lock, fatctx_error* error);

// Metrics: the cost of loading and the savings of sharing, as numbers of the moment in which the handle was made.
// Touches no page; costs some 20 ms for each GiB that is in memory.

FATCTX_API int32_t fatctx_metrics_of_container(fatctx_container container, fatctx_metrics* metrics,
                                               fatctx_error* error);
// Takes the numbers of every file that this process has open; buffers in memory are not among them.
FATCTX_API int32_t fatctx_metrics_of_runtime(fatctx_metrics* metrics, fatctx_error* error);
typedef struct fatctx_runtime_metrics {
  uint32_t struct_size;
  uint32_t sessions;       // copies count as one
  uint64_t live_mappings;  // files that are mapped
  uint64_t mapped_bytes;
  uint64_t saved_bytes;  // memory that all further sessions would take if each had a copy of its records
  uint64_t container_count;
  // Counters of this process's use of the files of cache folders since it started.
  uint64_t cache_files_used;      // already existed and were right
  uint64_t cache_files_made;      // by this process
  uint64_t cache_files_rejected;  // damaged or not matching their names, and removed
  uint64_t cache_files_evicted;   // removed to keep within the limit
} fatctx_runtime_metrics;
// Gets the sums over the containers of `metrics`.
FATCTX_API int32_t fatctx_metrics_runtime(fatctx_metrics metrics, fatctx_runtime_metrics* runtime, fatctx_error* error);
typedef struct fatctx_container_metrics {
  uint32_t struct_size;
  uint32_t sessions;
  fatctx_text path;  // it was first opened by
  fatctx_text uuid;
  uint64_t generation;
  uint64_t mapped_bytes;  // address space; 0 if nothing is mapped
  uint64_t resident_bytes;
  uint64_t proportional_bytes;  // pages that other processes map too count in parts
  uint64_t locked_bytes;
  uint32_t has_resident_bytes;  // 0: the system does not say; so for all has_... fields
  uint32_t has_proportional_bytes;
  uint32_t has_locked_bytes;
  uint32_t views;
  uint64_t saved_bytes;
  uint64_t record_count;
  uint64_t stitched_bytes;  // address space of the live stitched views
  uint64_t composed_bytes;  // memory of the live composed views; max_copied_bytes limits it
  uint64_t cached_bytes;    // bytes that composed views map from cache files instead of building them in memory
} fatctx_container_metrics;
// Gets a container by index. Lifetime: texts borrow from `metrics`. Errors: not_found (index out of range).
FATCTX_API int32_t fatctx_metrics_container(fatctx_metrics metrics, uint64_t index, fatctx_container_metrics* container,
                                            fatctx_error* error);
// The known state of a record's bytes since the file last changed.
enum { FATCTX_VERIFICATION_UNKNOWN = 0, FATCTX_VERIFICATION_OK = 1, FATCTX_VERIFICATION_BAD = 2 };
typedef struct fatctx_record_metrics {
  uint32_t struct_size;
  uint32_t id;
  fatctx_text name;
  uint64_t size_bytes;
  uint64_t resident_bytes;
  uint32_t has_resident_bytes;
  uint32_t verification;       // FATCTX_VERIFICATION_...
  uint32_t views;              // acquired and still open; copies of a view count as one
  uint32_t sessions;           // that hold it
  uint64_t composed_bytes;     // memory that holds its parts that cannot be mapped
  uint64_t cached_bytes;       // the same in a file of a cache folder instead of memory
  fatctx_text cache_file;      // that file; empty if there is none
  fatctx_text cache_rejected;  // why an earlier file was removed and made anew; mostly empty
} fatctx_record_metrics;
// Gets a record by index of the container and of the record in it. Lifetime and errors as above.
FATCTX_API int32_t fatctx_metrics_record(fatctx_metrics metrics, uint64_t container_index, uint64_t index,
                                         fatctx_record_metrics* record, fatctx_error* error);
// Writes all of it as JSON, schema "fatctx.metrics/1".
FATCTX_API int32_t fatctx_metrics_json(fatctx_metrics metrics, char* buffer, size_t capacity, size_t* size,
                                       fatctx_error* error);
FATCTX_API int32_t fatctx_metrics_close(fatctx_metrics metrics, fatctx_error* error);

// Cache folders: maintenance of the folder that fatctx_open_options.cache_folder names.

// Writes the views in the folder, used last first, as JSON, schema "fatctx.cache/1".
// Errors: not_found, operation_not_permitted (not a folder, of another user, or of another mode than 0700), io,
//         no_resource.
FATCTX_API int32_t fatctx_view_cache_json(const char* folder, char* buffer, size_t capacity, size_t* size,
                                          fatctx_error* error);
typedef struct fatctx_view_cache_collection {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t removed_files;
  uint64_t removed_bytes;
  uint64_t removed_temporaries;  // of processes that died while they made a file
  uint64_t left_files;
  uint64_t left_bytes;
} fatctx_view_cache_collection;
// Removes the files that were used longest ago until the rest take at most `limit_bytes` together (0: removes all of
// them). Views that show a removed file stay valid. `collection` may be null. Errors: as above.
FATCTX_API int32_t fatctx_view_cache_collect(const char* folder, uint64_t limit_bytes,
                                             fatctx_view_cache_collection* collection, fatctx_error* error);

// Profile: how long loading takes, and where. One recorder per process, off until it is started; while it is off, a
// call costs one relaxed atomic load.

enum { FATCTX_PROFILE_OFF = 0, FATCTX_PROFILE_BASIC = 1, FATCTX_PROFILE_DETAILED = 2 };
enum {
  FATCTX_EVENT_OPEN = 0,
  FATCTX_EVENT_MAP = 1,
  FATCTX_EVENT_VERIFY = 2,
  FATCTX_EVENT_SELECT = 3,
  FATCTX_EVENT_ACQUIRE = 4,
  FATCTX_EVENT_PREFETCH = 5,
  FATCTX_EVENT_RELEASE = 6,
  FATCTX_EVENT_UNMAP = 7
};
typedef struct fatctx_profile_event {
  uint32_t struct_size;
  uint32_t kind;      // FATCTX_EVENT_...
  uint64_t start_ns;  // of the steady clock
  uint64_t duration_ns;
  uint64_t bytes;
  uint32_t thread;     // 1, 2, ... in the order in which threads were first seen
  uint32_t ok;         // 0: the call gave an error
  uint32_t record_id;  // 0: the event is about no single record
  uint32_t reserved;
  fatctx_text path;
  fatctx_text record;  // its name
} fatctx_profile_event;
// Takes one event, valid during the call only, when the outermost call of this library ends; on its thread, from
// several threads at once. Calls of this library from inside it are not recorded.
typedef void (*fatctx_profile_hook)(void* user, const fatctx_profile_event* event);
typedef struct fatctx_profile_options {
  uint32_t struct_size;
  uint32_t level;            // FATCTX_PROFILE_...; FATCTX_PROFILE_BASIC; OFF stops
  uint64_t max_events;       // DETAILED keeps that many, the totals go on; 1,000,000
  fatctx_profile_hook hook;  // held until another profile is started or this one is stopped, and by calls in it
  fatctx_release release;    // called when `user` is no longer needed
  void* user;                // for both
} fatctx_profile_options;
FATCTX_API void fatctx_profile_options_init(fatctx_profile_options* options, size_t struct_size);
// Discards the recorded events and starts anew. Errors: invalid_argument.
FATCTX_API int32_t fatctx_profile_start(const fatctx_profile_options* options, fatctx_error* error);
// Get the events recorded so far; the second also stops the recorder.
FATCTX_API int32_t fatctx_profile_current(fatctx_profile* profile, fatctx_error* error);
FATCTX_API int32_t fatctx_profile_stop(fatctx_profile* profile, fatctx_error* error);
typedef struct fatctx_profile_info {
  uint32_t struct_size;
  uint32_t level;           // FATCTX_PROFILE_...
  uint64_t total_count;     // kinds that happened
  uint64_t event_count;     // DETAILED only
  uint64_t dropped_events;  // beyond max_events
} fatctx_profile_info;
FATCTX_API int32_t fatctx_profile_describe(fatctx_profile profile, fatctx_profile_info* info, fatctx_error* error);
typedef struct fatctx_profile_total {
  uint32_t struct_size;
  uint32_t kind;  // FATCTX_EVENT_...
  uint64_t count;
  uint64_t failed;
  uint64_t total_ns;
  uint64_t longest_ns;
  uint64_t bytes;
} fatctx_profile_total;
// Get a row by index. Lifetime: texts borrow from `profile`. Errors: not_found (index out of range).
FATCTX_API int32_t fatctx_profile_total_at(fatctx_profile profile, uint64_t index, fatctx_profile_total* total,
                                           fatctx_error* error);
FATCTX_API int32_t fatctx_profile_event_at(fatctx_profile profile, uint64_t index, fatctx_profile_event* event,
                                           fatctx_error* error);
// Writes comma-separated values with a title line: an event a line if detailed, else a total a line.
FATCTX_API int32_t fatctx_profile_csv(fatctx_profile profile, char* buffer, size_t capacity, size_t* size,
                                      fatctx_error* error);
FATCTX_API int32_t fatctx_profile_close(fatctx_profile profile, fatctx_error* error);

// Traces: opens, selections and acquired views with their results, as JSON lines, for reading and replaying.

// Takes one line, without line feed and not ended by NUL, valid during the call only; on the thread of the call, from
// several threads at once. Calls of this library from inside it are not recorded.
typedef void (*fatctx_trace_sink)(void* user, const char* line, uint64_t size);
// Starts a trace. The first line names the schema. The sink is held until the trace is stopped or another is started.
FATCTX_API int32_t fatctx_trace_start(fatctx_trace_sink sink, fatctx_release release, void* user, fatctx_error* error);
FATCTX_API int32_t fatctx_trace_stop(fatctx_error* error);

typedef struct fatctx_replay_difference {  // a call whose result differs now
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t line;      // counted from 1
  fatctx_text call;   // "view m.fatctx record 3"
  fatctx_text gave;   // then
  fatctx_text gives;  // now
} fatctx_replay_difference;
typedef struct fatctx_replay_report {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t calls;    // repeated
  uint64_t skipped;  // cannot be repeated: descriptors and buffers of the process that wrote the trace
  uint64_t difference_count;
} fatctx_replay_report;
// Takes one difference, valid during the call only.
typedef void (*fatctx_difference)(void* user, const fatctx_replay_difference* difference);
// Repeats the calls of a trace of `size` bytes one after the other and compares their results. `difference` may be
// null; `report` is required. Errors: invalid_argument (naming the line, the value found and the values allowed).
FATCTX_API int32_t fatctx_trace_replay(const char* trace, uint64_t size, fatctx_difference difference, void* user,
                                       fatctx_replay_report* report, fatctx_error* error);

// Packers: write a container.

// Elements of arrays have no struct_size: these three structs never change.
typedef struct fatctx_option {
  const char* key;
  const char* value;
  const char* owner;  // execution provider or tool the option belongs to; null: none
} fatctx_option;
typedef struct fatctx_pack_tensor {
  const char* name;
  const uint64_t* shape;
  uint64_t rank;
  uint64_t offset_in_blob;
  uint64_t size_bytes;
  uint32_t dtype;
  uint32_t alias;  // shares bytes with another tensor on purpose
} fatctx_pack_tensor;
typedef struct fatctx_pack_range {  // a part of an otherwise opaque record
  const char* name;                 // for errors
  uint64_t offset;
  uint64_t size_bytes;  // at least 1
} fatctx_pack_range;
typedef struct fatctx_graph_tensor {  // an input or output of a graph
  const char* name;
  const char* dtype;     // fatctx_dtype_name()
  const int64_t* shape;  // -1 for a dynamic dimension
  uint64_t rank;
} fatctx_graph_tensor;
typedef struct fatctx_graph {
  const char* name;
  const fatctx_graph_tensor* inputs;
  uint64_t input_count;
  const fatctx_graph_tensor* outputs;
  uint64_t output_count;
} fatctx_graph;

enum { FATCTX_SHARING_OFF = 0, FATCTX_SHARING_PAGES = 1, FATCTX_SHARING_BYTES = 2 };

typedef struct fatctx_pack_options {
  uint32_t struct_size;
  uint32_t seal;           // 0
  uint32_t overwrite;      // replace an existing file (by rename); otherwise exists; 0
  uint32_t sharing;        // FATCTX_SHARING_...; FATCTX_SHARING_PAGES. With BYTES records become recipes
  uint32_t extent_log2;    // 16 or 21; 16
  uint32_t granule_log2;   // 12, 14 or 16; 12
  const char* model_name;  // null: none
  const fatctx_option* options;
  uint64_t option_count;
  fatctx_progress progress;
  void* progress_user;
  uint32_t max_pieces;  // with FATCTX_SHARING_PAGES: most slices of one record, 1 to 65536; 4096
  uint32_t threads;     // number that look for shared bytes; 0: the number of processors, at most 8. Changes no byte
  // 1: refuses a second context binary for a SoC, in the same group, unit and backend, with exists, even if they
  // differ; 0
  uint32_t one_per_soc;
  // 1: turns the warnings about records that cannot share as compiled, or share less (docs/sharing.md), into the error
  // unsupported; 0
  uint32_t strict_sharing;
} fatctx_pack_options;
FATCTX_API void fatctx_pack_options_init(fatctx_pack_options* options, size_t struct_size);

// A record to pack. fatctx_packer_add() copies everything except the file at `source_path`, which publish reads. Null
// texts mean "not stated".
typedef struct fatctx_pack_record {
  uint32_t struct_size;
  uint32_t type;            // FATCTX_RECORD_...; FATCTX_RECORD_OPAQUE
  const char* name;         // unique in the container; required
  const char* source_path;  // the file that holds its bytes; null: `bytes`
  const void* bytes;
  uint64_t size;
  const char* group;
  const char* unit;
  const char* backend;
  const char* part;
  const char* arch;
  const char* features;  // comma separated
  const char* variant;
  uint32_t qnn_soc;
  uint32_t vtcm_mb;
  uint32_t generic;
  uint32_t tensors_from_irpa;  // take the tensors out of the index of the IREE parameter archive at `source_path`
  fatctx_version sdk;
  fatctx_version api;
  fatctx_version blob;
  uint32_t codec;              // FATCTX_CODEC_...; LZ4 is for source models and opaque records, which nobody maps; NONE
  const char* const* weights;  // names of the weight blobs it refers to
  uint64_t weight_count;
  const fatctx_pack_tensor* tensors;  // weight blobs only
  uint64_t tensor_count;
  const char* producer;  // tool and version that made it
  const char* format;    // "iree-vmfb", "irpa", ...
  const fatctx_graph* graphs;
  uint64_t graph_count;
  const fatctx_option* options;
  uint64_t option_count;
  // As tensors_from_irpa, for a safetensors or GGUF file; at most one of the three. Tensors without a matching
  // FATCTX_DTYPE_... are bytes, and options "tensor.NAME.type" name their types.
  uint32_t tensors_from_safetensors;
  uint32_t tensors_from_gguf;
  // By default an opaque record of up to 64 KiB shares an extent with others; with this it has its own extent, so that
  // its pages can be mapped.
  uint32_t own_extent;
  uint32_t source_is_part;  // see source_offset; 0: all of the file
  // The ranges of its parts, if it has no tensors: ascending by offset, inside the record, without overlap. Equal parts
  // are stored once, at any offset; the ranges are not kept in the file.
  const fatctx_pack_range* ranges;
  uint64_t range_count;
  // The part of the file at `source_path` that is the record, if `source_is_part` is set: `source_size` bytes from
  // `source_offset`. Excludes all of tensors_from_..., whose offsets count from the first byte of the file.
  uint64_t source_offset;
  uint64_t source_size;
  // A loaded view, instead of `bytes` and `source_path`. It belongs to a file already, so `copy` is also required. The
  // view may be closed when the call has returned. {0}: none
  fatctx_view loaded;
  uint32_t copy;
  uint32_t reserved;
} fatctx_pack_record;
FATCTX_API void fatctx_pack_record_init(fatctx_pack_record* record, size_t struct_size);

typedef struct fatctx_pack_report {
  uint32_t struct_size;
  uint32_t sealed;
  uint64_t file_size;
  uint64_t input_bytes;   // sum of all record sizes
  uint64_t stored_bytes;  // payload bytes in the file
  uint32_t record_count;
  uint32_t shared_records;  // records whose bytes another record already stored
  uint32_t warning_count;
  char uuid[44];          // hexadecimal with dashes, ended by NUL
  uint64_t shared_bytes;  // bytes of records that needed no storage of their own, equal records included
} fatctx_pack_report;

// Reads the tensors of a file with weights from its index, never their bytes. For inspection, or for a
// fatctx_pack_record with the file as its source that needs the tensors of the file and those of the caller in one
// array. If those of the file are enough, `tensors_from_...` of the record is shorter.
// Errors: not_found, io, not_regular_file, truncated, bad_magic, unsupported, malformed, trailing_data, limit_exceeded;
//         each names tensor and byte.
FATCTX_API int32_t fatctx_tensors_from_safetensors(const char* path, fatctx_imported_tensors* tensors,
                                                   fatctx_error* error);
FATCTX_API int32_t fatctx_tensors_from_gguf(const char* path, fatctx_imported_tensors* tensors, fatctx_error* error);
FATCTX_API int32_t fatctx_tensors_from_irpa(const char* path, fatctx_imported_tensors* tensors, fatctx_error* error);
typedef struct fatctx_imported_tensors_info {
  uint32_t struct_size;
  uint32_t reserved;
  // Offsets count from the first byte of the file: they are offsets in a weight blob that holds the file as it is.
  const fatctx_pack_tensor* tensors;
  uint64_t tensor_count;
  const fatctx_option* options;  // "tensor.NAME.type": the type of a tensor without a matching FATCTX_DTYPE_...
  uint64_t option_count;
  uint64_t file_size;
  uint64_t data_offset;  // of the first tensor; of an .irpa archive 0
  uint64_t data_size;    // from the first tensor to the last; of an .irpa archive the whole file
  uint64_t splat_count;  // entries of an .irpa archive without bytes in the file, which are not among the tensors
} fatctx_imported_tensors_info;
// Gets the tensors. Lifetime: the arrays, and all that they point to, borrow from `tensors`.
FATCTX_API int32_t fatctx_imported_tensors_describe(fatctx_imported_tensors tensors, fatctx_imported_tensors_info* info,
                                                    fatctx_error* error);
FATCTX_API int32_t fatctx_imported_tensors_close(fatctx_imported_tensors tensors, fatctx_error* error);

// Makes a packer, which works for one call at a time: a second one meanwhile (another thread, a callback) answers
// operation_not_permitted.
FATCTX_API int32_t fatctx_packer_create(const fatctx_pack_options* options, fatctx_packer* packer, fatctx_error* error);
// Adds a record.
// Errors: invalid_argument (names, keys, tensors, a record without bytes), exists (the name, the full key, or with
//         one_per_soc the SoC, already exists), operation_not_permitted (it was loaded, and `copy` is not set),
//         limit_exceeded; those of reading the archive.
FATCTX_API int32_t fatctx_packer_add(fatctx_packer packer, const fatctx_pack_record* record, fatctx_error* error);
// Writes a temporary beside `path`, syncs it, renames it to `path`. `report` may be null. On any error before the
// rename the temporary is removed and `path` is unchanged.
// Errors: exists, not_found, changed, bad_reference, no_space, io, limit_exceeded, unsupported, cancelled,
//         commit_unknown.
FATCTX_API int32_t fatctx_packer_publish(fatctx_packer packer, const char* path, fatctx_pack_report* report,
                                         fatctx_error* error);
// A report of one packed record.
typedef struct fatctx_packed_record {
  uint32_t struct_size;
  uint32_t id;
  fatctx_text name;
  uint64_t size_bytes;    // logical
  uint64_t stored_bytes;  // its own bytes in the file
  uint64_t shared_bytes;  // found in what another record stores, or stored once though it repeats in this one
  // Estimate, within the stored bytes, of bytes that another record has at a different offset within a granule, so that
  // they cannot be mapped from there. Only with FATCTX_SHARING_PAGES.
  uint64_t shifted_bytes;
  uint64_t recipe_bytes;    // of the stored bytes, its program
  uint64_t mappable_bytes;  // for a recipe: bytes in whole granules that a view can map from the file
  uint32_t pieces;          // slices of the file that it is made of; 0 if it is a recipe
  uint32_t recipe_steps;    // 0: it is not a recipe
  uint32_t sharing_order;   // its position in the search for equal bytes, from 1; 0: it was not searched
  uint32_t reserved;
} fatctx_packed_record;
// Gets a record of the last publish, by index below `record_count` of the report, in the order of ids; records that the
// packer adds are among them. Lifetime: `name` until the next publish or close. Errors: not_found (index out of range).
FATCTX_API int32_t fatctx_packer_record(fatctx_packer packer, uint64_t index, fatctx_packed_record* record,
                                        fatctx_error* error);
// Gets a warning of the last publish. Lifetime: until the next publish or close. Errors: not_found (index out of
// range).
FATCTX_API int32_t fatctx_packer_warning(fatctx_packer packer, uint64_t index, fatctx_text* text, fatctx_error* error);
FATCTX_API int32_t fatctx_packer_close(fatctx_packer packer, fatctx_error* error);

// Appenders: add records to a container in place. Readers of the old generation go on; fatctx_container_reopen() gives
// them the new one.

typedef struct fatctx_append_options {
  uint32_t struct_size;
  // 1: a record supersedes a stored one with the same full key, which stays readable in its own generation until the
  // file is rewritten; otherwise exists; 0
  uint32_t replace;
  uint32_t threads;  // as in fatctx_pack_options; 0
  uint32_t reserved;
  fatctx_progress progress;  // null
  void* progress_user;
  uint32_t one_per_soc;     // as in fatctx_pack_options, with the records of the file; 0
  uint32_t strict_sharing;  // as in fatctx_pack_options; 0
} fatctx_append_options;
FATCTX_API void fatctx_append_options_init(fatctx_append_options* options, size_t struct_size);

typedef struct fatctx_append_report {
  uint32_t struct_size;
  uint32_t record_count;  // that were added
  uint64_t generation;    // the new one
  uint64_t file_size_before;
  uint64_t file_size;
  uint64_t input_bytes;   // sum of the logical sizes of the added records
  uint64_t stored_bytes;  // payload bytes that were written
  uint64_t shared_bytes;  // found in the file, or in another added record
  uint64_t dead_bytes;    // bytes of the file that no record uses
  uint32_t superseded_count;
  uint32_t restored_count;
  uint32_t warning_count;
  char uuid[44];  // that of the container, as before; ended by NUL
} fatctx_append_report;

// Takes the file's write lock, which is held until the handle is closed. `path` must not be a link. An appender works
// for one call at a time, as a packer does, and not in a child that was forked from the process that opened it.
// Errors: not_found, locked (another process is appending), operation_not_permitted (the container is sealed, or the
//         file may not be written; the message says how to get a writable copy), remote_filesystem, unsupported (no
//         locks here, or made by a newer version in a way that only it can add to), those of fatctx_container_open.
FATCTX_API int32_t fatctx_appender_open(const char* path, const fatctx_append_options* options,
                                        fatctx_appender* appender, fatctx_error* error);
// Adds a record as fatctx_packer_add does; `weights` may also name weight blobs of the file. Writes nothing.
// Errors: those of fatctx_packer_add; exists also if the file has a record of this name or key; operation_not_permitted
//         (it was committed).
FATCTX_API int32_t fatctx_appender_add(fatctx_appender appender, const fatctx_pack_record* record, fatctx_error* error);
// A measurement or an observation of a record. `tool` may be null.
typedef struct fatctx_evidence_note {
  uint32_t struct_size;
  uint32_t reserved;
  const char* device;  // "Galaxy S24"
  const char* tool;    // with its version: "qnn-net-run 2.51"
  const char* metric;  // "latency_ms"
  const char* value;   // "3.1"
  const char* date;    // "2026-11-22"
} fatctx_evidence_note;
// Adds a note to the evidence of a record of the file; fatctx_container_info_json() shows it. Writes nothing.
// Errors: not_found, invalid_argument (a text is missing or too long, the date is invalid); the commit says `exists` if
//         the same note exists.
FATCTX_API int32_t fatctx_appender_note(fatctx_appender appender, const char* record_name,
                                        const fatctx_evidence_note* note, fatctx_error* error);
// Writes the added records behind the end of the file, syncs it, then names them in the header and syncs again.
// `report` may be null. After the call nothing more can be added or committed.
// Errors: bad_reference, changed (an input), no_space, io, limit_exceeded, cancelled: the file opens as before, and
//         bytes behind its end are dead. commit_unknown: the last sync failed; the disk has the new generation or the
//         old one, and reads may show the new one before the disk has it. The next append or fatctx_repair() relies on
//         neither.
FATCTX_API int32_t fatctx_appender_commit(fatctx_appender appender, fatctx_append_report* report, fatctx_error* error);
// Get an added record, by index below `record_count`, in the order of ids; the name of a superseded record; a copy of
// metadata that was damaged and is whole again ("slot A1"); a warning. Lifetime: texts until the handle is closed.
// Errors: not_found (index out of range, or nothing was committed).
FATCTX_API int32_t fatctx_appender_record(fatctx_appender appender, uint64_t index, fatctx_packed_record* record,
                                          fatctx_error* error);
FATCTX_API int32_t fatctx_appender_superseded(fatctx_appender appender, uint64_t index, fatctx_text* name,
                                              fatctx_error* error);
FATCTX_API int32_t fatctx_appender_restored(fatctx_appender appender, uint64_t index, fatctx_text* text,
                                            fatctx_error* error);
FATCTX_API int32_t fatctx_appender_warning(fatctx_appender appender, uint64_t index, fatctx_text* text,
                                           fatctx_error* error);
// Gives the lock up and discards everything that was not committed.
FATCTX_API int32_t fatctx_appender_close(fatctx_appender appender, fatctx_error* error);
// Rewrites: containers written anew, with fewer records, without dead bytes, several as one.

// A report of a rewrite or a merge. It does not need the files any more.
typedef struct fatctx_rewrite {
  uint64_t id;
} fatctx_rewrite;

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
// process that has the old one mapped keeps it. `options`: null for the defaults. `rewrite` may be null.
// Errors: not_found, exists, locked (another process is appending to `source`), changed (`source` was replaced
//         meanwhile), not_regular_file (`source` is a link and would be replaced), not_found (an id of `keep`, the
//         generation), invalid_argument (a kept binary refers to weights that are not kept), unsupported (a record that
//         this version only lists), checksum_mismatch and codec (a record is damaged: remove it, or restore the file),
//         cancelled, those of opening `source` and of fatctx_packer_publish. Except for commit_unknown, `target` is
//         unchanged after an error.
FATCTX_API int32_t fatctx_rewrite_container(const char* source, const char* target,
                                            const fatctx_rewrite_options* options, fatctx_rewrite* rewrite,
                                            fatctx_error* error);
// Writes the records of all containers to `target`. If several have equal records under one name, it writes one. The
// order of `sources` changes a byte only if they disagree on the name of the model or on options of the whole
// container: then the first one counts, with a warning. Extents and granules are the largest that a source has.
// Errors: exists (two records of one name, or of one key, that differ), invalid_argument (fewer than two sources; an
//         option that is not for a merge), those of fatctx_rewrite_container.
FATCTX_API int32_t fatctx_merge_containers(const char* const* sources, uint64_t count, const char* target,
                                           const fatctx_rewrite_options* options, fatctx_rewrite* rewrite,
                                           fatctx_error* error);

typedef struct fatctx_rewrite_info {
  uint32_t struct_size;
  uint32_t sealed;
  uint64_t generation;    // of the new file
  uint64_t file_size;     // of the new file
  uint64_t input_bytes;   // sum of all record sizes
  uint64_t stored_bytes;  // payload bytes in the file
  uint64_t shared_bytes;  // bytes of records that needed no storage of their own, equal records included
  uint32_t record_count;
  uint32_t shared_records;  // records whose bytes another record already stored
  uint32_t source_count;
  uint32_t removed_count;  // records that are not in the new file
  uint32_t unused_count;   // weight blobs that binaries referred to, and that no binary refers to now
  uint32_t warning_count;
  char uuid[44];  // hexadecimal with dashes, ended by NUL
  uint32_t reserved;
} fatctx_rewrite_info;
FATCTX_API int32_t fatctx_rewrite_describe(fatctx_rewrite rewrite, fatctx_rewrite_info* info, fatctx_error* error);
typedef struct fatctx_rewrite_source {  // a file that was read
  uint32_t struct_size;
  uint32_t record_count;
  fatctx_text path;
  uint64_t generation;
  uint64_t file_size;
  uint64_t dead_bytes;  // used by no record of any generation that opens by default
} fatctx_rewrite_source;
// Get the rows of the report, by index below their count. Lifetime: texts borrow from `rewrite`. Errors: not_found
// (index out of range).
FATCTX_API int32_t fatctx_rewrite_source_at(fatctx_rewrite rewrite, uint64_t index, fatctx_rewrite_source* source,
                                            fatctx_error* error);
// Gets the report of a record of the new file, in the order of ids; records that are written on their own are among
// them.
FATCTX_API int32_t fatctx_rewrite_record(fatctx_rewrite rewrite, uint64_t index, fatctx_packed_record* record,
                                         fatctx_error* error);
// Gets the name of a record that is not in the new file.
FATCTX_API int32_t fatctx_rewrite_removed(fatctx_rewrite rewrite, uint64_t index, fatctx_text* name,
                                          fatctx_error* error);
// Gets the name of a weight blob that binaries referred to, and that no binary refers to now.
FATCTX_API int32_t fatctx_rewrite_unused(fatctx_rewrite rewrite, uint64_t index, fatctx_text* name,
                                         fatctx_error* error);
FATCTX_API int32_t fatctx_rewrite_warning(fatctx_rewrite rewrite, uint64_t index, fatctx_text* text,
                                          fatctx_error* error);
FATCTX_API int32_t fatctx_rewrite_close(fatctx_rewrite rewrite, fatctx_error* error);

// A target as a filter: a null, empty or 0 field fits everything. Elements of arrays have no struct_size: this struct
// never changes.
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

// Multi-SoC DLC archives of Snapdragon compilers, in files and in containers. docs/dlc.md describes them.

// A handle to an archive: its list of contents, never a payload.
typedef struct fatctx_dlc {
  uint64_t id;
} fatctx_dlc;
enum {
  FATCTX_DLC_CONTEXT_BINARY = 0,
  FATCTX_DLC_SHARED_WEIGHTS = 1,
  FATCTX_DLC_SHARED_WEIGHTS_METADATA = 2,
  FATCTX_DLC_SOURCE_MODEL = 3,
  FATCTX_DLC_METADATA = 4,
  FATCTX_DLC_OTHER = 5
};
FATCTX_API const char* fatctx_dlc_entry_kind_name(uint32_t kind);  // "context_binary", ...; "other"

// Writes 1 into `found` if the file has the entries of a DLC, else 0. Errors: not_found, io, not_regular_file.
FATCTX_API int32_t fatctx_is_dlc(const char* path, uint32_t* found, fatctx_error* error);
// Checks the structure of the whole archive and reads its metadata. Errors: not_found, io, not_regular_file, bad_magic,
// truncated, malformed, unsupported, limit_exceeded.
FATCTX_API int32_t fatctx_dlc_open(const char* path, fatctx_dlc* dlc, fatctx_error* error);
// Does the same for an archive that was imported into a container. `layout` is the name of its layout record; null: the
// only archive.
// Errors: also not_found (no archive), invalid_argument (several, and none named), bad_reference (a record is missing
//         or has other bytes), checksum_mismatch, changed.
FATCTX_API int32_t fatctx_container_dlc(fatctx_container container, const char* layout, fatctx_dlc* dlc,
                                        fatctx_error* error);
FATCTX_API int32_t fatctx_dlc_close(fatctx_dlc dlc, fatctx_error* error);
typedef struct fatctx_dlc_info {
  uint32_t struct_size;
  uint32_t reserved;
  uint64_t size_bytes;  // of the archive
  uint64_t entry_count;
  uint64_t soc_count;      // context binaries
  uint64_t finding_count;  // silent choices of a compiler, and facts that cannot be determined
} fatctx_dlc_info;
FATCTX_API int32_t fatctx_dlc_describe(fatctx_dlc dlc, fatctx_dlc_info* info, fatctx_error* error);
typedef struct fatctx_dlc_entry {
  uint32_t struct_size;
  uint32_t kind;  // FATCTX_DLC_...
  fatctx_text name;
  uint64_t offset;  // of its bytes in the archive, stored as they are
  uint64_t size_bytes;
} fatctx_dlc_entry;
// Get rows in the order of the archive. Lifetime: texts of all three borrow from `dlc`. Errors: not_found (index out of
// range).
FATCTX_API int32_t fatctx_dlc_entry_at(fatctx_dlc dlc, uint64_t index, fatctx_dlc_entry* entry, fatctx_error* error);
typedef struct fatctx_dlc_soc {  // a context binary; zero and empty: not stated
  uint32_t struct_size;
  uint32_t qnn_soc;
  uint64_t entry;  // index among the entries
  fatctx_text arch;
  fatctx_text build_id;  // of the compiler
  fatctx_version sdk;
  fatctx_version api;
  fatctx_version blob;
  uint32_t vtcm_mb;
  const uint64_t* shared;  // indexes of the shared weights and their metadata that it uses; borrows as texts do
  uint64_t shared_count;
  uint64_t graph_count;
} fatctx_dlc_soc;
FATCTX_API int32_t fatctx_dlc_soc_at(fatctx_dlc dlc, uint64_t index, fatctx_dlc_soc* soc, fatctx_error* error);
FATCTX_API int32_t fatctx_dlc_graph(fatctx_dlc dlc, uint64_t soc_index, uint64_t index, fatctx_text* text,
                                    fatctx_error* error);
FATCTX_API int32_t fatctx_dlc_finding(fatctx_dlc dlc, uint64_t index, fatctx_text* text, fatctx_error* error);

typedef struct fatctx_dlc_import {
  uint32_t struct_size;
  uint32_t without_layout;  // discard the bytes between the entries: the archive cannot be given back
  const char* group;        // of all records
  const char* unit;         // of the context binaries
  const char* prefix;       // in front of all names, to tell several archives in one container apart
} fatctx_dlc_import;
FATCTX_API void fatctx_dlc_import_init(fatctx_dlc_import* options, size_t struct_size);
// Adds one record for each entry, and one with the archive's layout. `options` may be null. The file must not change
// until publish. Errors: those of fatctx_dlc_open() and fatctx_packer_add(); changed. The packer must not be used after
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
FATCTX_API void fatctx_dlc_choice_init(fatctx_dlc_choice* choice, size_t struct_size);
typedef struct fatctx_thin_dlc {
  uint32_t struct_size;
  uint32_t entry_count;  // the ones that are kept
  uint64_t size_bytes;
  uint64_t new_bytes;      // of a file: not in the original; of a view: memory that was built for headers and the like
  uint64_t copied_bytes;   // of a view: payload that could not be mapped; of a file 0
  uint32_t mapped_pieces;  // ranges of the original; of a view: that are mapped
  uint32_t built_pieces;   // new bytes between them
} fatctx_thin_dlc;
// Plan a thin DLC of the file, or write it as a file that appears whole or not at all. `report` may be null in the
// second.
// Errors: those of fatctx_dlc_open(); no_match (naming the existing ones), bad_reference (no metadata); of the second:
//         exists (without `overwrite`), no_space, changed, commit_unknown.
FATCTX_API int32_t fatctx_dlc_thin(const char* path, const fatctx_dlc_choice* choice, fatctx_thin_dlc* report,
                                   fatctx_error* error);
FATCTX_API int32_t fatctx_dlc_extract_thin(const char* path, const fatctx_dlc_choice* choice, const char* out,
                                           uint32_t overwrite, fatctx_thin_dlc* report, fatctx_error* error);

typedef struct fatctx_stored_dlc {  // an archive that was imported into a container
  uint32_t struct_size;
  uint32_t layout_id;  // the record with its layout
  fatctx_text layout;  // and its name
  uint64_t size_bytes;
  uint64_t record_count;  // with its entries
} fatctx_stored_dlc;
// Counts the archives. Errors: checksum_mismatch, malformed (of a layout record), changed.
FATCTX_API int32_t fatctx_container_dlc_count(fatctx_container container, uint64_t* count, fatctx_error* error);
// Gets an archive by index. Lifetime: texts borrow from `container`. Errors: also not_found (index out of range).
FATCTX_API int32_t fatctx_container_dlc_at(fatctx_container container, uint64_t index, fatctx_stored_dlc* dlc,
                                           fatctx_error* error);
// Writes the original archive, byte for byte, checked against the hash of the original. `layout` as in
// fatctx_container_dlc(), `progress` may be null. Errors: those; exists, no_space, io, cancelled, commit_unknown.
FATCTX_API int32_t fatctx_container_export_dlc(fatctx_container container, const char* layout, const char* out,
                                               uint32_t overwrite, fatctx_progress progress, void* user,
                                               fatctx_error* error);
// Writes the file that fatctx_dlc_extract_thin() of the original would write. `report` may be null.
FATCTX_API int32_t fatctx_container_extract_thin_dlc(fatctx_container container, const char* layout,
                                                     const fatctx_dlc_choice* choice, const char* out,
                                                     uint32_t overwrite, fatctx_thin_dlc* report, fatctx_error* error);
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

// Loading: one call from a file of any kind to the context binary for a device. docs/loading.md describes it.

typedef struct fatctx_load_list {
  uint64_t id;
} fatctx_load_list;

// A source of bytes: a path, a descriptor, or memory.
typedef struct fatctx_source {
  uint32_t struct_size;
  int32_t descriptor;  // stays the caller's, and may be closed when the call has returned; -1: none
  const char* path;    // null: none
  uint64_t offset;     // of the descriptor's file: the part to load, from a multiple of 4096
  uint64_t size;       // of that part; 0: to the end
  const void* bytes;   // stay the caller's, unchanged, until everything made from them is closed; null: none
  uint64_t bytes_size;
} fatctx_source;
FATCTX_API void fatctx_source_init(fatctx_source* source, size_t struct_size);

enum { FATCTX_LOAD_GRAPH_INITIALISED = 0, FATCTX_LOAD_CONTEXT_INITIALISED = 1 };
// A report of progress: for each context binary its graphs and then the context binary. A load that fails reports
// FATCTX_LOAD_CONTEXT_INITIALISED with the error as its last event.
typedef struct fatctx_load_event {
  uint32_t struct_size;
  uint32_t kind;              // FATCTX_LOAD_...
  fatctx_text record;         // of the context binary; empty if the load failed
  fatctx_text unit;           // of the context binary
  fatctx_text graph;          // of FATCTX_LOAD_GRAPH_INITIALISED
  const fatctx_error* error;  // why the load failed; else null
} fatctx_load_event;
// Called on the thread that called fatctx_load(), or on one of the list. The event is valid during the call only.
typedef void (*fatctx_load_notify)(void* user, const fatctx_load_event* event);

typedef struct fatctx_load_options {
  uint32_t struct_size;
  uint32_t prefetch;                  // also brings the chosen bytes into memory; 0
  const fatctx_model_options* model;  // options for opening and for the choice, with the signal; null: defaults
  fatctx_load_notify notify;          // null: none
  fatctx_progress progress;           // about every 25 ms, on the thread of `notify`; null: none
  void* user;                         // of both
} fatctx_load_options;
FATCTX_API void fatctx_load_options_init(fatctx_load_options* options, size_t struct_size);

// Opens the source, recognises its format, chooses, checks the bytes and returns a session with views of them. With
// a signal or with progress it answers within 100 ms when it is stopped, even if the system does not answer.
// Errors: those of fatctx_model_open() and fatctx_model_begin_session(); changed.
FATCTX_API int32_t fatctx_load(const fatctx_source* source, const fatctx_load_options* options, fatctx_session* session,
                               fatctx_error* error);

// Makes a signal that stops a load from another thread, or after `timeout_ms`; 0: no limit. Serves one load at a time,
// and the next one when that has ended. Closing it stops nothing.
FATCTX_API int32_t fatctx_load_signal_create(uint64_t timeout_ms, fatctx_load_signal* signal, fatctx_error* error);
// Makes the load that uses it answer cancelled. If no load uses it, the next one does.
FATCTX_API int32_t fatctx_load_signal_cancel(fatctx_load_signal signal, fatctx_error* error);
// Errors of both: operation_not_permitted (a load uses it).
FATCTX_API int32_t fatctx_load_signal_set_timeout(fatctx_load_signal signal, uint64_t timeout_ms, fatctx_error* error);
FATCTX_API int32_t fatctx_load_signal_reset(fatctx_load_signal signal, fatctx_error* error);
FATCTX_API int32_t fatctx_load_signal_state(fatctx_load_signal signal, uint32_t* cancelled, uint32_t* in_use,
                                            fatctx_error* error);
FATCTX_API int32_t fatctx_load_signal_close(fatctx_load_signal signal, fatctx_error* error);

// Called once for each item, on a thread of the list, for one item at a time. `session` is a new handle, which the
// callback closes or keeps. If the load failed it is {0}, and `error` says why; otherwise `error` is null.
typedef void (*fatctx_load_finished)(void* user, uint64_t index, fatctx_session session, const fatctx_error* error);
typedef struct fatctx_load_item {
  const fatctx_source* source;
  const fatctx_load_options* options;  // null: defaults; its `user` is used until the item has finished
  fatctx_load_finished finished;       // null: none
  void* user;                          // of `finished`
} fatctx_load_item;
// Loads a list in the background, `threads` items at a time (0: the number of processors, at most 8), and returns. A
// failed item does not stop the others. Callbacks come in the order in which items finish; with one thread, in list
// order. Errors: invalid_argument, stale_handle (a signal, a device), no_resource, io.
FATCTX_API int32_t fatctx_load_list_start(const fatctx_load_item* items, uint64_t count, uint32_t threads,
                                          fatctx_load_list* list, fatctx_error* error);
// Makes unfinished items answer cancelled. Does not wait.
FATCTX_API int32_t fatctx_load_list_cancel(fatctx_load_list list, fatctx_error* error);
// Waits until all have finished. Errors: operation_not_permitted (from a callback of this list).
FATCTX_API int32_t fatctx_load_list_wait(fatctx_load_list list, fatctx_error* error);
FATCTX_API int32_t fatctx_load_list_state(fatctx_load_list list, uint64_t* size, uint64_t* finished,
                                          fatctx_error* error);
// Gets the result of an item. Errors: not_found (index out of range), operation_not_permitted (it has not finished),
// those of the load.
FATCTX_API int32_t fatctx_load_list_result(fatctx_load_list list, uint64_t index, fatctx_session* session,
                                           fatctx_error* error);
// Cancels unfinished items and waits for their callbacks, but not from one of them.
FATCTX_API int32_t fatctx_load_list_close(fatctx_load_list list, fatctx_error* error);

#ifdef __cplusplus
}  // extern "C"
#endif
