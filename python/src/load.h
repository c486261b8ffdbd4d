// Binds load_context(), the one call that loads any file.
#pragma once

#include <nanobind/nanobind.h>

#include "container.h"
#include "fatctx/load.h"
#include "select.h"

namespace fatctx::python {

// The keywords as a signature, and an error about an unknown one, list them.
#define FATCTX_LOAD_KEYWORDS                                                                                      \
  "offset: int = 0, size: int = 0, raw_binaries: str = \"known\", prefetch: bool = False, "                       \
  "signal: LoadSignal | None = None, notify: typing.Callable[[LoadEvent], object] | None = None, "                \
  "progress: typing.Callable[[int, int], object] | None = None, on_damage: str = \"fail\", " FATCTX_OPEN_KEYWORDS \
  ", " FATCTX_POLICY_KEYWORDS

// A request for a load. The Python functions are separate from the options, because the caller decides on
// which thread and for how long they may be called.
struct LoadRequest {
  LoadSource source;
  LoadOptions options;
  nb::object notify = nb::none();
  nb::object progress = nb::none();
};

// A loaded context with the policy, which explains its model's selection.
struct BoundLoadedContext {
  LoadedContext context;
  SelectPolicy policy;
};

// Makes a request. `file` is a path if it is a str or os.PathLike, a descriptor if it is an int. Everything
// else is a buffer, which the request holds. Raises TypeError, InvalidArgument, BufferError.
[[nodiscard]] LoadRequest load_request(nb::handle file, nb::handle device, const nb::kwargs& given_keywords);

void bind_load(nb::module_& module);
void bind_load_list(nb::module_& module);

}  // namespace fatctx::python
