// The cost of loading: metrics, cache folders, profiles, traces.
#pragma once

#include "fatctx/c/report.h"

#ifdef __cplusplus
extern "C" {
#endif

// Metrics: the cost of loading and the savings of sharing, as numbers of this moment. Schema "fatctx.metrics/1". They
// touch no page, and cost some 20 ms for each GiB that is in memory.

FATCTX_API int32_t fatctx_metrics_of_container(fatctx_container container, fatctx_report* report, fatctx_error* error);
// Takes the numbers of every file that this process has open; buffers in memory are not among them.
FATCTX_API int32_t fatctx_metrics_of_runtime(fatctx_report* report, fatctx_error* error);

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
// Get the events recorded so far, schema "fatctx.profile/1"; the second also stops the recorder. As CSV: an event a
// line if detailed, else a total a line, below a title line.
FATCTX_API int32_t fatctx_profile_current(fatctx_report* report, fatctx_error* error);
FATCTX_API int32_t fatctx_profile_stop(fatctx_report* report, fatctx_error* error);

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

#ifdef __cplusplus
}  // extern "C"
#endif
