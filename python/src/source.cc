#include "source.h"

#include <memory>
#include <string>
#include <utility>

#include "errors.h"
#include "held_buffer.h"
#include "keywords.h"
#include "records.h"

namespace fatctx::python {

Source source_from(nb::handle file, const FileWindow& window) {
  const bool descriptor = PyLong_Check(file.ptr()) != 0 && PyBool_Check(file.ptr()) == 0;
  if (!descriptor && window != FileWindow{}) {
    throw nb::type_error("offset and size go with a descriptor: open the file and hand in its number");
  }
  if (descriptor) return Source::of_descriptor(nb::cast<int>(file), window);
  if (nb::isinstance<nb::str>(file) || nb::hasattr(file, "__fspath__")) return {path_from(file)};
  auto held = std::make_shared<const HeldBuffer>(file);
  const ByteView bytes = held->bytes();
  return Source::of_memory(bytes, std::move(held));
}

void take_source_options(nb::dict& keywords, ModelOptions& options) {
  const auto word = take_keyword<std::string>(keywords, "raw_binaries",
                                              std::string(raw_binaries_name(options.raw_binaries)), "a str");
  options.raw_binaries = known_word(raw_binaries_from_name(word), "raw_binaries", word, &raw_binaries_name);
  options.signal = take_keyword(keywords, "signal", options.signal, "a fatctx.LoadSignal or None");
}

}  // namespace fatctx::python
