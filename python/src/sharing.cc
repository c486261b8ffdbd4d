#include "fatctx/sharing.h"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "errors.h"
#include "progress.h"
#include "records.h"
#include "sharing.h"

namespace fatctx::python {
namespace {

nb::dict page_totals(const SharingTotals& totals) {
  nb::dict pages;
  for (const PageTotal& total : totals.pages) pages[nb::int_(total.page_bytes)] = total.bytes;
  return pages;
}

void bind_sharing_rows(nb::module_& module) {
  nb::class_<SharedBytes>(module, "SharedBytes", "Another record, and the bytes of the file that are under both.")
      .def_ro("record_id", &SharedBytes::record_id)
      .def_ro("bytes", &SharedBytes::bytes)
      .def("__repr__", [](const SharedBytes& self) {
        return fmt::format("<fatctx.SharedBytes {} with record {}>", self.bytes, self.record_id);
      });
  nb::class_<RecordSharing>(
      module, "RecordSharing",
      "Bytes that one record shares with others. Its stored bytes are own_bytes + shared_bytes + repeated_bytes.")
      .def_ro("record_id", &RecordSharing::record_id)
      .def_ro("size_bytes", &RecordSharing::size_bytes, "Logical size.")
      .def_ro("own_bytes", &RecordSharing::own_bytes, "Bytes of the file that only this record uses.")
      .def_ro("shared_bytes", &RecordSharing::shared_bytes, "Bytes of the file that other records use too.")
      .def_ro("repeated_bytes", &RecordSharing::repeated_bytes, "Bytes of the file that the record uses again.")
      .def_ro("shared_with", &RecordSharing::shared_with, "Most bytes first; at most 16.")
      .def_ro("sharer_count", &RecordSharing::sharer_count, "All records that share bytes with it.")
      .def_ro("pieces", &RecordSharing::pieces, "Slices of the file.")
      .def_ro("composed_bytes", &RecordSharing::composed_bytes,
              "Memory that a view of a recipe takes on this machine, in whole pages; else 0.")
      .def_ro("layout_group", &RecordSharing::layout_group,
              "Index in SharingReport.layout_groups; None if nothing looked at the record.")
      .def("__repr__", [](const RecordSharing& self) {
        return fmt::format("<fatctx.RecordSharing of record {}: {} bytes, {} own, {} shared, {} repeated>",
                           self.record_id, self.size_bytes, self.own_bytes, self.shared_bytes, self.repeated_bytes);
      });
  nb::class_<SharingLayoutGroup>(module, "SharingLayoutGroup",
                                 "Records that are made of the same bytes, at whatever place in them.")
      .def_ro("records", &SharingLayoutGroup::records,
              "Ids: the base first, then in the order in which pages are looked for.")
      .def_ro("size_bytes", &SharingLayoutGroup::size_bytes, "Logical, of all of them.")
      .def_ro("stored_bytes", &SharingLayoutGroup::stored_bytes, "Bytes of the file that any of them uses.")
      .def_ro("distinct_bytes", &SharingLayoutGroup::distinct_bytes, "In content-defined chunks, each counted once.")
      .def("__repr__", [](const SharingLayoutGroup& self) {
        return fmt::format("<fatctx.SharingLayoutGroup of {} records: {} bytes, {} stored, {} distinct>",
                           self.records.size(), self.size_bytes, self.stored_bytes, self.distinct_bytes);
      });
  nb::class_<TargetSharing>(module, "TargetSharing", "Size of a container for one chip alone.")
      .def_ro("target", &TargetSharing::target, "\"htp SM8650 soc 57 v75\".")
      .def_ro("records", &TargetSharing::records, "Ids, ascending: its binaries and what they refer to.")
      .def_ro("alone_bytes", &TargetSharing::alone_bytes, "Each content once and whole.")
      .def("__repr__", [](const TargetSharing& self) {
        return fmt::format("<fatctx.TargetSharing {}: {} records, {} bytes alone>", self.target, self.records.size(),
                           self.alone_bytes);
      });
}

void bind_totals(nb::module_& module) {
  nb::class_<SharingTotals>(module, "SharingTotals", "Payload bytes, without padding, header and tables.")
      .def_ro("input_bytes", &SharingTotals::input_bytes, "All records, each by itself.")
      .def_ro("off_bytes", &SharingTotals::off_bytes, "Equal records once.")
      .def_ro("stored_bytes", &SharingTotals::stored_bytes, "In this file.")
      .def_prop_ro("pages", &page_totals, nb::sig("def pages(self) -> dict[int, int]"),
                   "By the size of a page: bytes with each different page once. No sharing by pages can be smaller.")
      .def_ro("bytes_at_most", &SharingTotals::bytes_at_most,
              "With each different content-defined chunk once: an estimate from above of sharing at any byte offset.")
      .def("__repr__", [](const SharingTotals& self) {
        return fmt::format("<fatctx.SharingTotals {} bytes in, {} stored, at most {} by bytes>", self.input_bytes,
                           self.stored_bytes, self.bytes_at_most);
      });
}

}  // namespace

void bind_sharing(nb::module_& module) {
  bind_sharing_rows(module);
  bind_totals(module);
  nb::class_<SharingReport>(module, "SharingReport",
                            "Tells which bytes a container stores once, and which it could. Immutable.")
      .def_ro("records", &SharingReport::records, "In the order of the container.")
      .def_ro("layout_groups", &SharingReport::layout_groups, "Most logical bytes first.")
      .def_ro("totals", &SharingReport::totals)
      .def_ro("targets", &SharingReport::targets, "In the order of their first records.")
      .def("__repr__", [](const SharingReport& self) {
        return fmt::format("<fatctx.SharingReport of {} records in {} layout groups, {} of {} bytes stored>",
                           self.records.size(), self.layout_groups.size(), self.totals.stored_bytes,
                           self.totals.input_bytes);
      });
  module.def(
      "measure_sharing",
      [](const Container& container, nb::object progress) {
        ProgressCall call(std::move(progress));
        return call.run([&] { return measure_sharing(container, call.callback()); });
      },
      nb::arg("container"), nb::kw_only(), nb::arg("progress") = nb::none(),
      nb::sig("def measure_sharing(container: Container, *, "
              "progress: typing.Callable[[int, int], object] | None = None) -> SharingReport"),
      "Finds the bytes that records have in common. Reads and verifies the records that could share pages:\n"
      "uncompressed ones, in a segment of their own. The others count as they are stored.\n\n"
      "Takes about 30 bytes of memory for each 4 KiB. `progress(done_bytes, total_bytes)` is called on this thread;\n"
      "an exception of it ends the work. Releases the GIL.\n"
      "Raises ChecksumMismatch, Malformed, Changed, Truncated, Io, and LimitExceeded for records that together are\n"
      "more than 64 times as large as their file.");
}

}  // namespace fatctx::python
