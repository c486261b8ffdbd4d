// The argument `file` of a call that opens any kind of file, and the keywords about it.
#pragma once

#include <nanobind/nanobind.h>

#include "fatctx/model.h"
#include "fatctx/source.h"

namespace fatctx::python {

namespace nb = nanobind;

// The keywords as they appear in a signature, and in an error that lists them.
#define FATCTX_SOURCE_KEYWORDS \
  "offset: int = 0, size: int = 0, raw_binaries: str = \"known\", signal: LoadSignal | None = None"
inline constexpr const char* kSourceKeywords = "offset, size, raw_binaries, signal";

// Returns the source that `file` means: str and os.PathLike are a path, an int is a descriptor, everything else a
// buffer, which the source holds. Raises TypeError, BufferError.
[[nodiscard]] Source source_from(nb::handle file, const FileWindow& window);
// Takes `raw_binaries` and `signal` out of `keywords`. Raises TypeError, InvalidArgument.
void take_source_options(nb::dict& keywords, ModelOptions& options);

}  // namespace fatctx::python
