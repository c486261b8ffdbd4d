#include "select.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "container.h"
#include "errors.h"
#include "fatctx/device.h"
#include "keywords.h"
#include "records.h"

namespace fatctx::python {
namespace {

// A verdict with its texts.
struct BoundVerdict {
  std::variant<Container, Model> owner;  // `name` borrows from it
  std::string_view name;
  Verdict verdict;
  std::string reason;
};

std::optional<Version> optional_version(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  return version_from(*text);
}

std::optional<std::string> optional_text(const std::optional<Version>& version) {
  if (!version) return std::nullopt;
  return to_text(*version);
}

template <auto Field>
void def_version(nb::class_<Device>& cls, const char* name, const char* doc) {
  cls.def_prop_rw(
      name, [](const Device& self) { return optional_text(self.*Field); },
      [](Device& self, const std::optional<std::string>& text) { self.*Field = optional_version(text); },
      nb::arg("value").none(), doc);
}

std::string device_repr(const Device& device) {
  std::string text = "<fatctx.Device " + device.backend;
  if (device.part) text += fmt::format(" part {}", *device.part);
  if (device.qnn_soc) text += fmt::format(" soc {}", *device.qnn_soc);
  text += device.arch ? " " + *device.arch : " arch unknown";
  if (!device.features.empty()) text += fmt::format(" +{}", fmt::join(device.features, "+"));
  if (device.vtcm_mb) text += fmt::format(" vtcm {} MB", *device.vtcm_mb);
  if (device.sdk) text += fmt::format(" sdk {}", to_text(*device.sdk));
  return text + ">";
}

void bind_device(nb::module_& module) {
  nb::class_<Device> device(module, "Device",
                            "Description of a machine. None means \"unknown\", which is never the same as zero.\n\n"
                            "Made by detect_device(), by Device.from_text(\"x86-64-v3\"), from JSON, or by keywords.\n"
                            "Threads: do not change an object that another thread uses.");
  device
      .def(
          "__init__",
          [](Device* self, std::string backend, std::optional<std::string> part, std::optional<std::uint32_t> qnn_soc,
             std::optional<std::string> arch, std::vector<std::string> features, std::optional<std::uint32_t> vtcm_mb,
             const std::optional<std::string>& sdk, const std::optional<std::string>& api,
             const std::optional<std::string>& blob) {
            std::ranges::sort(features);
            const auto repeated = std::ranges::unique(features);
            features.erase(repeated.begin(), repeated.end());
            new (self) Device{.backend = std::move(backend),
                              .part = std::move(part),
                              .qnn_soc = qnn_soc,
                              .arch = std::move(arch),
                              .features = std::move(features),
                              .vtcm_mb = vtcm_mb,
                              .sdk = optional_version(sdk),
                              .api = optional_version(api),
                              .blob = optional_version(blob)};
          },
          nb::kw_only(), nb::arg("backend") = "cpu", nb::arg("part") = nb::none(), nb::arg("qnn_soc") = nb::none(),
          nb::arg("arch") = nb::none(), nb::arg("features") = std::vector<std::string>{},
          nb::arg("vtcm_mb") = nb::none(), nb::arg("sdk") = nb::none(), nb::arg("api") = nb::none(),
          nb::arg("blob") = nb::none())
      .def_rw("backend", &Device::backend, "\"cpu\", \"htp\", ...")
      .def_rw("part", &Device::part, nb::arg("value").none(), "Normalised part name.")
      .def_rw("qnn_soc", &Device::qnn_soc, nb::arg("value").none(), "Vendor number.")
      .def_rw("arch", &Device::arch, nb::arg("value").none(),
              "CPU: the highest level (\"x86-64-v4\") or \"aarch64\"; Hexagon: \"v75\".")
      .def_rw("features", &Device::features, "Sorted, unique.")
      .def_rw("vtcm_mb", &Device::vtcm_mb, nb::arg("value").none(), "MB.");
  def_version<&Device::sdk>(device, "sdk", "Version as text.");
  def_version<&Device::api>(device, "api", "Version as text.");
  def_version<&Device::blob>(device, "blob", "Version as text.");
  device
      .def_static(
          "from_text",
          [](const std::string& text, const std::optional<SocTable>& soc_table) {
            return take(device_from_text(text, soc_table ? *soc_table : SocTable::built_in()));
          },
          nb::arg("text"), nb::arg("soc_table") = nb::none(),
          "Reads \"x86-64-v3\", \"aarch64+dotprod+i8mm\", \"cpu:aarch64\", \"v75\", and a SoC of the table (None: the\n"
          "built-in one): \"SM8750\", its QNN number \"69\", its kernel number \"kernel:639\". Raises InvalidArgument.")
      .def_static(
          "from_json", [](const std::string& json) { return take(device_from_json(json)); }, nb::arg("json"),
          "Reads schema fatctx.device/1. Raises InvalidArgument with the JSON pointer.")
      .def("to_json", &device_to_json, "Schema fatctx.device/1.")
      .def("__repr__", &device_repr);
}

void bind_selection(nb::module_& module) {
  nb::class_<BoundVerdict>(module, "Verdict", "Judgement of the selection on one record, with the reason.")
      .def_prop_ro("record_id", [](const BoundVerdict& self) { return self.verdict.record_id; })
      .def_prop_ro(
          "name", [](const BoundVerdict& self) { return to_str(self.name); }, "Name of the record.")
      .def_prop_ro(
          "level", [](const BoundVerdict& self) { return to_str(level_name(self.verdict.level)); },
          "\"OPTIMAL\", \"PREFER_RECOMPILATION\", \"FALLBACK\" or \"UNSUPPORTED\".")
      .def_prop_ro(
          "tier", [](const BoundVerdict& self) { return self.verdict.tier; },
          "0 to 7 for a record that fits, -1 for one that does not.")
      .def_prop_ro(
          "axis", [](const BoundVerdict& self) { return to_str(axis_id(self.verdict.axis)); },
          "The axis that decided against it: \"A1\", \"C2\", ...")
      .def_prop_ro("chosen", [](const BoundVerdict& self) { return self.verdict.chosen; })
      .def_prop_ro(
          "reason", [](const BoundVerdict& self) { return text_for_people(self.reason); },
          nb::sig("def reason(self) -> str"), "One sentence with both values.")
      .def("__repr__", [](const BoundVerdict& self) {
        return fmt::format("<fatctx.Verdict {} {}{}: {}>", quoted(self.name), level_name(self.verdict.level),
                           self.verdict.chosen ? " chosen" : "", self.reason);
      });
  nb::class_<BoundSelection>(module, "Selection",
                             "The outcome of a selection. True in a condition if a record was chosen.\n\n"
                             "Immutable; keeps the container's mapping alive. Usable from any thread.")
      .def_prop_ro(
          "verdicts",
          [](const BoundSelection& self) {
            std::unordered_map<std::uint32_t, const Candidate*> by_id;
            for (const Candidate& candidate : self.candidates) by_id.emplace(candidate.record_id, &candidate);
            nb::list verdicts;
            for (const Verdict& verdict : self.selection.verdicts) {
              const auto found = by_id.find(verdict.record_id);
              if (found == by_id.end()) continue;
              verdicts.append(BoundVerdict{self.owner, found->second->name, verdict,
                                           explain_verdict(verdict, *found->second, self.device, self.policy)});
            }
            return verdicts;
          },
          nb::sig("def verdicts(self) -> list[Verdict]"), "One per context binary and source model.")
      .def_prop_ro(
          "chosen", [](const BoundSelection& self) { return self.selection.chosen; },
          "Record ids, one per unit; empty if nothing matches.")
      .def_prop_ro(
          "level", [](const BoundSelection& self) { return to_str(level_name(self.selection.level)); },
          "The lowest level among the chosen.")
      .def_prop_ro("tier", [](const BoundSelection& self) { return self.selection.tier; })
      .def_prop_ro(
          "vendor_code", [](const BoundSelection& self) { return self.selection.vendor_code; },
          "Documented vendor code when nothing matches, else 0.")
      .def_prop_ro("warnings", [](const BoundSelection& self) { return self.selection.warnings; })
      .def_prop_ro(
          "damaged",
          [](const BoundSelection& self) {
            nb::list damaged;
            for (const DamagedRecord& record : self.selection.damaged) damaged.append(exception_of(record.error));
            return damaged;
          },
          nb::sig("def damaged(self) -> list[fatctx.errors.Error]"),
          "Records that would have been chosen but are damaged, in the order in which they were found: one exception "
          "object per\n"
          "record, not raised, with its record_id. Only with on_damage=\"next\".")
      .def_prop_ro(
          "group", [](const BoundSelection& self) { return self.selection.group; }, "The group that was looked at.")
      .def_prop_ro(
          "device", [](const BoundSelection& self) { return self.device; }, "The device it was made for.")
      .def(
          "explain",
          [](const BoundSelection& self) {
            return text_for_people(explain_text(self.selection, self.candidates, self.device, self.policy));
          },
          nb::sig("def explain(self) -> str"), "The whole story, several lines.")
      .def(
          "explain_json",
          [](const BoundSelection& self) {
            return explain_json(self.selection, self.candidates, self.device, self.policy);
          },
          "The whole story, schema fatctx.selection/1.")
      .def("__bool__", [](const BoundSelection& self) { return !self.selection.chosen.empty(); })
      .def("__repr__", [](const BoundSelection& self) {
        return fmt::format("<fatctx.Selection {} of group {}: records [{}] of {}>", level_name(self.selection.level),
                           quoted(self.selection.group), fmt::join(self.selection.chosen, ", "),
                           self.selection.verdicts.size());
      });
}

}  // namespace

SelectPolicy take_policy(nb::dict& keywords) {
  SelectPolicy policy;
  policy.group = take_keyword(keywords, "group", policy.group, "a str");
  policy.strict = take_keyword(keywords, "strict", policy.strict, "a bool");
  policy.allow_lower_arch = take_keyword(keywords, "allow_lower_arch", policy.allow_lower_arch, "a bool");
  policy.allow_generic = take_keyword(keywords, "allow_generic", policy.allow_generic, "a bool");
  policy.mix_targets = take_keyword(keywords, "mix_targets", policy.mix_targets, "a bool");
  policy.boundaries = take_keyword(keywords, "boundaries", policy.boundaries, "a sequence of ints or None");
  policy.record_override = take_keyword(keywords, "record_override", policy.record_override, "a str or None");
  policy.force = take_keyword(keywords, "force", policy.force, "a bool");
  policy.prepare_hook = take_keyword(keywords, "prepare_hook", policy.prepare_hook, "a bool");
  const auto max_sdk = take_keyword(keywords, "max_sdk", std::optional<std::string>(), "a str or None");
  if (max_sdk) policy.max_sdk = take(parse_version(*max_sdk));
  policy.soc_table = take_keyword(keywords, "soc_table", policy.soc_table, "a fatctx.SocTable or None");
  return policy;
}

std::optional<Device> device_from(nb::handle device) {
  if (device.is_none()) return std::nullopt;
  if (nb::isinstance<nb::str>(device)) return take(device_from_text(text_from(device)));
  if (nb::isinstance<Device>(device)) return nb::cast<Device>(device);
  throw nb::type_error("device: expected a fatctx.Device, a str such as \"x86-64-v3\", or None for this machine");
}

void bind_select(nb::module_& module) {
  bind_device(module);
  bind_selection(module);
  module.def(
      "select",
      [](const Container& container, nb::handle device, const nb::kwargs& policy_keywords) {
        nb::dict keywords = nb::cast<nb::dict>(policy_keywords.attr("copy")());
        SelectPolicy policy = take_policy(keywords);
        refuse_unknown_keywords(keywords, kPolicyKeywords);
        std::optional<Device> given = device_from(device);
        std::vector<Candidate> candidates = take(container.candidates());
        Device judged = given ? *std::move(given) : device_for(detect_device(), candidates);
        Selection selection = take(select(candidates, judged, policy));
        return BoundSelection{container, std::move(candidates), std::move(judged), std::move(policy),
                              std::move(selection)};
      },
      nb::arg("container"), nb::arg("device") = nb::none(), nb::arg("policy_keywords"),
      nb::sig("def select(container: Container, device: Device | str | None = None, *, " FATCTX_POLICY_KEYWORDS
              ") -> Selection"),
      "Judges every context binary for `device` (None: this machine); reads nothing.\n\n"
      "Nothing that matches is an answer, not an exception: the selection is then false, and every verdict says\n"
      "why. Raises InvalidArgument for an unknown or ambiguous group and an override that names no record.");
}

}  // namespace fatctx::python
