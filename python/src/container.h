// Binds opening, and the keywords of its options.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "fatctx/container.h"

namespace fatctx::python {

namespace nb = nanobind;

// The keywords as a signature lists them.
#define FATCTX_TRUST_KEYWORDS "trusted_keys: typing.Iterable[PublicKey] | None = None, minimum_generation: int = 0"
#define FATCTX_OPEN_KEYWORDS                                                                         \
  "verify: str = \"record_on_acquire\", require_local: bool = False, follow_symlinks: bool = True, " \
  "strict: bool = False, "                                                                           \
  "file_mapping: str = 'auto', max_copied_bytes: int = 0, "                                          \
  "cache_folder: str | os.PathLike | None = None, cache_limit_bytes: int = 0, generation: int = "    \
  "0, max_made_bytes: int = 0, " FATCTX_TRUST_KEYWORDS
// The same as a list, for the error about an unknown keyword.
#define FATCTX_OPEN_KEYWORD_LIST                                                                                      \
  "verify, require_local, follow_symlinks, strict, file_mapping, max_copied_bytes, cache_folder, cache_limit_bytes, " \
  "generation, max_made_bytes, trusted_keys, minimum_generation"

// Takes its keywords out of `keywords`. Raises InvalidArgument for an unknown word, TypeError for a wrong
// type.
[[nodiscard]] OpenOptions take_open_options(nb::dict& keywords);
// Takes `offset` and `size`, with the same errors.
[[nodiscard]] FileWindow take_window(nb::dict& keywords);
// Raises TypeError if a keyword is left over, naming the first of them and those that exist.
void refuse_unknown_keywords(const nb::dict& keywords, const char* allowed);

// Opens a path, or a descriptor if `file` is an int; the descriptor stays the caller's.
[[nodiscard]] Container open_container(nb::handle file, const OpenOptions& options);

// Converts the findings of a check to a list of exceptions that were not raised.
[[nodiscard]] nb::list findings_list(const std::vector<VerifyFinding>& found);

void bind_container(nb::module_& module);

}  // namespace fatctx::python
