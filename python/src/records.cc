#include "records.h"

#include <fmt/format.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "errors.h"
#include "fatctx/description.h"

namespace fatctx::python {
namespace {

std::vector<std::string> split_features(std::string_view list) {
  std::vector<std::string> features;
  while (!list.empty()) {
    const auto comma = list.find(',');
    features.emplace_back(list.substr(0, comma));
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
  }
  return features;
}

void bind_key(nb::module_& module) {
  nb::class_<BoundKey>(module, "SelectionKey",
                       "Key of a record: what it was built for. Empty text, 0 and None mean \"not stated\".\n\n"
                       "Immutable; keeps the container's mapping alive. Usable from any thread.")
      .def_prop_ro(
          "type", [](const BoundKey& self) { return to_str(record_type_name(self.key.type)); }, "Record type.")
      .def_prop_ro(
          "group", [](const BoundKey& self) { return to_str(self.key.group); },
          "Graphs that belong together and share weights.")
      .def_prop_ro(
          "unit", [](const BoundKey& self) { return to_str(self.key.unit); }, "The graph set that one binary holds.")
      .def_prop_ro(
          "backend", [](const BoundKey& self) { return to_str(self.key.backend); }, "\"cpu\", \"htp\", ...")
      .def_prop_ro(
          "qnn_soc", [](const BoundKey& self) { return self.key.qnn_soc; }, "Vendor number of the SoC.")
      .def_prop_ro(
          "part", [](const BoundKey& self) { return to_str(self.key.part); }, "Part name of the SoC.")
      .def_prop_ro(
          "arch", [](const BoundKey& self) { return to_str(self.key.arch); },
          "\"x86-64-v3\", \"aarch64\", \"v75\", ...")
      .def_prop_ro(
          "features", [](const BoundKey& self) { return split_features(self.key.features); },
          "Features the record requires, sorted.")
      .def_prop_ro(
          "vtcm_mb", [](const BoundKey& self) { return self.key.vtcm_mb; }, "VTCM in MB.")
      .def_prop_ro(
          "sdk", [](const BoundKey& self) { return version_or_none(self.key.sdk); },
          nb::sig("def sdk(self) -> str | None"), "SDK version it was built with.")
      .def_prop_ro(
          "variant", [](const BoundKey& self) { return to_str(self.key.variant); },
          "Tells records apart that are equal in everything else.")
      .def_prop_ro(
          "api", [](const BoundKey& self) { return version_or_none(self.key.api); },
          nb::sig("def api(self) -> str | None"), "API version it needs.")
      .def_prop_ro(
          "blob", [](const BoundKey& self) { return version_or_none(self.key.blob); },
          nb::sig("def blob(self) -> str | None"), "Version of the payload's own format.")
      .def_prop_ro(
          "generic", [](const BoundKey& self) { return self.key.generic; },
          "True if it fits every device of its backend, as a fallback.")
      .def_prop_ro(
          "target", [](const BoundKey& self) { return target_text(self.key); },
          "The target part for people: \"cpu x86-64-v3\".")
      .def("__repr__", [](const BoundKey& self) {
        return fmt::format("<fatctx.SelectionKey {} group {} unit {} {}>", record_type_name(self.key.type),
                           quoted(self.key.group), quoted(self.key.unit), target_text(self.key));
      });
}

void bind_record(nb::module_& module) {
  nb::class_<BoundRecord>(module, "Record",
                          "The facts of one record, from the table of contents; never its bytes.\n\n"
                          "Immutable; keeps the container's mapping alive. Usable from any thread.")
      .def_prop_ro(
          "id", [](const BoundRecord& self) { return self.info.id; }, "Number in this container.")
      .def_prop_ro(
          "name", [](const BoundRecord& self) { return to_str(self.info.name); }, "Unique name.")
      .def_prop_ro(
          "type", [](const BoundRecord& self) { return to_str(record_type_name(self.info.type)); },
          "\"context_binary\", \"weight_blob\", \"tensor_table\", \"source_model\", \"wrapper_model\", "
          "\"description\", \"opaque\", or \"unknown\".")
      .def_prop_ro(
          "size_bytes", [](const BoundRecord& self) { return self.info.size_bytes; }, "Logical size in bytes.")
      .def_prop_ro(
          "stored_bytes", [](const BoundRecord& self) { return self.info.stored_bytes; },
          "Bytes of its slices in the file; equal records count the same bytes.")
      .def_prop_ro(
          "file_offset", [](const BoundRecord& self) { return self.info.file_offset; },
          "Byte of the container at which its first slice starts; 0 for an empty record.")
      .def_prop_ro(
          "slice_count", [](const BoundRecord& self) { return self.info.slice_count; }, "Number of slices.")
      .def_prop_ro(
          "supported", [](const BoundRecord& self) { return self.info.supported; },
          "False if this version lists the record but cannot hand it out.")
      .def_prop_ro(
          "codec", [](const BoundRecord& self) { return to_str(codec_name(self.info.codec)); },
          "\"none\", or \"lz4\": the record has no view, Container.read(), stream() and extract() give its bytes.")
      .def_prop_ro(
          "recipe", [](const BoundRecord& self) { return self.info.recipe; },
          "True if its slices are a program and what it copies from: its bytes are made when they are asked for.")
      .def_prop_ro(
          "ignorable", [](const BoundRecord& self) { return self.info.ignorable; },
          "True if a reader that does not know the type may skip it.")
      .def_prop_ro(
          "must_map", [](const BoundRecord& self) { return self.info.must_map; },
          "True if the record may only be used mapped.")
      .def_prop_ro(
          "hash", [](const BoundRecord& self) { return to_hex(self.info.hash.bytes); },
          "XXH3-128 of the logical bytes, hexadecimal. Protects against accidents, not against authors.")
      .def_prop_ro(
          "key",
          [](const BoundRecord& self) {
            return BoundKey{self.container, self.info.key};
          },
          "Key of the record: what it was built for.")
      .def_prop_ro(
          "weights",
          [](const BoundRecord& self) {
            return std::vector<std::uint32_t>(self.info.weights.begin(), self.info.weights.end());
          },
          "Ids of the weight blobs it refers to.")
      .def("__repr__", [](const BoundRecord& self) {
        const bool has_target = self.info.type == RecordType::kContextBinary;
        const std::string target = has_target ? target_text(self.info.key) : std::string{};
        return fmt::format("<fatctx.Record {} {} {}{}{}, {} bytes>", self.info.id, quoted(self.info.name),
                           record_type_name(self.info.type), target.empty() ? "" : " for ", target,
                           self.info.size_bytes);
      });
}

void bind_descriptions(nb::module_& module) {
  nb::class_<DescribedOption>(module, "DescribedOption", "A named setting of a container or record.")
      .def(
          "__init__",
          [](DescribedOption* self, std::string key, std::string value, std::string owner) {
            new (self) DescribedOption{std::move(key), std::move(value), std::move(owner)};
          },
          nb::arg("key"), nb::arg("value"), nb::arg("owner") = "")
      .def_ro("key", &DescribedOption::key)
      .def_ro("value", &DescribedOption::value)
      .def_ro("owner", &DescribedOption::owner, "Execution provider or tool it belongs to; may be empty.")
      .def("__repr__", [](const DescribedOption& self) {
        return fmt::format("<fatctx.DescribedOption {}={}>", self.key, quoted(self.value));
      });
  nb::class_<DescribedTensor>(module, "DescribedTensor", "An input or output of a graph.")
      .def(
          "__init__",
          [](DescribedTensor* self, std::string name, std::string dtype, std::vector<std::int64_t> shape,
             const std::vector<std::pair<double, std::int64_t>>& scales, std::uint32_t axis) {
            new (self) DescribedTensor{std::move(name), std::move(dtype), std::move(shape)};
            for (const auto& [scale, offset] : scales) self->scales.push_back({scale, offset});
            self->axis = axis;
          },
          nb::arg("name"), nb::arg("dtype"), nb::arg("shape"),
          nb::arg("scales") = std::vector<std::pair<double, std::int64_t>>(), nb::arg("axis") = 0,
          nb::sig("def __init__(self, name: str, dtype: str, shape: typing.Sequence[int], "
                  "scales: typing.Sequence[tuple[float, int]] = (), axis: int = 0) -> None"))
      .def_ro("name", &DescribedTensor::name)
      .def_ro("dtype", &DescribedTensor::dtype)
      .def_ro("shape", &DescribedTensor::shape, "-1 for a dynamic dimension.")
      .def_prop_ro(
          "scales",
          [](const DescribedTensor& self) {
            std::vector<std::pair<double, std::int64_t>> pairs;
            for (const DescribedScale& one : self.scales) pairs.emplace_back(one.scale, one.offset);
            return pairs;
          },
          "Scale and offset: a stored number stands for scale * (number + offset). One pair is for the whole tensor, "
          "several are for the indexes along `axis`, none means that nothing is stated.")
      .def_ro("axis", &DescribedTensor::axis, "Dimension of `scales`, if they are several.")
      .def("__repr__", [](const DescribedTensor& self) {
        return fmt::format("<fatctx.DescribedTensor {} {} [{}]>", quoted(self.name), self.dtype,
                           fmt::join(self.shape, ", "));
      });
  nb::class_<DescribedGraph>(module, "DescribedGraph", "A graph inside a context binary.")
      .def(
          "__init__",
          [](DescribedGraph* self, std::string name, std::vector<DescribedTensor> inputs,
             std::vector<DescribedTensor> outputs, std::uint64_t spill_fill_bytes,
             std::vector<DescribedOption> options) {
            new (self) DescribedGraph{std::move(name), std::move(inputs), std::move(outputs), spill_fill_bytes,
                                      std::move(options)};
          },
          nb::arg("name"), nb::arg("inputs"), nb::arg("outputs"), nb::arg("spill_fill_bytes") = 0,
          nb::arg("options") = std::vector<DescribedOption>(),
          nb::sig("def __init__(self, name: str, inputs: typing.Sequence[DescribedTensor], "
                  "outputs: typing.Sequence[DescribedTensor], spill_fill_bytes: int = 0, "
                  "options: typing.Sequence[DescribedOption] = ()) -> None"))
      .def_ro("name", &DescribedGraph::name)
      .def_ro("inputs", &DescribedGraph::inputs)
      .def_ro("outputs", &DescribedGraph::outputs)
      .def_ro("spill_fill_bytes", &DescribedGraph::spill_fill_bytes,
              "Size of the buffer for data that does not fit into the NPU's fast memory; 0: not known.")
      .def_ro("options", &DescribedGraph::options, "Facts of the compiler, under its own names.")
      .def("__repr__", [](const DescribedGraph& self) {
        return fmt::format("<fatctx.DescribedGraph {}, {} inputs, {} outputs>", quoted(self.name), self.inputs.size(),
                           self.outputs.size());
      });
  nb::class_<EvidenceNote>(module, "EvidenceNote", "One measurement or observation of a record.")
      .def_ro("device", &EvidenceNote::device)
      .def_ro("tool", &EvidenceNote::tool, "Tool that measured, with its version; may be empty.")
      .def_ro("metric", &EvidenceNote::metric)
      .def_ro("value", &EvidenceNote::value)
      .def_ro("date", &EvidenceNote::date, "\"2026-11-22\".")
      .def("__repr__", [](const EvidenceNote& self) {
        return fmt::format("<fatctx.EvidenceNote {} {} on {}, {}>", quoted(self.metric), quoted(self.value),
                           quoted(self.device), self.date);
      });
  nb::class_<RecordDescription>(module, "RecordDescription", "Description of one record.")
      .def_ro("record_id", &RecordDescription::record_id)
      .def_ro("producer", &RecordDescription::producer, "Tool and version that made the payload.")
      .def_ro("format", &RecordDescription::format, "\"iree-vmfb\", \"irpa\", ...; empty if not known.")
      .def_ro("graphs", &RecordDescription::graphs)
      .def_ro("options", &RecordDescription::options)
      .def_ro("notes", &RecordDescription::notes, "Evidence, in the order in which it was noted.")
      .def("__repr__", [](const RecordDescription& self) {
        return fmt::format("<fatctx.RecordDescription of record {}: {}, {} graphs, {} options>", self.record_id,
                           self.format.empty() ? "format not known" : self.format, self.graphs.size(),
                           self.options.size());
      });
  nb::class_<ContainerDescription>(module, "ContainerDescription",
                                   "Description of a container for people and runtimes.")
      .def_ro("name", &ContainerDescription::name, "Name of the model.")
      .def_ro("writer", &ContainerDescription::writer, "Program that wrote the container.")
      .def_ro("options", &ContainerDescription::options)
      .def_ro("records", &ContainerDescription::records, "By ascending record id; silent records are left out.")
      .def("find", &ContainerDescription::find, nb::arg("record_id"), nb::rv_policy::reference_internal,
           "The RecordDescription of a record, or None. It keeps this object alive.")
      .def("__repr__", [](const ContainerDescription& self) {
        return fmt::format("<fatctx.ContainerDescription {} by {}, {} records described>", quoted(self.name),
                           self.writer, self.records.size());
      });
}

}  // namespace

nb::str to_str(std::string_view utf8) { return nb::str(utf8.data(), utf8.size()); }

std::string quoted(std::string_view text) { return nb::cast<std::string>(nb::repr(text_for_people(text))); }

void refuse_word(std::string_view what, std::string_view word, const std::vector<std::string_view>& allowed) {
  std::string list;
  for (std::size_t i = 0; i < allowed.size(); ++i) {
    list += fmt::format("{}'{}'", i == 0 ? "" : i + 1 == allowed.size() ? " and " : ", ", allowed[i]);
  }
  raise_error(
      Error{ErrorCode::kInvalidArgument, fmt::format("{} is {}; allowed are {}", what, quoted(word), list), {}});
}

nb::object version_or_none(const Version& version) {
  if (!version.known()) return nb::none();
  return to_str(to_text(version));
}

Version version_from(const std::string& text) { return text.empty() ? Version{} : take(parse_version(text)); }

std::string path_from(nb::handle path) {
  PyObject* encoded = nullptr;
  if (PyUnicode_FSConverter(path.ptr(), &encoded) == 0) throw nb::python_error();
  const nb::bytes bytes = nb::steal<nb::bytes>(encoded);
  return {bytes.c_str(), bytes.size()};
}

std::vector<std::string> paths_from(const nb::iterable& given) {
  std::vector<std::string> paths;
  for (const nb::handle one : given) paths.push_back(path_from(one));
  return paths;
}

nb::object path_to_str(const std::string& path) {
  PyObject* decoded = PyUnicode_DecodeFSDefaultAndSize(path.data(), static_cast<Py_ssize_t>(path.size()));
  if (decoded == nullptr) throw nb::python_error();
  return nb::steal(decoded);
}

std::string text_from(nb::handle text) {
  Py_ssize_t size = 0;
  const char* utf8 = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
  if (utf8 == nullptr) throw nb::python_error();
  return {utf8, static_cast<std::size_t>(size)};
}

RecordInfo find_record(const Container& container, nb::handle id_or_name) {
  if (nb::isinstance<nb::str>(id_or_name)) return take(container.find(text_from(id_or_name)));
  std::uint32_t id = 0;
  if (PyIndex_Check(id_or_name.ptr()) == 0) {
    throw nb::type_error("a record is named by its id (int) or its name (str)");
  }
  const auto number = nb::steal(PyNumber_Index(id_or_name.ptr()));
  if (!number.is_valid()) throw nb::python_error();
  if (!nb::try_cast(number, id)) {  // negative or beyond 32 bits: not found, like any unknown number
    const std::string text = nb::cast<std::string>(nb::str(number));
    raise_error(Error{ErrorCode::kNotFound, fmt::format("no record {}; ids are 0 to {}", text, UINT32_MAX), {}});
  }
  return take(container.record(id));
}

void bind_records(nb::module_& module) {
  bind_key(module);
  bind_record(module);
  bind_descriptions(module);
}

}  // namespace fatctx::python
