#include "import_tensors.h"

#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>

#include "errors.h"
#include "fatctx/import_gguf.h"
#include "fatctx/import_irpa.h"
#include "fatctx/import_safetensors.h"
#include "records.h"

namespace fatctx::python {
namespace {

// Binds one import function. It returns the tensors, and the facts that a PackTensor cannot express.
template <typename Import>
void bind_tensors_from(nb::module_& module, const char* name, Import import, const char* signature, const char* doc) {
  module.def(
      name,
      [import](nb::handle path) {
        const std::string text = path_from(path);
        ImportedTensors imported = take(without_gil([&] { return import(text); }));
        return std::pair(std::move(imported.tensors), std::move(imported.options));
      },
      nb::arg("path"), nb::sig(signature), doc);
}

template <typename Import>
void bind_weights_from(nb::module_& module, const char* name, Import import, const char* signature, const char* doc) {
  module.def(
      name,
      [import](nb::handle path, const std::string& record_name) {
        const std::string text = path_from(path);
        return take(without_gil([&] { return import(text, record_name); }));
      },
      nb::arg("path"), nb::arg("name"), nb::sig(signature), doc);
}

}  // namespace

void bind_import_tensors(nb::module_& module) {
  module.def(
      "tensors_from_irpa",
      [](nb::handle path) {
        const std::string text = path_from(path);
        return take(without_gil([&] { return tensors_from_irpa(text); })).tensors;
      },
      nb::arg("path"), nb::sig("def tensors_from_irpa(path: str | os.PathLike) -> list[PackTensor]"),
      "The tensors of an IREE parameter archive, for PackRecord. The archive knows sizes only: every tensor is\n"
      "uint8 of shape [size]; set dtype and shape where you know better.\n\n"
      "Raises FileNotFound, Io, Truncated, BadMagic, Unsupported, Malformed, LimitExceeded.");
  bind_tensors_from(
      module, "tensors_from_safetensors", &tensors_from_safetensors,
      "def tensors_from_safetensors(path: str | os.PathLike) -> tuple[list[PackTensor], list[DescribedOption]]",
      "The tensors of a safetensors file, and options for PackRecord that say what those are which a tensor\n"
      "table cannot describe (8-bit floats, more than 8 dimensions): they are uint8 of shape [size].\n\n"
      "Raises FileNotFound, Io, Truncated, Unsupported, Malformed, TrailingData, LimitExceeded.");
  bind_tensors_from(
      module, "tensors_from_gguf", &tensors_from_gguf,
      "def tensors_from_gguf(path: str | os.PathLike) -> tuple[list[PackTensor], list[DescribedOption]]",
      "The tensors of a GGUF file, and options for PackRecord that say what those are which a tensor table\n"
      "cannot describe (block-quantised ones): they are uint8 of shape [size].\n\n"
      "Raises FileNotFound, Io, Truncated, BadMagic, Unsupported, Malformed, TrailingData, LimitExceeded.");
  bind_weights_from(module, "weights_from_safetensors", &weights_from_safetensors,
                    "def weights_from_safetensors(path: str | os.PathLike, name: str) -> PackRecord",
                    "A safetensors file as it is as a weight blob: its tensors, its format, and the options of\n"
                    "tensors_from_safetensors(), which also lists the exceptions.");
  bind_weights_from(module, "weights_from_gguf", &weights_from_gguf,
                    "def weights_from_gguf(path: str | os.PathLike, name: str) -> PackRecord",
                    "A GGUF file as it is as a weight blob: its tensors, its format, and the options of\n"
                    "tensors_from_gguf(), which also lists the exceptions.");
}

}  // namespace fatctx::python
