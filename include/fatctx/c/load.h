// Loading: one call from a file of any kind to the context binary for a device. docs/loading.md describes it.
#pragma once

#include "fatctx/c/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fatctx_load_list {
  uint64_t id;
} fatctx_load_list;

// A source of bytes: a path, a descriptor, or memory.
typedef struct fatctx_source {
  uint32_t struct_size;
  int32_t descriptor;  // stays the caller's, and may be closed when the call has returned; -1: none
  const char* path;    // null: none
  uint64_t offset;     // start of the part to load in the descriptor's file; a multiple of 4096
  uint64_t size;       // size of that part; 0: to the end of the file
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
  fatctx_text record;         // name of the context binary; empty if the load failed
  fatctx_text unit;           // unit of the context binary
  fatctx_text graph;          // only with FATCTX_LOAD_GRAPH_INITIALISED
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
