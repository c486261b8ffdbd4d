// Models and sessions: a container with the target chosen for a device, and views of the chosen records.
#pragma once

#include "fatctx/c/device.h"
#include "fatctx/c/memory.h"
#include "fatctx/c/view.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fatctx_model {
  uint64_t id;
} fatctx_model;
typedef struct fatctx_session {
  uint64_t id;
} fatctx_session;

// Levels of how well a record fits the device.
enum {
  FATCTX_LEVEL_OPTIMAL = 1,
  FATCTX_LEVEL_PREFER_RECOMPILATION = 2,
  FATCTX_LEVEL_FALLBACK = 3,
  FATCTX_LEVEL_UNSUPPORTED = 4
};
// Return the word of a level ("OPTIMAL"; "UNKNOWN"), and the short name of an axis ("A1"; "unknown"). Static storage.
FATCTX_API const char* fatctx_level_name(uint32_t level);
FATCTX_API const char* fatctx_axis_id(uint32_t axis);

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
//         invalid_argument with FATCTX_VERIFY_NONE, which finds no damage; for a DLC those of fatctx_dlc_json(); for a
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
// Waits for the checks of its records that FATCTX_VERIFY_BESIDE_LOAD has begun: call it before the first result is
// believed. Errors: those of fatctx_container_await_checks().
FATCTX_API int32_t fatctx_session_await_checks(fatctx_session session, fatctx_error* error);
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

// Bring all records of a session into memory (binaries first, then weights, each once) and give them back, as
// fatctx_container_prefetch() and the functions beside it do for one record.
FATCTX_API int32_t fatctx_session_prefetch(fatctx_session session, const fatctx_prefetch_options* options,
                                           fatctx_prefetch_report* report, fatctx_error* error);
FATCTX_API int32_t fatctx_session_prefetch_in_background(fatctx_session session, const fatctx_prefetch_options* options,
                                                         fatctx_prefetch* prefetch, fatctx_error* error);
FATCTX_API int32_t fatctx_session_release(fatctx_session session, const fatctx_release_options* options,
                                          fatctx_release_report* report, fatctx_error* error);

#ifdef __cplusplus
}  // extern "C"
#endif
