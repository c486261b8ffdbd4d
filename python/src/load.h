// Binds load_context(), the one call that loads any file.
#pragma once

#include <nanobind/nanobind.h>

#include "container.h"
#include "fatctx/load.h"
#include "model.h"
#include "select.h"
#include "source.h"

namespace fatctx::python {

// The keywords as a signature, and an error about an unknown one, list them.
#define FATCTX_LOAD_KEYWORDS                                                                                          \
  FATCTX_SOURCE_KEYWORDS                                                                                              \
  ", prefetch: bool = False, notify: typing.Callable[[LoadEvent], object] | None = None, "                            \
  "progress: typing.Callable[[int, int], object] | None = None, on_damage: str = \"fail\", " FATCTX_OPEN_KEYWORDS_AS( \
      FATCTX_OPEN_STRICT) ", " FATCTX_POLICY_KEYWORDS

// A request for a load. The Python functions are separate from the options, because the caller decides on
// which thread and for how long they may be called.
struct LoadRequest {
  Source source;
  LoadOptions options;
  nb::object notify = nb::none();
  nb::object progress = nb::none();
};

// `file`: str and os.PathLike are a path, an int is a descriptor, everything else a buffer, which the request holds.
// Raises TypeError, InvalidArgument, BufferError.
[[nodiscard]] LoadRequest load_request(nb::handle file, nb::handle device, const nb::kwargs& given_keywords);

void bind_load(nb::module_& module);
void bind_load_list(nb::module_& module);

}  // namespace fatctx::python
