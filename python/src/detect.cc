#include "detect.h"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>

#include "container.h"
#include "errors.h"
#include "fatctx/device.h"
#include "fatctx/soc_table.h"
#include "keywords.h"
#include "records.h"

namespace fatctx::python {
namespace {

#define FATCTX_DETECT_KEYWORDS                                                           \
  "*, soc: str = \"\", arch: str = \"\", vtcm_mb: int | None = None, root: str = \"\", " \
  "soc_table: SocTable | None = None, environment: bool = False"

constexpr const char* kDetectKeywords = "soc, arch, vtcm_mb, root, soc_table, environment";

Detection detected(const nb::kwargs& given) {
  nb::dict keywords = nb::cast<nb::dict>(given.attr("copy")());
  DetectOptions options;
  options.soc = take_keyword(keywords, "soc", options.soc, "a str");
  options.arch = take_keyword(keywords, "arch", options.arch, "a str");
  options.vtcm_mb = take_keyword(keywords, "vtcm_mb", options.vtcm_mb, "an int or None");
  options.root = take_keyword(keywords, "root", options.root, "a str");
  options.soc_table = take_keyword(keywords, "soc_table", options.soc_table, "a fatctx.SocTable or None");
  options.environment = take_keyword(keywords, "environment", options.environment, "a bool");
  refuse_unknown_keywords(keywords, kDetectKeywords);
  return take(detect_device(options));
}

nb::object found_in(const SocTable& table, const std::string& name) {
  const NamedPart named = table.name_part(name);
  if (named.soc == nullptr) return nb::none();
  nb::dict row;
  row["part"] = named.part;
  row["rule"] = to_str(part_rule_name(named.rule));
  row["vendor"] = named.soc->vendor;
  row["name"] = named.soc->name;
  row["qnn_soc"] = named.soc->qnn_soc;
  row["arch"] = named.soc->arch.empty() ? nb::none() : nb::cast(named.soc->arch);
  row["vtcm_mb"] = named.soc->vtcm_mb;
  row["runtime"] = named.soc->runtime;
  return row;
}

}  // namespace

void bind_soc_table(nb::module_& module) {
  nb::class_<SocTable>(module, "SocTable", "Table of the known SoCs and their properties. Immutable.")
      .def_static("built_in", &SocTable::built_in, "The table that the package was built with.")
      .def_static(
          "read", [](nb::handle path) { return take(SocTable::read(path_from(path))); }, nb::arg("path"),
          nb::sig("def read(path: str | os.PathLike) -> SocTable"),
          "A table of your own, which adds to the built-in one or replaces it (docs/selection.md, section 10).\n\n"
          "Raises InvalidArgument with file, line and column; FileNotFound, Io, NotRegularFile, LimitExceeded.")
      .def_prop_ro("version", [](const SocTable& self) { return self.version(); })
      .def("find", &found_in, nb::arg("name"), nb::sig("def find(self, name: str) -> dict[str, typing.Any] | None"),
           "The row of a part, by any of its names, and the rule by which the name was understood; None if the table\n"
           "does not know it.")
      .def(
          "to_json", [](const SocTable& self, const std::string& search) { return to_json(self, search); },
          nb::arg("search") = "", "Rows with `search` in a name, the arch or a number, schema fatctx.socs/1.")
      .def("__repr__", [](const SocTable& self) {
        return fmt::format("<fatctx.SocTable {}: {} rows>", self.version(), self.socs().size());
      });
}

void bind_detect(nb::module_& module) {
  module.def(
      "detect_device", [](const nb::kwargs& keywords) { return detected(keywords).device; }, nb::arg("keywords"),
      nb::sig("def detect_device(" FATCTX_DETECT_KEYWORDS ") -> Device"),
      "Detects the processor of this machine. Without keywords it never fails: unknown fields are None. Not cached.\n\n"
      "`soc` (\"SM8750\", \"69\", \"kernel:639\", \"v79\") and `arch` replace the detected ones, `vtcm_mb` the "
      "detected\n"
      "VTCM; `root` is a folder with the files of another machine. With `environment`, FATCTX_SOC, "
      "FATCTX_ARCH,\n"
      "FATCTX_VTCM_MB and FATCTX_SOC_TABLE are used for keywords that are not given. Raises InvalidConfig.");
  module.def(
      "detect_npu", [](const nb::kwargs& keywords) { return detected(keywords).npu; }, nb::arg("keywords"),
      nb::sig("def detect_npu(" FATCTX_DETECT_KEYWORDS ") -> Device | None"),
      "Detects the NPU of this machine; None if no SoC is found. Keywords as for detect_device().");
  module.def(
      "detection_sources", [](const nb::kwargs& keywords) { return detected(keywords).sources; }, nb::arg("keywords"),
      nb::sig("def detection_sources(" FATCTX_DETECT_KEYWORDS ") -> list[DetectionSource]"),
      "The places that detect_device() looks at, and what it finds there now. Not cached.");
  module.def(
      "detection_json", [](const nb::kwargs& keywords) { return detection_to_json(detected(keywords)); },
      nb::arg("keywords"), nb::sig("def detection_json(" FATCTX_DETECT_KEYWORDS ") -> str"),
      "Devices, sources, origins of facts and warnings, schema fatctx.detection/1.");
}

}  // namespace fatctx::python
