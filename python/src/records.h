// Binds the nouns of a container: text instead of C++ enumerations and views, and objects that keep alive the
// objects that they borrow from.
#pragma once

#include <nanobind/nanobind.h>
// Casts of these types work only where their headers come before, so that all files have them.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

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
// Raises InvalidArgument: `word` is not among `allowed`.
[[noreturn]] void refuse_word(std::string_view what, std::string_view word,
                              const std::vector<std::string_view>& allowed);
// Returns the words of an enumeration, in the order of its values, out of the function that names them.
template <typename Enum>
[[nodiscard]] std::vector<std::string_view> words_of(std::string_view (*name)(Enum) noexcept) {
  constexpr int kMost = 64;  // more than any enumeration has
  std::vector<std::string_view> words;
  for (int value = 0; value < kMost; ++value) {
    if (const std::string_view word = name(static_cast<Enum>(value)); word != "unknown") words.push_back(word);
  }
  return words;
}
// Returns the value of a word. Raises InvalidArgument, with the words that `name` has instead.
template <typename Enum>
[[nodiscard]] Enum known_word(std::optional<Enum> value, std::string_view what, std::string_view word,
                              std::string_view (*name)(Enum) noexcept) {
  if (!value) refuse_word(what, word, words_of(name));
  return *value;
}
// Returns None for an unknown version.
[[nodiscard]] nb::object version_or_none(const Version& version);
// Parses a version; "" is the unknown one. Raises InvalidArgument.
[[nodiscard]] Version version_from(const std::string& text);

// Converts between an `os.PathLike` or `str` and the bytes that the system uses.
[[nodiscard]] std::string path_from(nb::handle path);
[[nodiscard]] std::vector<std::string> paths_from(const nb::iterable& paths);
[[nodiscard]] nb::object path_to_str(const std::string& path);
// Returns a str as UTF-8. Requires: `text` is a str. Raises UnicodeEncodeError for a lone surrogate, as open() does for
// a path.
[[nodiscard]] std::string text_from(nb::handle text);

// Finds a record by id or name. Raises NotFound; TypeError for anything that is neither.
[[nodiscard]] RecordInfo find_record(const Container& container, nb::handle id_or_name);

void bind_records(nb::module_& module);

}  // namespace fatctx::python
