// Binds opening, and the keywords of its options.
#pragma once

#include <nanobind/nanobind.h>

#include <vector>

#include "fatctx/container.h"

namespace fatctx::python {

namespace nb = nanobind;

// The keywords as a signature lists them.
#define FATCTX_TRUST_KEYWORDS "trusted_keys: typing.Iterable[PublicKey] | None = None, minimum_generation: int = 0"
#define FATCTX_OPEN_KEYWORDS_AS(strict)                                                                     \
  "verify: str = \"record_on_acquire\", require_local: bool = False, follow_symlinks: bool = True, " strict \
  ": bool = False, "                                                                                        \
  "file_mapping: str = 'auto', max_copied_bytes: int = 0, "                                                 \
  "cache_folder: str | os.PathLike | None = None, cache_limit_bytes: int = 0, generation: int = "           \
  "0, max_made_bytes: int = 0, " FATCTX_TRUST_KEYWORDS
#define FATCTX_OPEN_KEYWORDS FATCTX_OPEN_KEYWORDS_AS("strict")
// The same as a list, for the error about an unknown keyword.
#define FATCTX_OPEN_KEYWORD_LIST_AS(strict)                             \
  "verify, require_local, follow_symlinks, " strict                     \
  ", file_mapping, max_copied_bytes, cache_folder, cache_limit_bytes, " \
  "generation, max_made_bytes, trusted_keys, minimum_generation"
#define FATCTX_OPEN_KEYWORD_LIST FATCTX_OPEN_KEYWORD_LIST_AS("strict")
// A call that also selects has a `strict` of its selection policy, so there OpenOptions::strict has this name.
#define FATCTX_OPEN_STRICT "strict_table"

// Takes its keywords out of `keywords`. Raises InvalidArgument for an unknown word, TypeError for a wrong
// type.
[[nodiscard]] OpenOptions take_open_options(nb::dict& keywords, const char* strict = "strict");
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
