#include "fatctx/update.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "container.h"
#include "errors.h"
#include "fatctx/block_index.h"
#include "progress.h"
#include "records.h"
#include "signature.h"
#include "update.h"

namespace fatctx::python {
namespace {

void bind_reports(nb::module_& module) {
  nb::class_<UpdateContainer>(module, "UpdateContainer", "A state of a container that an update needs or makes.")
      .def_prop_ro(
          "path", [](const UpdateContainer& self) { return path_to_str(self.path); }, nb::sig("def path(self) -> str"),
          "Path of the file; empty if it is not known.")
      .def_ro("uuid", &UpdateContainer::uuid)
      .def_ro("generation", &UpdateContainer::generation)
      .def_ro("file_size", &UpdateContainer::file_size, "Size of the file, up to its committed end.")
      .def("__repr__", [](const UpdateContainer& self) {
        return fmt::format("<fatctx.UpdateContainer generation {} of {}>", self.generation, self.uuid);
      });
  nb::class_<UpdateReport>(module, "UpdateReport",
                           "An update: its size, and where the bytes of the new file come from.")
      .def_prop_ro(
          "path", [](const UpdateReport& self) { return path_to_str(self.path); }, nb::sig("def path(self) -> str"),
          "Path of the update; empty if it was only measured.")
      .def_ro("update_bytes", &UpdateReport::update_bytes, "Size of the update.")
      .def_ro("made", &UpdateReport::made, "The new container.")
      .def_ro("old", &UpdateReport::old, "The old containers, in the order of the update.")
      .def_ro("copies", &UpdateReport::copies)
      .def_ro("copied_bytes", &UpdateReport::copied_bytes, "Bytes of the new file that exist already.")
      .def_ro("filled_bytes", &UpdateReport::filled_bytes, "Bytes of the new file that repeat one byte.")
      .def_ro("literal_bytes", &UpdateReport::literal_bytes, "Bytes that the update holds, before compression.")
      .def_ro("hash_bytes", &UpdateReport::hash_bytes, "Leaf hashes, which are made of the payload.")
      .def_ro("for_partial", &UpdateReport::for_partial,
              "True if it also makes a part of the new file from a part of old ones.")
      .def("__repr__", [](const UpdateReport& self) {
        return fmt::format("<fatctx.UpdateReport {} bytes for a file of {}>", self.update_bytes, self.made.file_size);
      });
  nb::class_<ApplyReport>(module, "ApplyReport", "Result of apply_update().")
      .def_prop_ro(
          "path", [](const ApplyReport& self) { return path_to_str(self.path); }, nb::sig("def path(self) -> str"),
          "Path of the new file.")
      .def_ro("update", &ApplyReport::update, "The update, with the paths of the files that were used.")
      .def_ro("signature_verified", &ApplyReport::signature_verified)
      .def_ro("absent_bytes", &ApplyReport::absent_bytes, "Bytes that the new file lacks; 0 if it is whole.")
      .def_ro("records", &ApplyReport::records,
              "Names of the records that are whole, if the new file is partial; else empty.")
      .def("__repr__", [](const ApplyReport& self) {
        return fmt::format("<fatctx.ApplyReport generation {} of {}>", self.update.made.generation,
                           self.update.made.uuid);
      });
  nb::class_<BlockIndexReport>(module, "BlockIndexReport", "Result of make_block_index().")
      .def_prop_ro(
          "path", [](const BlockIndexReport& self) { return path_to_str(self.path); }, nb::sig("def path(self) -> str"),
          "Path of the index.")
      .def_ro("index_bytes", &BlockIndexReport::index_bytes, "Size of the index.")
      .def_ro("block_bytes", &BlockIndexReport::block_bytes, "Size of a block.")
      .def_ro("uuid", &BlockIndexReport::uuid, "Identity of the container.")
      .def_ro("generation", &BlockIndexReport::generation)
      .def_ro("file_size", &BlockIndexReport::file_size, "Size of the container, up to its committed end.")
      .def("__repr__", [](const BlockIndexReport& self) {
        return fmt::format("<fatctx.BlockIndexReport {} bytes for a file of {}>", self.index_bytes, self.file_size);
      });
}

template <typename Options>
Options make_options(bool overwrite, std::uint32_t threads, ProgressCall& call) {
  Options options;
  options.overwrite = overwrite;
  options.threads = threads;
  options.progress = call.callback();
  return options;
}

}  // namespace

void bind_update(nb::module_& module) {
  bind_reports(module);
  module.def(
      "make_update",
      [](const nb::iterable& old, nb::handle new_file, nb::handle target, bool overwrite, bool for_partial,
         std::uint32_t threads, nb::object progress) {
        const std::vector<std::string> olds = paths_from(old);
        const std::string newer = path_from(new_file);
        const std::string path = path_from(target);
        ProgressCall call(std::move(progress));
        auto options = make_options<MakeUpdateOptions>(overwrite, threads, call);
        options.for_partial = for_partial;
        return call.run([&] { return make_update(olds, newer, path, options); });
      },
      nb::arg("old"), nb::arg("new"), nb::arg("target"), nb::kw_only(), nb::arg("overwrite") = false,
      nb::arg("for_partial") = false, nb::arg("threads") = 0, nb::arg("progress") = nb::none(),
      nb::sig("def make_update(old: typing.Iterable[str | bytes | os.PathLike], new: str | bytes | os.PathLike, "
              "target: str | bytes | os.PathLike, *, overwrite: bool = False, for_partial: bool = False, threads: int "
              "= 0, progress: typing.Callable[[int, int], object] | None = None) -> UpdateReport"),
      "Writes an update that makes the container `new` from the containers `old`, 1 to 16 of them: copies of bytes at\n"
      "any offset, and what changed. It checks every leaf of all of them first. The update appears whole or not at "
      "all.\n\n"
      "for_partial: serve devices with a part of the old files, too: apply_update() makes the same part of the new "
      "one.\n"
      "Costs the leaf hashes, 1/4096 of its size, three times that with SHA-256, and copies less.\n"
      "progress: progress(done_bytes, total_bytes) of each pass: the checks, the search.\n"
      "Raises InvalidArgument, NotPresent (`new` is partial), ChecksumMismatch (one is damaged), Exists, Changed,\n"
      "LimitExceeded, NoSpace, Io, and what open() raises.");
  module.def(
      "measure_update",
      [](const nb::iterable& old, nb::handle new_file, bool for_partial, std::uint32_t threads, nb::object progress) {
        const std::vector<std::string> olds = paths_from(old);
        const std::string newer = path_from(new_file);
        ProgressCall call(std::move(progress));
        auto options = make_options<MakeUpdateOptions>(false, threads, call);
        options.for_partial = for_partial;
        return call.run([&] { return measure_update(olds, newer, options); });
      },
      nb::arg("old"), nb::arg("new"), nb::kw_only(), nb::arg("for_partial") = false, nb::arg("threads") = 0,
      nb::arg("progress") = nb::none(),
      nb::sig("def measure_update(old: typing.Iterable[str | bytes | os.PathLike], new: str | bytes | os.PathLike, *, "
              "for_partial: bool = False, threads: int = 0, progress: typing.Callable[[int, int], object] | None = "
              "None) -> UpdateReport"),
      "Does what make_update() does, and writes nothing.");
  module.def(
      "read_update",
      [](nb::handle file) {
        const std::string path = path_from(file);
        return take(without_gil([&] { return read_update(path); }));
      },
      nb::arg("file"), nb::sig("def read_update(file: str | bytes | os.PathLike) -> UpdateReport"),
      "Reads and checks a whole update, and returns what it needs and makes. Counts of its steps are 0.");
  module.def(
      "apply_update",
      [](nb::handle update, const nb::iterable& old, nb::handle target, bool overwrite, nb::object trusted_keys,
         std::uint64_t minimum_generation, std::uint64_t max_made_bytes, nb::object progress) {
        const std::string path = path_from(update);
        const std::vector<std::string> olds = paths_from(old);
        const std::string made = path_from(target);
        ProgressCall call(std::move(progress));
        ApplyUpdateOptions options;
        options.overwrite = overwrite;
        options.trusted_keys = trusted_keys_from(trusted_keys);
        options.minimum_generation = minimum_generation;
        options.max_made_bytes = max_made_bytes;
        options.progress = call.callback();
        return call.run([&] { return apply_update(path, olds, made, options); });
      },
      nb::arg("update"), nb::arg("old"), nb::arg("target"), nb::kw_only(), nb::arg("overwrite") = false,
      nb::arg("trusted_keys") = nb::none(), nb::arg("minimum_generation") = 0, nb::arg("max_made_bytes") = 0,
      nb::arg("progress") = nb::none(),
      nb::sig("def apply_update(update: str | bytes | os.PathLike, old: typing.Iterable[str | bytes | os.PathLike], "
              "target: str | bytes | os.PathLike, *, overwrite: bool = False, trusted_keys: typing.Iterable[PublicKey] "
              "| None = None, minimum_generation: int = 0, max_made_bytes: int = 0, progress: "
              "typing.Callable[[int, int], object] | None = None) -> ApplyReport"),
      "Makes the new container at `target`, bit for bit, from the old ones, in any order. Checks the update before it\n"
      "writes, and every leaf of the new file before it publishes it by rename. An update for partial files\n"
      "makes a partial new file of partial old ones, with the records that they have.\n\n"
      "trusted_keys, minimum_generation: as of open(), for the new file.\n"
      "max_made_bytes: most bytes of it; 0: 64 MiB, and 16 times those of the old files and the update.\n"
      "progress: progress(done_bytes, total_bytes): as bytes are written, then as they are checked.\n"
      "Raises Changed (none of `old` is a file that the update needs), NotPresent, ChecksumMismatch, Malformed,\n"
      "Truncated, LimitExceeded, SignatureMissing, SignatureBad, Rollback, Exists, NoSpace, Io, and what open() "
      "raises.");
  module.def(
      "make_block_index",
      [](nb::handle container, nb::handle target, bool overwrite, std::uint32_t threads, nb::object progress) {
        const std::string from = path_from(container);
        const std::string path = path_from(target);
        ProgressCall call(std::move(progress));
        const auto options = make_options<MakeBlockIndexOptions>(overwrite, threads, call);
        return call.run([&] { return make_block_index(from, path, options); });
      },
      nb::arg("container"), nb::arg("target"), nb::kw_only(), nb::arg("overwrite") = false, nb::arg("threads") = 0,
      nb::arg("progress") = nb::none(),
      nb::sig("def make_block_index(container: str | bytes | os.PathLike, target: str | bytes | os.PathLike, *, "
              "overwrite: bool = False, threads: int = 0, progress: typing.Callable[[int, int], object] | None = None) "
              "-> BlockIndexReport"),
      "Writes the block index of a container, 1/128 of its size: by it FetchPlan.use_blocks() finds blocks at any\n"
      "offset of whatever old files are there. It checks every leaf first. The index appears whole or not at all.\n\n"
      "progress: progress(done_bytes, total_bytes) of each pass: the check, the hashes.\n"
      "Raises NotPresent (the container is partial), ChecksumMismatch (it is damaged), LimitExceeded, Exists, "
      "Changed,\n"
      "NoSpace, Io, and what open() raises.");
}

}  // namespace fatctx::python
