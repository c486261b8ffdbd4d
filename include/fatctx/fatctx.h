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
// Structs:    the caller sets `struct_size` to sizeof. The library reads and
//             writes no byte beyond it, so that a program and a library of different age work together: a field that
//             only one of them knows has its default. A field that the program sets and that the library does not know
//             is unsupported, and so is a field `reserved` that is not 0. A struct_size below 8 is invalid_argument.
// Options:    zero is the default of every field, unless its comment names another one behind a semicolon. For a struct
//             with such a field there is an _init function; also for the options of opening, choosing and loading.
// Reports:    JSON of a published schema "fatctx.NAME/1", which the comment names and docs/reports.md describes.
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

#include "fatctx/c/append.h"
#include "fatctx/c/base.h"
#include "fatctx/c/check.h"
#include "fatctx/c/device.h"
#include "fatctx/c/dlc.h"
#include "fatctx/c/error.h"
#include "fatctx/c/fetch.h"
#include "fatctx/c/load.h"
#include "fatctx/c/memory.h"
#include "fatctx/c/model.h"
#include "fatctx/c/observe.h"
#include "fatctx/c/open.h"
#include "fatctx/c/pack.h"
#include "fatctx/c/record.h"
#include "fatctx/c/records.h"
#include "fatctx/c/report.h"
#include "fatctx/c/rewrite.h"
#include "fatctx/c/seams.h"
#include "fatctx/c/view.h"
