// Describes files of a known form that are not containers.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "fatctx/base/result.h"
#include "tools/inspect/filters.h"

namespace fatctx::tools {

// The views of a file that `info` shows; without any, it shows the file as a whole.
struct FileViews {
  bool graphs = false;
  bool ops = false;
  bool summary = false;
  bool json = false;
  bool csv = false;
  bool stats = false;
  std::size_t width = 0;               // of text; 0: any
  std::optional<std::string> tensors;  // a pattern of names
  ViewFilter filter;

  [[nodiscard]] bool any() const noexcept { return graphs || ops || summary || tensors.has_value(); }
};

// Returns the text that `fatctx info` prints for the file at `path`: the entries of a DLC, the metadata and tensors of
// a file of weights, the head of an ONNX model, or one line for an opaque file. Returns nothing if the form is not
// known, or the file cannot be read. Errors: those of the importers, for a file that begins as one of a known form and
// is damaged; invalid_argument, for a
//         view that this form does not have.
[[nodiscard]] Result<std::optional<std::string>> known_file_text(const std::string& path, const FileViews& views);

// Returns the form of a file by its first bytes or its name: "dlc", "onnx", "qnn-json", ...; empty if it is none of
// them.
[[nodiscard]] std::string known_form(const std::string& path);

// Returns the known forms: "DLC, IREE modules, ...".
[[nodiscard]] std::string known_forms();

}  // namespace fatctx::tools
