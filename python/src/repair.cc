#include "fatctx/repair.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <utility>

#include "container.h"
#include "errors.h"
#include "progress.h"
#include "records.h"
#include "repair.h"

namespace fatctx::python {

void bind_repair(nb::module_& module) {
  nb::class_<RestoredRange>(module, "RestoredRange", "A range of the file that was damaged and is whole again.")
      .def_ro("what", &RestoredRange::what, "\"slot A1\", \"toc copy 0\", \"leaf hashes of record 5 ...\".")
      .def_prop_ro("file_offset", [](const RestoredRange& self) { return self.range.offset; })
      .def_prop_ro("size_bytes", [](const RestoredRange& self) { return self.range.size; })
      .def("__repr__", [](const RestoredRange& self) {
        return fmt::format("<fatctx.RestoredRange {}, {} bytes at {:#x}>", self.what, self.range.size,
                           self.range.offset);
      });
  nb::class_<RepairReport>(module, "RepairReport",
                           "Result of a repair: what it restored, and what it could not. True if the file is whole.")
      .def_prop_ro(
          "path", [](const RepairReport& self) { return text_for_people(self.path); }, nb::sig("def path(self) -> str"))
      .def_ro("uuid", &RepairReport::uuid)
      .def_ro("generation", &RepairReport::generation)
      .def_ro("dry_run", &RepairReport::dry_run)
      .def_ro("restored", &RepairReport::restored, "In the order in which they were written, or would be in a dry run.")
      .def_prop_ro(
          "remaining", [](const RepairReport& self) { return findings_list(self.remaining); },
          nb::sig("def remaining(self) -> list[fatctx.errors.Error]"),
          "Damage that nothing in the file can undo, as exceptions that nobody raised.")
      .def_ro("checked_bytes", &RepairReport::checked_bytes,
              "Bytes of payload and leaf hashes that were checked after the repair.")
      .def("__bool__", [](const RepairReport& self) { return self.remaining.empty(); })
      .def("__repr__", [](const RepairReport& self) {
        return fmt::format("<fatctx.RepairReport {} ranges restored, {} findings remain>", self.restored.size(),
                           self.remaining.size());
      });
  module.def(
      "repair",
      [](nb::handle file, bool dry_run, std::uint32_t threads, nb::object progress) {
        const std::string path = path_from(file);
        ProgressCall call(std::move(progress));
        const RepairOptions options{.dry_run = dry_run, .threads = threads, .progress = call.callback()};
        return call.run([&] { return repair(path, options); });
      },
      nb::arg("file"), nb::kw_only(), nb::arg("dry_run") = false, nb::arg("threads") = 0,
      nb::arg("progress") = nb::none(),
      nb::sig("def repair(file: str | bytes | os.PathLike, *, dry_run: bool = False, threads: int = 0, "
              "progress: typing.Callable[[int, int], object] | None = None) -> RepairReport"),
      "Restores damaged copies of metadata from the good ones, in place; never payload. Each range is synced before\n"
      "the next is written, then everything is read again and the whole file is checked. A file without damage is\n"
      "not written to.\n\n"
      "dry_run: only say what would be restored; takes no lock.\n"
      "progress: progress(done_bytes, total_bytes) of the check; what it raises stops that and is raised, and what\n"
      "was restored stays.\n"
      "Raises FileNotFound, NotRegularFile, Locked, OperationNotPermitted (it may not be written, and there is\n"
      "something to restore), RemoteFilesystem, Unsupported, Io, NoSpace, and what open() raises for a file that\n"
      "does not open.");
}

}  // namespace fatctx::python
