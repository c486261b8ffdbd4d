#include "dlc.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "errors.h"
#include "fatctx/import_dlc.h"
#include "fatctx/stored_dlc.h"
#include "memory.h"
#include "progress.h"
#include "read_only_buffer.h"
#include "records.h"

namespace fatctx::python {
namespace {

// A context binary of a DLC, with the names of its SoC and of the records that it refers to.
struct BoundSoc {
  DlcSoc soc;
  std::string entry;
  std::vector<std::string> shared;
};

std::vector<BoundSoc> socs_of(const DlcInfo& info) {
  std::vector<BoundSoc> socs;
  for (const DlcSoc& soc : info.socs) {
    BoundSoc bound{soc, info.entries[soc.entry].name, {}};
    for (const std::size_t shared : soc.shared) bound.shared.push_back(info.entries[shared].name);
    socs.push_back(std::move(bound));
  }
  return socs;
}

int get_thin_bytes(PyObject* self, Py_buffer* buffer, int flags) noexcept {
  if (refused(self, buffer, flags, "a fatctx.ThinDlcView")) return -1;
  return fill_bytes(self, buffer, flags, nb::inst_ptr<ThinDlcView>(nb::handle(self))->bytes());
}

// Slots hold functions as void*; a function pointer converts to one on every system that Python runs on.
const PyType_Slot kThinSlots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&get_thin_bytes)}, {0, nullptr}};

void bind_info(nb::module_& module) {
  nb::class_<DlcEntry>(module, "DlcEntry", "An entry of a DLC archive, stored as it is.")
      .def_ro("name", &DlcEntry::name)
      .def_prop_ro(
          "kind", [](const DlcEntry& self) { return to_str(dlc_entry_kind_name(self.kind)); },
          "\"context_binary\", \"shared_weights\", \"shared_weights_metadata\", \"source_model\", \"metadata\" or "
          "\"other\".")
      .def_prop_ro(
          "offset", [](const DlcEntry& self) { return self.data.offset; }, "First byte in the archive.")
      .def_prop_ro(
          "size_bytes", [](const DlcEntry& self) { return self.data.size; }, "Bytes.")
      .def("__repr__", [](const DlcEntry& self) {
        return fmt::format("<fatctx.DlcEntry {} {}, {} bytes>", quoted(self.name), dlc_entry_kind_name(self.kind),
                           self.data.size);
      });
  nb::class_<BoundSoc>(module, "DlcSoc",
                       "A context binary of a DLC, and what the archive's metadata says of it; 0, \"\" and None where "
                       "it says nothing.")
      .def_ro("entry", &BoundSoc::entry, "Name of its entry.")
      .def_prop_ro(
          "qnn_soc", [](const BoundSoc& self) { return self.soc.qnn_soc; }, "Vendor number of the SoC.")
      .def_prop_ro(
          "arch", [](const BoundSoc& self) { return self.soc.arch; }, "\"v75\".")
      .def_prop_ro(
          "vtcm_mb", [](const BoundSoc& self) { return self.soc.vtcm_mb; }, "The largest of its graphs.")
      .def_prop_ro(
          "build_id", [](const BoundSoc& self) { return self.soc.build_id; }, "Build id of the compiler.")
      .def_prop_ro(
          "sdk", [](const BoundSoc& self) { return version_or_none(self.soc.sdk); },
          nb::sig("def sdk(self) -> str | None"))
      .def_prop_ro(
          "api", [](const BoundSoc& self) { return version_or_none(self.soc.api); },
          nb::sig("def api(self) -> str | None"))
      .def_prop_ro(
          "blob", [](const BoundSoc& self) { return version_or_none(self.soc.blob); },
          nb::sig("def blob(self) -> str | None"))
      .def_prop_ro(
          "graphs",
          [](const BoundSoc& self) {
            std::vector<std::string> names;
            for (const DescribedGraph& graph : self.soc.graphs) names.push_back(graph.name);
            return names;
          },
          "Names of its graphs.")
      .def_prop_ro(
          "graph_facts", [](const BoundSoc& self) { return self.soc.graphs; },
          "The graphs with inputs, outputs and facts, as far as the metadata states them.")
      .def_prop_ro(
          "options", [](const BoundSoc& self) { return self.soc.facts; },
          "Further facts of the binary, under the compiler's names.")
      .def_ro("shared", &BoundSoc::shared, "Names of the shared weights and their metadata that it refers to.")
      .def("__repr__", [](const BoundSoc& self) {
        return fmt::format("<fatctx.DlcSoc {} soc {} {}>", quoted(self.entry), self.soc.qnn_soc, self.soc.arch);
      });
  nb::class_<DlcInfo>(module, "DlcInfo", "Contents of a DLC archive.")
      .def_ro("size_bytes", &DlcInfo::file_size, "Size of the archive.")
      .def_ro("entries", &DlcInfo::entries, "In the order of the archive.")
      .def_ro("written_at", &DlcInfo::written_at,
              "When the metadata was written, in its own words; \"\" if not stated.")
      .def_ro("options", &DlcInfo::facts,
              "Facts of the whole archive, under the names in its metadata: commands of converters, versions.")
      .def_prop_ro("socs", &socs_of, "Its context binaries, in the order of the archive.")
      .def_ro(
          "findings", &DlcInfo::findings,
          "Things that a compiler did silently, or that cannot be determined: SoC 0, a SoC twice, weights that are not "
          "shared after all ...")
      .def("__repr__", [](const DlcInfo& self) {
        return fmt::format("<fatctx.DlcInfo {} entries, {} context binaries, {} bytes>", self.entries.size(),
                           self.socs.size(), self.file_size);
      });
}

void bind_results(nb::module_& module) {
  nb::class_<ThinDlc>(module, "ThinDlc", "A DLC cut to some of its context binaries.")
      .def_ro("size_bytes", &ThinDlc::size_bytes)
      .def_ro("new_bytes", &ThinDlc::new_bytes, "Bytes that are not ranges of the original.")
      .def_ro("entries", &ThinDlc::entries, "Names of those that stay.")
      .def_prop_ro(
          "pieces", [](const ThinDlc& self) { return self.pieces.size(); },
          "Ranges of the original and new bytes between them.")
      .def_ro("mappable", &ThinDlc::mappable, "True if every range begins on a page and has whole pages.")
      .def("__repr__", [](const ThinDlc& self) {
        return fmt::format("<fatctx.ThinDlc {} entries, {} bytes, {} of them new>", self.entries.size(),
                           self.size_bytes, self.new_bytes);
      });
  nb::class_<StoredDlc>(module, "StoredDlc", "A DLC that was imported into a container.")
      .def_ro("layout", &StoredDlc::layout, "Name of the record with its layout: what tells several apart.")
      .def_ro("layout_id", &StoredDlc::layout_id, "Id of that record.")
      .def_ro("size_bytes", &StoredDlc::size_bytes, "Size of the archive.")
      .def_ro("records", &StoredDlc::records, "Names of the records with its entries, in the order of the archive.")
      .def("__repr__", [](const StoredDlc& self) {
        return fmt::format("<fatctx.StoredDlc {}, {} records, {} bytes>", quoted(self.layout), self.records.size(),
                           self.size_bytes);
      });
  nb::class_<ThinDlcView>(
      module, "ThinDlcView", nb::type_slots(kThinSlots), nb::is_weak_referenceable(),
      "The thin DLC of a container as one range of memory, read-only: pages of the container, and sealed memory for\n"
      "what is between the payloads. `memoryview(view)` gives its bytes without a copy.\n\n"
      "Ownership, threads, the file: as RecordView.")
      .def_prop_ro("size_bytes", &ThinDlcView::size_bytes)
      .def_prop_ro("nbytes", &ThinDlcView::size_bytes, "Size in bytes, under NumPy's name.")
      .def_prop_ro(
          "entries",
          [](const ThinDlcView& self) {
            return std::vector<std::string>(self.entries().begin(), self.entries().end());
          },
          "Names of the entries that it has.")
      .def_prop_ro("mapped_pieces", &ThinDlcView::mapped_pieces, "Parts that are mapped from the container.")
      .def_prop_ro("built_pieces", &ThinDlcView::built_pieces, "Parts that are memory.")
      .def_prop_ro("mapped_bytes", &ThinDlcView::mapped_bytes)
      .def_prop_ro("new_bytes", &ThinDlcView::new_bytes,
                   "Memory that was built: pages with headers, directory, metadata and small entries.")
      .def_prop_ro("copied_bytes", &ThinDlcView::copied_bytes, "Memory with payload that could not be mapped.")
      .def_prop_ro(
          "address", [](const ThinDlcView& self) { return reinterpret_cast<std::uintptr_t>(self.bytes().data()); },
          "Address of the first byte in this process; valid while the view lives.")
      .def("prefetch", &prefetch_thin_dlc, nb::kw_only(), nb::arg("max_bytes") = nb::none(),
           nb::arg("progress") = nb::none(),
           nb::sig("def prefetch(self, *, max_bytes: int | None = None, "
                   "progress: typing.Callable[[int, int], object] | None = None) -> PrefetchReport"),
           "Brings the mapped bytes into memory, as Container.prefetch() does. Releases the GIL.\n\n"
           "Raises Changed, Io, NoResource; an exception of `progress` stops the work.")
      .def("__len__", &ThinDlcView::size_bytes)
      .def("__repr__", [](const ThinDlcView& self) {
        return fmt::format("<fatctx.ThinDlcView {} bytes: {} mapped, {} new, {} copied>", self.size_bytes(),
                           self.mapped_bytes(), self.new_bytes(), self.copied_bytes());
      });
}

DlcChoice choice_of(std::vector<std::uint32_t> socs, std::vector<std::string> entries) {
  return {.qnn_socs = std::move(socs), .entries = std::move(entries)};
}

void bind_files(nb::module_& module) {
  module.def(
      "is_dlc",
      [](nb::handle path) {
        const std::string text = path_from(path);
        return take(without_gil([&] { return is_dlc(text); }));
      },
      nb::arg("path"), nb::sig("def is_dlc(path: str | os.PathLike) -> bool"),
      "True if the file is an archive with the entries of a multi-SoC DLC. Raises FileNotFound, NotRegularFile, Io.");
  module.def(
      "list_dlc",
      [](nb::handle path) {
        const std::string text = path_from(path);
        return take(without_gil([&] { return list_dlc(text); }));
      },
      nb::arg("path"), nb::sig("def list_dlc(path: str | os.PathLike) -> DlcInfo"),
      "Lists the contents of a DLC; checks the structure of the whole archive and reads no payload.\n\n"
      "Raises FileNotFound, NotRegularFile, Io, BadMagic, Truncated, Malformed, Unsupported, LimitExceeded.");
  module.def(
      "records_from_dlc",
      [](nb::handle path, std::string group, std::string unit, std::string prefix, bool keep_layout) {
        const std::string text = path_from(path);
        const DlcImport import{.group = std::move(group),
                               .unit = std::move(unit),
                               .prefix = std::move(prefix),
                               .keep_layout = keep_layout};
        return take(without_gil([&] { return records_from_dlc(text, import); }));
      },
      nb::arg("path"), nb::kw_only(), nb::arg("group") = "", nb::arg("unit") = "", nb::arg("prefix") = "",
      nb::arg("keep_layout") = true,
      nb::sig("def records_from_dlc(path: str | os.PathLike, *, group: str = '', unit: str = '', prefix: str = '', "
              "keep_layout: bool = True) -> list[PackRecord]"),
      "A record for pack() for each entry of a DLC, named `prefix` and the entry's name, and one with the archive's\n"
      "layout, so that export_dlc() can give it back. The file must not change until it is packed.\n\n"
      "Raises what list_dlc() raises, and Changed.");
  module.def(
      "thin_dlc",
      [](nb::handle path, std::vector<std::uint32_t> socs, std::vector<std::string> entries) {
        const std::string text = path_from(path);
        const DlcChoice choice = choice_of(std::move(socs), std::move(entries));
        return take(without_gil([&] { return thin_dlc(text, choice); }));
      },
      nb::arg("path"), nb::kw_only(), nb::arg("socs") = nb::tuple(), nb::arg("entries") = nb::tuple(),
      nb::sig("def thin_dlc(path: str | os.PathLike, *, socs: typing.Sequence[int] = (), "
              "entries: typing.Sequence[str] = ()) -> ThinDlc"),
      "Returns what extract_thin_dlc() would write, without writing it. Raises NoMatch, BadReference, and what\n"
      "list_dlc() raises.");
  module.def(
      "extract_thin_dlc",
      [](nb::handle path, nb::handle out, std::vector<std::uint32_t> socs, std::vector<std::string> entries,
         bool overwrite) {
        const std::string text = path_from(path);
        const std::string target = path_from(out);
        const DlcChoice choice = choice_of(std::move(socs), std::move(entries));
        return take(without_gil([&] { return extract_thin_dlc(text, choice, target, overwrite); }));
      },
      nb::arg("path"), nb::arg("out"), nb::kw_only(), nb::arg("socs") = nb::tuple(), nb::arg("entries") = nb::tuple(),
      nb::arg("overwrite") = false,
      nb::sig("def extract_thin_dlc(path: str | os.PathLike, out: str | os.PathLike, *, "
              "socs: typing.Sequence[int] = (), entries: typing.Sequence[str] = (), overwrite: bool = False) "
              "-> ThinDlc"),
      "Writes the DLC without the context binaries of SoCs other than `socs`, by vendor number, and `entries`, by "
      "name.\n\n"
      "Raises what thin_dlc() raises; Exists, NoSpace, Changed, CommitUnknown.");
}

void bind_stored(nb::module_& module) {
  module.def(
      "stored_dlcs",
      [](const Container& container) { return take(without_gil([&] { return stored_dlcs(container); })); },
      nb::arg("container"),
      "The DLCs that were imported into a container. Raises ChecksumMismatch, Malformed, Changed.");
  module.def(
      "list_stored_dlc",
      [](const Container& container, const std::string& layout) {
        return take(without_gil([&] { return list_stored_dlc(container, layout); }));
      },
      nb::arg("container"), nb::arg("layout") = "",
      "Returns what list_dlc() reported of the archive. If there are several, `layout` names the layout record.\n\n"
      "Raises NotFound (there is none), InvalidArgument (several, and none named), BadReference (a record is missing\n"
      "or has other bytes), ChecksumMismatch, Malformed, Changed.");
  module.def(
      "export_dlc",
      [](const Container& container, nb::handle out, const std::string& layout, bool overwrite, nb::object progress) {
        const std::string target = path_from(out);
        ProgressCall call(std::move(progress));
        return call.run([&] { return export_dlc(container, layout, target, overwrite, call.callback()); });
      },
      nb::arg("container"), nb::arg("out"), nb::kw_only(), nb::arg("layout") = "", nb::arg("overwrite") = false,
      nb::arg("progress") = nb::none(),
      nb::sig("def export_dlc(container: Container, out: str | os.PathLike, *, layout: str = '', "
              "overwrite: bool = False, progress: typing.Callable[[int, int], object] | None = None) -> StoredDlc"),
      "Writes the archive as it was, byte for byte, checked against the hash of the original. Releases the GIL.\n"
      "What `progress(done_bytes, total_bytes)` raises ends the work, and there is no file.\n\n"
      "Raises what list_stored_dlc() raises; Exists, NoSpace, Io, CommitUnknown.");
  module.def(
      "extract_stored_thin_dlc",
      [](const Container& container, nb::handle out, std::vector<std::uint32_t> socs, std::vector<std::string> entries,
         const std::string& layout, bool overwrite) {
        const std::string target = path_from(out);
        const DlcChoice choice = choice_of(std::move(socs), std::move(entries));
        return take(without_gil([&] { return extract_stored_thin_dlc(container, layout, choice, target, overwrite); }));
      },
      nb::arg("container"), nb::arg("out"), nb::kw_only(), nb::arg("socs") = nb::tuple(),
      nb::arg("entries") = nb::tuple(), nb::arg("layout") = "", nb::arg("overwrite") = false,
      nb::sig("def extract_stored_thin_dlc(container: Container, out: str | os.PathLike, *, "
              "socs: typing.Sequence[int] = (), entries: typing.Sequence[str] = (), layout: str = '', "
              "overwrite: bool = False) -> ThinDlc"),
      "Returns what extract_thin_dlc() of the original would write. Raises what that and list_stored_dlc() raise.");
  module.def(
      "thin_stored_dlc",
      [](const Container& container, std::vector<std::uint32_t> socs, std::vector<std::string> entries,
         const std::string& layout) {
        const DlcChoice choice = choice_of(std::move(socs), std::move(entries));
        return take(without_gil([&] { return thin_stored_dlc(container, layout, choice); }));
      },
      nb::arg("container"), nb::kw_only(), nb::arg("socs") = nb::tuple(), nb::arg("entries") = nb::tuple(),
      nb::arg("layout") = "",
      nb::sig("def thin_stored_dlc(container: Container, *, socs: typing.Sequence[int] = (), "
              "entries: typing.Sequence[str] = (), layout: str = '') -> ThinDlc"),
      "Returns what extract_stored_thin_dlc() would write, without writing it. Raises what that raises.");
  module.def(
      "thin_dlc_view",
      [](const Container& container, std::vector<std::uint32_t> socs, std::vector<std::string> entries,
         const std::string& layout) {
        const DlcChoice choice = choice_of(std::move(socs), std::move(entries));
        return take(without_gil([&] { return thin_dlc_view(container, choice, layout); }));
      },
      nb::arg("container"), nb::kw_only(), nb::arg("socs") = nb::tuple(), nb::arg("entries") = nb::tuple(),
      nb::arg("layout") = "",
      nb::sig("def thin_dlc_view(container: Container, *, socs: typing.Sequence[int] = (), "
              "entries: typing.Sequence[str] = (), layout: str = '') -> ThinDlcView"),
      "The thin DLC as one range of memory, mapped from the container where its pages allow that; payload that has\n"
      "to be copied needs max_copied_bytes of the open. Verified as the container was opened. Releases the GIL.\n\n"
      "Raises what thin_stored_dlc() raises; CopyNotAllowed, NoResource, OutOfMemory, Unsupported.");
}

}  // namespace

void bind_dlc(nb::module_& module) {
  bind_info(module);
  bind_results(module);
  bind_files(module);
  bind_stored(module);
}

}  // namespace fatctx::python
