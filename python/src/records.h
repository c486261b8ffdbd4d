// Binds the nouns of a container: text instead of C++ enumerations and views, and objects that keep alive the
// objects that they borrow from.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <string_view>

#include "fatctx/container.h"
#include "fatctx/record.h"

namespace fatctx::python {

namespace nb = nanobind;

// A record's facts. The strings of `info` borrow from `container`.
struct BoundRecord {
  Container container;
  RecordInfo info;
};

struct BoundKey {
  Container container;
  SelectionKey key;
};

[[nodiscard]] nb::str to_str(std::string_view utf8);
// Returns text in Python's own quoting.
[[nodiscard]] std::string quoted(std::string_view text);
[[noreturn]] void refuse_word(std::string_view what, std::string_view word, std::string_view allowed);
// Returns the value of a word. Raises InvalidArgument, with the words that are `allowed` instead.
template <typename T>
[[nodiscard]] T known_word(std::optional<T> value, std::string_view what, std::string_view word,
                           std::string_view allowed) {
  if (!value) refuse_word(what, word, allowed);
  return *value;
}
// Returns None for an unknown version.
[[nodiscard]] nb::object version_or_none(const Version& version);
// Parses a version; "" is the unknown one. Raises InvalidArgument.
[[nodiscard]] Version version_from(const std::string& text);

// Converts between an `os.PathLike` or `str` and the bytes that the system uses.
[[nodiscard]] std::string path_from(nb::handle path);
[[nodiscard]] nb::object path_to_str(const std::string& path);
// Returns a str as UTF-8. Requires: `text` is a str. Raises UnicodeEncodeError for a lone surrogate, as open() does for
// a path.
[[nodiscard]] std::string text_from(nb::handle text);

// Finds a record by id or name. Raises NotFound; TypeError for anything that is neither.
[[nodiscard]] RecordInfo find_record(const Container& container, nb::handle id_or_name);

void bind_records(nb::module_& module);

}  // namespace fatctx::python
