#include "fatctx/diff.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>

#include "container.h"
#include "diff.h"
#include "errors.h"
#include "progress.h"
#include "records.h"

namespace fatctx::python {
namespace {

nb::str word(std::string_view text) { return nb::str(text.data(), text.size()); }

void bind_diff_rows(nb::module_& module) {
  nb::class_<DiffedRecord>(module, "DiffedRecord", "A record as one of the containers has it.")
      .def_ro("id", &DiffedRecord::id, "0 if it does not exist.")
      .def_ro("name", &DiffedRecord::name)
      .def_ro("target", &DiffedRecord::target)
      .def_ro("size_bytes", &DiffedRecord::size_bytes)
      .def_prop_ro("hash", [](const DiffedRecord& self) { return to_hex(self.hash.bytes); })
      .def_ro("weights", &DiffedRecord::weights, "Names of the weight blobs it refers to.");
  nb::class_<DiffedTensor>(module, "DiffedTensor", "A tensor of a weight blob that is in both containers.")
      .def_prop_ro(
          "change", [](const DiffedTensor& self) { return word(change_name(self.change)); },
          nb::sig("def change(self) -> str"), "\"added\", \"removed\" or \"changed\".")
      .def_ro("name", &DiffedTensor::name)
      .def_ro("type_before", &DiffedTensor::type_before, "\"float32[100,50]\"; empty if it does not exist.")
      .def_ro("type_after", &DiffedTensor::type_after)
      .def_ro("size_before", &DiffedTensor::size_before)
      .def_ro("size_after", &DiffedTensor::size_after);
  nb::class_<RecordDifference>(module, "RecordDifference", "A record that differs.")
      .def_prop_ro(
          "change", [](const RecordDifference& self) { return word(change_name(self.change)); },
          nb::sig("def change(self) -> str"),
          "\"added\", \"removed\", \"changed\", \"retargeted\", \"renamed\" or \"rebound\".")
      .def_prop_ro(
          "type", [](const RecordDifference& self) { return word(record_type_name(self.type)); },
          nb::sig("def type(self) -> str"))
      .def_ro("before", &RecordDifference::before)
      .def_ro("after", &RecordDifference::after)
      .def_ro("tensors", &RecordDifference::tensors, "Tensors that differ, for a changed weight blob.")
      .def_ro("same_tensors", &RecordDifference::same_tensors, "Number of equal tensors.")
      .def("__repr__", [](const RecordDifference& self) {
        return fmt::format("<fatctx.RecordDifference {} {}>", change_name(self.change),
                           self.after.id == 0 ? self.before.name : self.after.name);
      });
  nb::class_<DescriptionDifference>(module, "DescriptionDifference", "A fact of the descriptions that differs.")
      .def_ro("what", &DescriptionDifference::what)
      .def_ro("before", &DescriptionDifference::before, "Empty if it does not exist.")
      .def_ro("after", &DescriptionDifference::after);
  nb::class_<DiffedContainer>(module, "DiffedContainer", "Facts of one of the containers.")
      .def_prop_ro(
          "path", [](const DiffedContainer& self) { return text_for_people(self.path); },
          nb::sig("def path(self) -> str"))
      .def_ro("uuid", &DiffedContainer::uuid)
      .def_ro("writer", &DiffedContainer::writer)
      .def_ro("generation", &DiffedContainer::generation)
      .def_ro("sealed", &DiffedContainer::sealed)
      .def_ro("file_size", &DiffedContainer::file_size)
      .def_ro("record_count", &DiffedContainer::record_count)
      .def_ro("record_bytes", &DiffedContainer::record_bytes, "Logical.")
      .def_ro("record_bytes_in_both", &DiffedContainer::record_bytes_in_both, "Bytes of records of equal content.")
      .def_ro("stored_bytes", &DiffedContainer::stored_bytes)
      .def_ro("stored_bytes_in_both", &DiffedContainer::stored_bytes_in_both,
              "Bytes in leaves of 64 KiB that both store.");
}

}  // namespace

void bind_diff(nb::module_& module) {
  bind_diff_rows(module);
  nb::class_<DiffReport>(module, "DiffReport", "Comparison of two containers. Immutable.")
      .def_ro("before", &DiffReport::before)
      .def_ro("after", &DiffReport::after)
      .def_ro("records", &DiffReport::records, "Records that differ; removed ones first.")
      .def_ro("same_records", &DiffReport::same_records, "Number of equal records.")
      .def_ro("description", &DiffReport::description)
      .def_ro("read_bytes", &DiffReport::read_bytes, "Bytes read from both files for the comparison.")
      .def_prop_ro("same", &DiffReport::same, "Records and descriptions are the same.")
      .def(
          "to_json", [](const DiffReport& self) { return to_json(self); }, "Schema \"fatctx.diff/1\".")
      .def("__repr__", [](const DiffReport& self) {
        return fmt::format("<fatctx.DiffReport {} records the same, {} differ>", self.same_records,
                           self.records.size());
      });
  module.def(
      "diff",
      [](nb::handle before, nb::handle after, nb::object progress) {
        const auto opened = [](nb::handle given) {
          return nb::isinstance<Container>(given) ? nb::cast<Container>(given) : open_container(given, {});
        };
        const Container first = opened(before);
        const Container second = opened(after);
        ProgressCall call(std::move(progress));
        const Progress callback = call.callback();
        return call.run([&] { return diff(first, second, callback); });
      },
      nb::arg("before"), nb::arg("after"), nb::kw_only(), nb::arg("progress") = nb::none(),
      nb::sig("def diff(before: Container | str | bytes | os.PathLike, after: Container | str | bytes | os.PathLike, "
              "*, progress: typing.Callable[[int, int], object] | None = None) -> DiffReport"),
      "Compares two containers, opened ones or files: records, targets, tensors of changed blobs, descriptions.\n\n"
      "Reads metadata, and payload only of weight blobs that changed and have a tensor table in both.\n"
      "progress: progress(done_bytes, total_bytes) of that payload; what it raises stops the work and is raised.\n"
      "Raises what open() raises, ChecksumMismatch, Malformed, Codec, Changed, Truncated, Io.");
}

}  // namespace fatctx::python
