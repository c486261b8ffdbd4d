// How the nouns of a container look from Python: text where C++ has enumerations and views, objects that keep alive
// what they borrow from.
#pragma once

#include <nanobind/nanobind.h>

#include <optional>
#include <string>
#include <string_view>

#include "fatctx/container.h"
#include "fatctx/record.h"

namespace fatctx::python {

namespace nb = nanobind;

// A record's facts. The strings of `info` borrow from the container, which is why it is here.
struct BoundRecord {
  Container container;
  RecordInfo info;
};

struct BoundKey {
  Container container;
  SelectionKey key;
};

[[nodiscard]] nb::str to_str(std::string_view utf8);
// 'text' with Python's own quoting.
[[nodiscard]] std::string quoted(std::string_view text);
[[noreturn]] void refuse_word(std::string_view what, std::string_view word, std::string_view allowed);
// What a word stands for. Raises InvalidArgument, with the words that are `allowed` instead.
template <typename T>
[[nodiscard]] T known_word(std::optional<T> value, std::string_view what, std::string_view word,
                           std::string_view allowed) {
  if (!value) refuse_word(what, word, allowed);
  return *value;
}
// None for a version that is not known.
[[nodiscard]] nb::object version_or_none(const Version& version);
// "" is the unknown version. Raises InvalidArgument.
[[nodiscard]] Version version_from(const std::string& text);

// The bytes of an `os.PathLike` or `str`, as the system wants them.
[[nodiscard]] std::string path_from(nb::handle path);
[[nodiscard]] nb::object path_to_str(const std::string& path);
// Returns a str as UTF-8. Requires: `text` is a str. Raises UnicodeEncodeError for a lone surrogate, as open() does for
// a path.
[[nodiscard]] std::string text_from(nb::handle text);

// A record by id or name. Raises NotFound; TypeError for anything that is neither.
[[nodiscard]] RecordInfo find_record(const Container& container, nb::handle id_or_name);

void bind_records(nb::module_& module);

}  // namespace fatctx::python
