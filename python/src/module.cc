// Defines the extension module `fatctx._core`, which binds the C++ library. Each subject has its own file in
// this folder.
#include <nanobind/nanobind.h>

#include "append.h"
#include "container.h"
#include "detect.h"
#include "diff.h"
#include "dlc.h"
#include "errors.h"
#include "facts.h"
#include "fatctx/layout.h"
#include "fatctx/version.h"
#include "fetch.h"
#include "import_tensors.h"
#include "load.h"
#include "memory.h"
#include "model.h"
#include "observe.h"
#include "pack.h"
#include "records.h"
#include "repair.h"
#include "rewrite.h"
#include "select.h"
#include "sharing.h"
#include "signature.h"
#include "update.h"
#include "views.h"

NB_MODULE(_core, module) {
  namespace nb = nanobind;
  module.doc() = "The C++ library behind fatctx; import fatctx instead.";
  const std::string_view format = fatctx::format_version();
  module.attr("__version__") = FATCTX_VERSION;
  module.attr("__format_version__") = nb::str(format.data(), format.size());
  fatctx::python::bind_errors(module);
  fatctx::python::bind_records(module);
  fatctx::python::bind_signature(module);
  fatctx::python::bind_views(module);
  fatctx::python::bind_soc_table(module);
  fatctx::python::bind_select(module);
  fatctx::python::bind_memory(module);
  fatctx::python::bind_model(module);
  fatctx::python::bind_container(module);
  fatctx::python::bind_load(module);
  fatctx::python::bind_load_list(module);
  fatctx::python::bind_pack(module);
  fatctx::python::bind_append(module);
  fatctx::python::bind_fetch(module);
  fatctx::python::bind_update(module);
  fatctx::python::bind_rewrite(module);
  fatctx::python::bind_dlc(module);
  fatctx::python::bind_import_tensors(module);
  fatctx::python::bind_sharing(module);
  fatctx::python::bind_repair(module);
  fatctx::python::bind_diff(module);
  fatctx::python::bind_facts(module);
  fatctx::python::bind_detect(module);
  fatctx::python::bind_observe(module);
}
