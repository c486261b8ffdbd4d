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
#include "signature.h"

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
  nb::class_<RepairSourceReport>(module, "RepairSourceReport", "The part of a repair that one source has.")
      .def_prop_ro(
          "name", [](const RepairSourceReport& self) { return text_for_people(self.name); },
          nb::sig("def name(self) -> str"))
      .def_ro("restored_bytes", &RepairSourceReport::restored_bytes,
              "Bytes of the repaired file that come from it. A dry run counts what a repair would restore.")
      .def_ro("read_bytes", &RepairSourceReport::read_bytes,
              "Bytes read from it, with header and tables. A dry run counts what a repair would read.")
      .def_ro("ranges", &RepairSourceReport::ranges, "Ranges of payload that were read.")
      .def_ro("problem", &RepairSourceReport::problem,
              "Why it was not used, or why leaves of it were refused; empty if there is no problem.")
      .def("__repr__", [](const RepairSourceReport& self) {
        return fmt::format("<fatctx.RepairSourceReport {} bytes restored, {} read>", self.restored_bytes,
                           self.read_bytes);
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
          "Damage that neither the file nor a source can undo, as exceptions that nobody raised.")
      .def_ro("lacking_bytes", &RepairReport::lacking_bytes,
              "Size of the leaves of payload that were damaged or absent; 0 if there were no sources.")
      .def_ro("sources", &RepairReport::sources, "The sources that were asked.")
      .def_ro("checked_bytes", &RepairReport::checked_bytes,
              "Bytes of payload and leaf hashes that were checked after the repair.")
      .def("__bool__", [](const RepairReport& self) { return self.remaining.empty(); })
      .def("__repr__", [](const RepairReport& self) {
        return fmt::format("<fatctx.RepairReport {} ranges restored, {} findings remain>", self.restored.size(),
                           self.remaining.size());
      });
  module.def(
      "repair",
      [](nb::handle file, const nb::iterable& sources, nb::object trusted_keys, std::uint64_t minimum_generation,
         bool dry_run, std::uint32_t threads, nb::object progress) {
        const std::string path = path_from(file);
        ProgressCall call(std::move(progress));
        RepairOptions options;
        options.dry_run = dry_run;
        options.threads = threads;
        options.progress = call.callback();
        options.from = paths_from(sources);
        options.trusted_keys = trusted_keys_from(trusted_keys);
        options.minimum_generation = minimum_generation;
        return call.run([&] { return repair(path, options); });
      },
      nb::arg("file"), nb::kw_only(), nb::arg("sources") = nb::make_tuple(), nb::arg("trusted_keys") = nb::none(),
      nb::arg("minimum_generation") = 0, nb::arg("dry_run") = false, nb::arg("threads") = 0,
      nb::arg("progress") = nb::none(),
      nb::sig("def repair(file: str | bytes | os.PathLike, *, sources: typing.Iterable[str | bytes | os.PathLike] "
              "= (), trusted_keys: typing.Iterable[PublicKey] | None = None, minimum_generation: int = 0, "
              "dry_run: bool = False, threads: int = 0, progress: typing.Callable[[int, int], object] | None = None) "
              "-> RepairReport"),
      "Restores damaged copies of metadata from the good ones, in place, and what the file has no copy of from\n"
      "sources. Bytes whose hashes are right are never written. Each range is synced before the next is written\n"
      "(payload in batches), then everything is read again and the whole file is checked. A file without damage is\n"
      "not written to.\n\n"
      "sources: containers with equal bytes, at any place of them. Payload that is damaged or absent comes from them,\n"
      "and leaf hashes and tables of contents. One that cannot be used is left out, and its report says why.\n"
      "trusted_keys, minimum_generation: as of open(), for the damaged file. With keys, each byte from a source must\n"
      "match the signed SHA-256; XXH3 alone finds accidents and no attacker.\n"
      "dry_run: only say what would be restored; takes no lock.\n"
      "progress: progress(done_bytes, total_bytes) of the check; what it raises stops that and is raised, and what\n"
      "was restored stays.\n"
      "Raises FileNotFound, NotRegularFile, Locked, OperationNotPermitted (it may not be written, and there is\n"
      "something to restore), RemoteFilesystem, Unsupported, Io, NoSpace, and what open() raises for a file that\n"
      "does not open.");
}

}  // namespace fatctx::python
