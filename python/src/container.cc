#include "container.h"

#include <fmt/format.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "errors.h"
#include "fatctx/info.h"
#include "fatctx/presence.h"
#include "held_buffer.h"
#include "keywords.h"
#include "memory.h"
#include "model.h"
#include "progress.h"
#include "records.h"
#include "signature.h"
#include "views.h"

namespace fatctx::python {
namespace {

// A tensor table of one blob, with the container that its names borrow from.
struct BoundTensorTable {
  Container container;
  RecordInfo blob;
  TensorTable table;
};

VerifyPolicy verify_from(const std::string& word) {
  return known_word(verify_policy_from_name(word), "verify", word, &verify_policy_name);
}

FileMapping file_mapping_from(const std::string& word) {
  return known_word(file_mapping_from_name(word), "file_mapping", word, &file_mapping_name);
}

VerifyOptions verify_options(ProgressCall& call, const nb::object& range, bool strict, std::uint32_t threads) {
  VerifyOptions options{.strict = strict, .threads = threads, .progress = call.callback()};
  if (!range.is_none()) {
    const auto [offset, size] = nb::cast<std::pair<std::uint64_t, std::uint64_t>>(range);
    options.range = ByteRange{offset, size};
  }
  return options;
}

bool contains(const TensorTable& table, std::string_view name) {
  std::size_t first = 0;
  std::size_t count = table.size();
  while (count > 0) {  // the table is sorted by name, bytewise
    const std::size_t half = count / 2;
    if (table.at(first + half).name < name) {
      first += half + 1;
      count -= half + 1;
    } else {
      count = half;
    }
  }
  return first < table.size() && table.at(first).name == name;
}

nb::list names_of(const TensorTable& table) {
  nb::list names;
  for (std::size_t index = 0; index < table.size(); ++index) names.append(to_str(table.at(index).name));
  return names;
}

BoundWeightView weight_at(const BoundTensorTable& self, std::size_t index) {
  return BoundWeightView(without_gil([&] { return self.table.view_at(index); }));
}

void bind_report(nb::module_& module) {
  nb::class_<GenerationInfo>(module, "GenerationInfo", "An earlier state of a container that was appended to.")
      .def_ro("number", &GenerationInfo::number, "Value for open(generation=...).")
      .def_ro("committed_end", &GenerationInfo::committed_end, "Where it ends in the file, in bytes.")
      .def("__repr__", [](const GenerationInfo& self) {
        return fmt::format("<fatctx.GenerationInfo {}, up to byte {}>", self.number, self.committed_end);
      });
  nb::class_<OpenReport>(module, "OpenReport",
                         "Findings of an open. \"Degraded\" means a file that lost redundancy but nothing else.")
      .def_prop_ro(
          "path", [](const OpenReport& self) { return path_to_str(self.path); }, nb::sig("def path(self) -> str"),
          "As given to open; \"fd 7\" for a descriptor.")
      .def_ro("generation", &OpenReport::generation)
      .def_ro("newest_generation", &OpenReport::newest_generation,
              "That the file had; not `generation` only if an earlier one was requested.")
      .def_ro("earlier_generations", &OpenReport::earlier_generations,
              "Those before this one whose bytes are still in the file, ascending.")
      .def_prop_ro(
          "slot", [](const OpenReport& self) { return std::string(1, self.slot); },
          "\"A\" or \"B\": the pair of slots that names the newest generation.")
      .def_ro("degraded", &OpenReport::degraded, "Copies that are damaged; empty for a whole file.")
      .def_ro("tail_bytes", &OpenReport::tail_bytes, "Bytes behind the committed end; never read.")
      .def_ro("sealed", &OpenReport::sealed)
      .def_ro("signed_file", &OpenReport::signed_file, "There is a signature.")
      .def_ro("key_id", &OpenReport::key_id,
              "SHA-256 of the public key that it names, hexadecimal; empty if there is none.")
      .def_ro("signature_verified", &OpenReport::signature_verified, "It was checked, with one of trusted_keys.")
      .def_ro("filesystem", &OpenReport::filesystem)
      .def_ro("remote_filesystem", &OpenReport::remote_filesystem)
      .def_ro("file_size", &OpenReport::file_size, "Bytes.")
      .def_ro("committed_end", &OpenReport::committed_end, "Bytes.")
      .def_ro("dead_bytes", &OpenReport::dead_bytes,
              "That no record of this generation uses any more; compacting gives them back.")
      .def_ro("format_version", &OpenReport::format_version, "\"1.0\": of the file.")
      .def_ro("newer_features", &OpenReport::newer_features,
              "Feature bits of a newer version, whose fields this library does not read: \"ro_compat 0x4, compat "
              "0x1\"; empty: none.")
      .def_ro("uuid", &OpenReport::uuid)
      .def_prop_ro(
          "toc_hash", [](const OpenReport& self) { return to_hex(self.toc_hash.bytes); }, "Hexadecimal.")
      .def_ro("already_live", &OpenReport::already_live,
              "True if another open of this process had mapped the file; nothing was read then.")
      .def_prop_ro(
          "verify", [](const OpenReport& self) { return to_str(verify_policy_name(self.verify)); },
          "\"record_on_acquire\", \"none\", \"private_copy\" or \"beside_load\".")
      .def_ro("mapped", &OpenReport::mapped, "False: views are copies, one per record and process.")
      .def_ro("copy_reason", &OpenReport::copy_reason, "Why views are copies; empty if they are mapped.")
      .def_ro("copied_records", &OpenReport::copied_records,
              "Number of records whose views are copies although the file is mapped.")
      .def_ro("copied_records_reason", &OpenReport::copied_records_reason, "Why the first of them is.")
      .def("__repr__", [](const OpenReport& self) {
        return fmt::format("<fatctx.OpenReport generation {} of {}, {} bytes on {}{}{}>", self.generation, self.uuid,
                           self.file_size, self.filesystem, self.already_live ? ", already live" : "",
                           self.degraded.empty() ? "" : fmt::format(", {} copies damaged", self.degraded.size()));
      });
  nb::class_<VerifyReport>(module, "VerifyReport", "The outcome of a check. True in a condition if the file is whole.")
      .def_ro("checked_bytes", &VerifyReport::checked_bytes)
      .def_ro("absent_bytes", &VerifyReport::absent_bytes,
              "Bytes of the file that are not present. A partial container has no finding but NotPresent.")
      .def_ro("key_id", &VerifyReport::key_id, "As in OpenReport.")
      .def_ro("signature_verified", &VerifyReport::signature_verified)
      .def_prop_ro(
          "findings", [](const VerifyReport& self) { return findings_list(self.findings); },
          nb::sig("def findings(self) -> list[fatctx.errors.Error]"),
          "One exception object per damage, not raised; empty for a whole file.")
      .def("__bool__", [](const VerifyReport& self) { return self.findings.empty(); })
      .def("__repr__", [](const VerifyReport& self) {
        return fmt::format("<fatctx.VerifyReport {} bytes checked, {} findings>", self.checked_bytes,
                           self.findings.size());
      });
}

void bind_tensor_table(nb::module_& module) {
  nb::class_<BoundTensorTable>(
      module, "TensorTable",
      "The tensors of one weight blob by name, in bytewise order of the names.\n\n"
      "`table[name]` and `table.values()` make views without a copy; see WeightView. Parsed and checked once.\n"
      "Ownership: keeps the mapping alive. Threads: usable from any number of threads.")
      .def_prop_ro(
          "record_id", [](const BoundTensorTable& self) { return self.table.weights_id(); }, "Id of the weight blob.")
      .def_prop_ro(
          "names", [](const BoundTensorTable& self) { return names_of(self.table); },
          nb::sig("def names(self) -> list[str]"))
      .def(
          "keys", [](const BoundTensorTable& self) { return names_of(self.table); },
          nb::sig("def keys(self) -> list[str]"))
      .def(
          "values",
          [](const BoundTensorTable& self) {
            nb::list views;
            for (std::size_t index = 0; index < self.table.size(); ++index) views.append(weight_at(self, index));
            return views;
          },
          nb::sig("def values(self) -> list[WeightView]"))
      .def(
          "items",
          [](const BoundTensorTable& self) {
            nb::list items;
            for (std::size_t index = 0; index < self.table.size(); ++index) {
              items.append(nb::make_tuple(to_str(self.table.at(index).name), weight_at(self, index)));
            }
            return items;
          },
          nb::sig("def items(self) -> list[tuple[str, WeightView]]"))
      .def(
          "get",
          [](const BoundTensorTable& self, const std::string& name, nb::object fallback) {
            if (!contains(self.table, name)) return fallback;
            return nb::cast(BoundWeightView(take(without_gil([&] { return self.table.view(name); }))));
          },
          nb::arg("name"), nb::arg("default") = nb::none(),
          nb::sig("def get(self, name: str, default: typing.Any = None) -> typing.Any"))
      .def(
          "__getitem__",
          [](const BoundTensorTable& self, const std::string& name) {
            return BoundWeightView(take(without_gil([&] { return self.table.view(name); })));
          },
          nb::arg("name"), "Raises NotFound (a KeyError), naming the nearest name.")
      .def(
          "__contains__",
          [](const BoundTensorTable& self, nb::handle name) {
            std::string text;  // a str that is not UTF-8 names nothing
            return nb::isinstance<nb::str>(name) && nb::try_cast(name, text) && contains(self.table, text);
          },
          nb::arg("name"), nb::sig("def __contains__(self, name: object) -> bool"))
      .def(
          "__iter__", [](const BoundTensorTable& self) { return nb::iter(names_of(self.table)); },
          nb::sig("def __iter__(self) -> typing.Iterator[str]"))
      .def("__len__", [](const BoundTensorTable& self) { return self.table.size(); })
      .def("__repr__", [](const BoundTensorTable& self) {
        return fmt::format("<fatctx.TensorTable of {}, {} tensors>", quoted(self.blob.name), self.table.size());
      });
}

void bind_container_class(nb::module_& module) {
  nb::class_<Container>(
      module, "Container", nb::is_weak_referenceable(),
      "An open container: its records, its open report, and read-only views of its bytes.\n\n"
      "There is nothing to close: the mapping, one per file and process, lives until the last container, model,\n"
      "session, view, memoryview and array of it is gone. The end of a `with` block calls check(), unless the block\n"
      "raised. Threads: every method from any number of threads.")
      .def(
          "__enter__", [](nb::handle self) { return nb::borrow(self); }, nb::sig("def __enter__(self) -> Container"))
      .def(
          "__exit__",
          [](const Container& self, nb::handle kind, nb::handle, nb::handle) {
            if (!kind.is_none()) return;  // the error of the block says more
            take_status(without_gil([&] { return self.check(); }));
          },
          nb::arg("kind").none(), nb::arg("error").none(), nb::arg("traceback").none(),
          nb::sig("def __exit__(self, kind: object, error: object, traceback: object) -> None"))
      .def_prop_ro(
          "report", [](const Container& self) { return take(without_gil([&] { return self.report(); })); },
          "Findings of the open. Reads the whole table of contents and raises its errors.")
      .def_prop_ro(
          "path", [](const Container& self) { return path_to_str(self.path()); }, nb::sig("def path(self) -> str"),
          "As given to open; \"fd 7\" for a descriptor.")
      .def(
          "reopen", [](const Container& self) { return take(without_gil([&] { return self.reopen(); })); },
          nb::sig("def reopen(self) -> Container"),
          "Opens again what this one was opened from, with the same options: the newest generation, or the file that\n"
          "replaced the old one. Shares the mapping if nothing changed. This container and its views stay as\n"
          "they are. Raises what open() raises.")
      .def(
          "check", [](const Container& self) { take_status(without_gil([&] { return self.check(); })); },
          nb::sig("def check(self) -> None"),
          "Is the file still what was opened, and were all mapped bytes present? Call it before you\n"
          "trust a result computed from views. Raises Changed, MappingLost (only with the guard installed) or Io.")
      .def_prop_ro(
          "records",
          [](const Container& self) {
            nb::list records;
            for (const RecordInfo& info : take(without_gil([&] { return self.records(); })))
              records.append(BoundRecord{self, info});
            return records;
          },
          nb::sig("def records(self) -> list[Record]"),
          "All records by ascending id. If the table of contents is larger than 64 KiB, an open reads only its head. "
          "This\n"
          "reads the rest and raises its errors: Malformed, ChecksumMismatch and others.")
      .def(
          "record",
          [](const Container& self, nb::handle record) {
            return BoundRecord{self, find_record(self, record)};
          },
          nb::arg("record"), nb::sig("def record(self, record: int | str) -> Record"),
          "The facts of one record, by id or name. Raises NotFound, listing the names that exist.")
      .def(
          "describe", [](const Container& self) { return take(without_gil([&] { return self.describe(); })); },
          "Reads the description. Raises Malformed, ChecksumMismatch, Io.")
      .def(
          "info_json",
          [](const Container& self, bool graphs, bool options, bool sharing, bool extents, bool present,
             nb::handle tensors_of) {
            InfoParts parts{
                .graphs = graphs, .options = options, .sharing = sharing, .extents = extents, .present = present};
            if (!tensors_of.is_none()) parts.tensors_of = find_record(self, tensors_of).id;
            return take(without_gil([&]() -> Result<std::string> {
              FATCTX_ASSIGN(const ContainerDescription description, self.describe());
              return info_json(self, description, parts);
            }));
          },
          nb::kw_only(), nb::arg("graphs") = false, nb::arg("options") = false, nb::arg("sharing") = false,
          nb::arg("extents") = false, nb::arg("present") = false, nb::arg("tensors_of") = nb::none(),
          nb::sig("def info_json(self, *, graphs: bool = False, options: bool = False, sharing: bool = False, "
                  "extents: bool = False, present: bool = False, "
                  "tensors_of: int | str | None = None) -> str"),
          "File and records as JSON, schema \"fatctx.info/1\": what `fatctx info --json` prints.\n\n"
          "extents: also the place of everything in the file, for tools that fetch or mend parts of it;\n"
          "sharing: also what records share and could share, their layout groups, and what one chip alone would hold;\n"
          "reads and verifies the payload. present: looks for absent bytes in the payload, as absent() does,\n"
          "and not only in holes of the file. tensors_of: also the tensors of a weight blob, by the blob's id or "
          "name.\n"
          "Releases the GIL. Raises what describe() raises; with sharing also what measure_sharing() raises, with\n"
          "tensors_of what tensors() raises.")
      .def(
          "same_bytes",
          [](const Container& self, nb::handle record) {
            return same_bytes_as(find_record(self, record), take(self.records()));
          },
          nb::arg("record"), nb::sig("def same_bytes(self, record: int | str) -> list[int]"),
          "Ids of the other records that use the same bytes as this one. Raises NotFound.")
      .def(
          "absent",
          [](const Container& self, nb::handle record, bool read_payload) {
            const PresenceOptions options{.read_payload = read_payload};
            const std::optional<std::uint32_t> id =
                record.is_none() ? std::nullopt : std::optional(find_record(self, record).id);
            const auto ranges = take(without_gil([&]() -> Result<std::vector<ByteRange>> {
              if (id) return find_absent(self, *id, options);
              FATCTX_ASSIGN(PresenceReport report, find_absent(self, options));
              return std::move(report.absent);
            }));
            std::vector<std::pair<std::uint64_t, std::uint64_t>> pairs;
            pairs.reserve(ranges.size());
            for (const ByteRange& range : ranges) pairs.emplace_back(range.offset, range.size);
            return pairs;
          },
          nb::arg("record") = nb::none(), nb::kw_only(), nb::arg("read_payload") = true,
          nb::sig("def absent(self, record: int | str | None = None, *, read_payload: bool = True) "
                  "-> list[tuple[int, int]]"),
          "The ranges (offset, size) of the file that a partial container should have and does not: those that one\n"
          "record needs, or all of them. Empty if everything is present.\n\n"
          "read_payload: looks for zeros in the payload and reads about a page of each 64 KiB; False: only holes of\n"
          "the file count, and no payload is read. Releases the GIL. Raises NotFound, Truncated, Io.")
      .def(
          "access_path",
          [](const Container& self, nb::handle record) {
            const std::uint32_t id = find_record(self, record).id;
            return to_str(access_path_name(take(without_gil([&] { return self.access_path_of(id); }))));
          },
          nb::arg("record"), nb::sig("def access_path(self, record: int | str) -> str"),
          "How a view of the record comes to be (see RecordView.access_path), without making one.\n\n"
          "Raises NotFound, Unsupported, CopyNotAllowed; for a recipe, whose program is read, what acquire() raises.")
      .def(
          "acquire",
          [](const Container& self, nb::handle record) { return acquire_record(self, find_record(self, record)); },
          nb::arg("record"), nb::sig("def acquire(self, record: int | str) -> RecordView"),
          "A view of one record's bytes, by id or name, verified by the open policy (once per mapping). No copy.\n\n"
          "Raises NotFound, Unsupported (also for a record with a codec: see read()), ChecksumMismatch (with "
          "record_id\n"
          "and file_offset), Io, Truncated.")
      .def(
          "await_checks", [](const Container& self) { take_status(without_gil([&] { return self.await_checks(); })); },
          nb::sig("def await_checks(self) -> None"),
          "Waits for the checks that verify=\"beside_load\" has begun: acquire() hands out a view at once, and a "
          "thread\n"
          "checks its record meanwhile. Returns at once with other policies. Raises what acquire() raises.")
      .def(
          "read_into",
          [](const Container& self, nb::handle record, nb::object memory, const std::string& method, bool keep_cached,
             std::uint32_t threads, nb::object progress) {
            return read_into(self, find_record(self, record).id, memory,
                             {.method = known_word(read_method_from_name(method), "method", method, &read_method_name),
                              .keep_cached = keep_cached,
                              .threads = threads},
                             std::move(progress));
          },
          nb::arg("record"), nb::arg("memory"), nb::kw_only(), nb::arg("method") = "auto",
          nb::arg("keep_cached") = false, nb::arg("threads") = 0, nb::arg("progress") = nb::none(),
          nb::sig("def read_into(self, record: int | str, memory: typing.Any, *, method: str = \"auto\", "
                  "keep_cached: bool = False, threads: int = 0, "
                  "progress: typing.Callable[[int, int], object] | None = None) -> ReadReport"),
          "Reads a record into a writable buffer of exactly its size, for consumers that cannot take mapped memory.\n\n"
          "Several threads read and check a large record, and leave nothing of it in the page cache that was not\n"
          "there before. `method`: \"auto\" chooses by what the page cache has, the size and the filesystem, and the\n"
          "report says why; \"direct\" or \"cached\". After an error the content of the buffer is undefined.\n"
          "Raises InvalidArgument (another size), and what read() raises.")
      .def(
          "read", [](const Container& self, nb::handle record) { return read_record(self, find_record(self, record)); },
          nb::arg("record"), nb::sig("def read(self, record: int | str) -> bytes"),
          "All bytes of a record as a copy; for one with a codec, which has no view, the bytes that it yields.\n\n"
          "Read with pread and checked whatever the open policy: every leaf, and the record's hash. Releases the GIL.\n"
          "Raises NotFound, Unsupported, ChecksumMismatch, Codec, Truncated, Changed, Io.")
      .def(
          "stream",
          [](const Container& self, nb::handle record, nb::object sink, nb::object progress) {
            stream_to(self, find_record(self, record).id, sink, std::move(progress));
          },
          nb::arg("record"), nb::arg("sink"), nb::kw_only(), nb::arg("progress") = nb::none(),
          nb::sig("def stream(self, record: int | str, sink: typing.Callable[[bytes], object], *, "
                  "progress: typing.Callable[[int, int], object] | None = None) -> None"),
          "The same in pieces of at most 1 MiB: `sink(piece)` on this thread, in order. An exception of\n"
          "`sink` or `progress` ends the stream and is raised here. The last error may come after the last piece.\n"
          "Raises what read() raises.")
      .def(
          "extract",
          [](const Container& self, nb::handle record, nb::handle path, bool overwrite, nb::object progress) {
            extract_to(self, find_record(self, record).id, path, overwrite, std::move(progress));
          },
          nb::arg("record"), nb::arg("path"), nb::kw_only(), nb::arg("overwrite") = false,
          nb::arg("progress") = nb::none(),
          nb::sig("def extract(self, record: int | str, path: str | bytes | os.PathLike, *, overwrite: bool = False, "
                  "progress: typing.Callable[[int, int], object] | None = None) -> None"),
          "The same into a file that appears whole or not at all. Raises also Exists (without `overwrite`), NoSpace,\n"
          "CommitUnknown.")
      .def(
          "prefetch",
          [](const Container& self, nb::handle record, nb::object max_bytes, nb::object progress) {
            return prefetch_record(self, find_record(self, record).id, std::move(max_bytes), std::move(progress));
          },
          nb::arg("record"), nb::kw_only(), nb::arg("max_bytes") = nb::none(), nb::arg("progress") = nb::none(),
          nb::sig("def prefetch(self, record: int | str, *, max_bytes: int | None = None, "
                  "progress: typing.Callable[[int, int], object] | None = None) -> PrefetchReport"),
          "Brings the pages of one record into memory, so that first touches do not wait for the disk.\n\n"
          "Checks nothing and touches no page itself. `progress(done_bytes, asked_bytes)` is called after each step "
          "of\n"
          "at most 4 MiB; what it raises stops the work and is raised here. Releases the GIL.\n"
          "Raises NotFound, Unsupported, Changed, Io, NoResource.")
      .def(
          "prefetch_in_background",
          [](const Container& self, nb::handle record, nb::object max_bytes) {
            return prefetch_in_background(self, find_record(self, record).id, std::move(max_bytes));
          },
          nb::arg("record"), nb::kw_only(), nb::arg("max_bytes") = nb::none(),
          nb::sig("def prefetch_in_background(self, record: int | str, *, max_bytes: int | None = None) -> Prefetch"),
          "The same on a thread of its own. Raises NotFound, Unsupported, NoResource; the others come from wait().")
      .def(
          "release",
          [](const Container& self, nb::handle record, bool keep_cached) {
            const std::uint32_t id = find_record(self, record).id;
            return take(without_gil([&] { return self.release(id, {.keep_cached = keep_cached}); }));
          },
          nb::arg("record"), nb::kw_only(), nb::arg("keep_cached") = false,
          nb::sig("def release(self, record: int | str, *, keep_cached: bool = False) -> ReleaseReport"),
          "Gives back the memory of one record: whole pages that hold nothing else. Views stay valid and come back\n"
          "from the file when they are touched. keep_cached: only this process gives them back.\n\n"
          "Raises NotFound, Unsupported, OperationNotPermitted (it is locked).")
      .def(
          "lock",
          [](const Container& self, nb::handle record) { return lock_record(self, find_record(self, record).id); },
          nb::arg("record"), nb::sig("def lock(self, record: int | str) -> RecordLock"),
          "Acquires the record and keeps its pages in memory while the lock is held.\n\n"
          "Raises what acquire raises, and NoResource naming RLIMIT_MEMLOCK and the bytes.")
      .def(
          "tensors",
          [](const Container& self, nb::handle weights) {
            const RecordInfo blob = find_record(self, weights);
            TensorTable table = take(without_gil([&] { return self.tensors(blob.id); }));
            return BoundTensorTable{self, blob, std::move(table)};
          },
          nb::arg("weights"), nb::sig("def tensors(self, weights: int | str) -> TensorTable"),
          "The tensors of a weight blob, by the blob's id or name.\n\n"
          "Raises what acquire raises, NotFound if the blob has no table, and Malformed.")
      .def(
          "tensor",
          [](const Container& self, nb::handle weights, const std::string& name) {
            const std::uint32_t blob = find_record(self, weights).id;
            return BoundWeightView(take(without_gil([&] { return self.tensor(blob, name); })));
          },
          nb::arg("weights"), nb::arg("name"), nb::sig("def tensor(self, weights: int | str, name: str) -> WeightView"),
          "One tensor of a weight blob. Compares the hashes of its own bytes and not of the whole blob, and reads a "
          "few\n"
          "pages of the table: one tensor of a large file costs what it is itself.\n\n"
          "Raises what tensors raises, and NotFound (a KeyError), naming the nearest name.")
      .def(
          "verify",
          [](const Container& self, nb::object record, nb::object range, bool strict, std::uint32_t threads,
             nb::object progress) {
            ProgressCall call(std::move(progress));
            const VerifyOptions options = verify_options(call, range, strict, threads);
            if (record.is_none()) return call.run([&] { return self.verify(options); });
            const std::uint32_t id = find_record(self, record).id;
            return call.run([&] { return self.verify_record(id, options); });
          },
          nb::arg("record") = nb::none(), nb::kw_only(), nb::arg("range") = nb::none(), nb::arg("strict") = false,
          nb::arg("threads") = 0, nb::arg("progress") = nb::none(),
          nb::sig("def verify(self, record: int | str | None = None, *, range: tuple[int, int] | None = None, "
                  "strict: bool = False, threads: int = 0, "
                  "progress: typing.Callable[[int, int], object] | None = None) -> VerifyReport"),
          "Checks everything, or one record, reading all its bytes. Damage is a finding of the report, not an\n"
          "exception.\n\n"
          "range: (offset, size): only the leaves that cover these bytes of the file, or of the record.\n"
          "strict: judges the file as if it were for delivery: an unfinished append and unused bytes are findings.\n"
          "threads: that read and hash; 0 for as many as there are processors, at most 8.\n"
          "progress: progress(done_bytes, total_bytes) is called on this thread; what it raises stops the check\n"
          "and is raised.\n"
          "Raises InvalidArgument for a range outside and for strict with a range or record, Io and the like when\n"
          "the check itself cannot go on.")
      .def(
          "select",
          [](const Container& self, nb::object device, const nb::kwargs& policy) {
            nb::dict keywords = nb::cast<nb::dict>(policy.attr("copy")());
            const SelectPolicy select_policy = take_policy(keywords);
            ModelKeywords model_keywords = take_model_keywords(keywords);
            const std::string allowed = fmt::format("{}, {}", kPolicyKeywords, kModelKeywords);
            refuse_unknown_keywords(keywords, allowed.c_str());
            return choose_model(self, device, select_policy, model_keywords);
          },
          nb::arg("device") = nb::none(), nb::arg("policy"),
          nb::sig("def select(self, device: Device | str | None = None, *, " FATCTX_POLICY_KEYWORDS
                  ", " FATCTX_MODEL_KEYWORDS ") -> Model"),
          "Chooses the best target for `device` (None: this machine) and returns the model. `on_damage` and\n"
          "`prepare` as of open_model().\n\n"
          "Raises NoMatch with the reason for every record, InvalidArgument. fatctx.select() never raises NoMatch.")
      .def("__len__", [](const Container& self) { return self.record_count(); })
      .def("__repr__", [](const Container& self) {
        const OpenReport report = take(self.report());
        return fmt::format("<fatctx.Container {} generation {}, {} records, {} bytes>",
                           nb::cast<std::string>(nb::repr(path_to_str(report.path))), report.generation,
                           self.record_count(), report.file_size);
      });
}

}  // namespace

nb::list findings_list(const std::vector<VerifyFinding>& found) {
  nb::list findings;
  for (const VerifyFinding& finding : found) {
    try {
      raise_error(finding.error);
    } catch (nb::python_error& error) {
      findings.append(error.value());
    }
  }
  return findings;
}

OpenOptions take_open_options(nb::dict& keywords, const char* strict) {
  OpenOptions options;
  options.verify = verify_from(
      take_keyword<std::string>(keywords, "verify", std::string(verify_policy_name(options.verify)), "a str"));
  options.require_local = take_keyword(keywords, "require_local", options.require_local, "a bool");
  options.strict = take_keyword(keywords, strict, options.strict, "a bool");
  options.file_mapping = file_mapping_from(take_keyword<std::string>(
      keywords, "file_mapping", std::string(file_mapping_name(options.file_mapping)), "a str"));
  options.max_copied_bytes = take_keyword(keywords, "max_copied_bytes", options.max_copied_bytes, "an int from 0 on");
  if (keywords.contains("cache_folder")) {
    const nb::object folder = keywords["cache_folder"];
    nb::del(keywords["cache_folder"]);
    if (!folder.is_none()) options.cache_folder = path_from(folder);
  }
  options.cache_limit_bytes =
      take_keyword(keywords, "cache_limit_bytes", options.cache_limit_bytes, "an int from 0 on");
  options.generation = take_keyword(keywords, "generation", options.generation, "an int from 0 on");
  options.max_made_bytes = take_keyword(keywords, "max_made_bytes", options.max_made_bytes, "an int from 0 on");
  if (keywords.contains("trusted_keys")) {
    const nb::object keys = keywords["trusted_keys"];
    nb::del(keywords["trusted_keys"]);
    options.trusted_keys = trusted_keys_from(keys);
  }
  options.minimum_generation =
      take_keyword(keywords, "minimum_generation", options.minimum_generation, "an int from 0 on");
  options.follow_symlinks = take_keyword(keywords, "follow_symlinks", options.follow_symlinks, "a bool");
  return options;
}

void refuse_unknown_keywords(const nb::dict& keywords, const char* allowed) {
  for (const auto& [name, value] : keywords) {
    std::string shown;  // escaped if it is not UTF-8
    if (!nb::try_cast(name, shown)) shown = nb::cast<std::string>(nb::repr(name));
    const std::string text = fmt::format("unknown keyword {}; allowed are {}", shown, allowed);
    throw nb::type_error(text.c_str());
  }
}

FileWindow take_window(nb::dict& keywords) {
  return {.offset = take_keyword(keywords, "offset", std::uint64_t{0}, "an int that is not negative"),
          .size = take_keyword(keywords, "size", std::uint64_t{0}, "an int that is not negative")};
}

Container open_container(nb::handle file, const OpenOptions& options) {
  if (PyLong_Check(file.ptr()) != 0 && PyBool_Check(file.ptr()) == 0) {
    const int descriptor = nb::cast<int>(file);
    return take(without_gil([&] { return Container::open(Source::of_descriptor(descriptor), options); }));
  }
  const std::string path = path_from(file);
  return take(without_gil([&] { return Container::open(path, options); }));
}

void bind_container(nb::module_& module) {
  bind_report(module);
  bind_tensor_table(module);
  bind_container_class(module);
  module.def(
      "open",
      [](nb::handle file, const nb::kwargs& open_keywords) {
        nb::dict keywords = nb::cast<nb::dict>(open_keywords.attr("copy")());
        const OpenOptions options = take_open_options(keywords);
        const FileWindow window = take_window(keywords);
        refuse_unknown_keywords(keywords, FATCTX_OPEN_KEYWORD_LIST ", offset, size");
        if (window == FileWindow{}) return open_container(file, options);
        if (PyLong_Check(file.ptr()) == 0 || PyBool_Check(file.ptr()) != 0) {
          throw nb::type_error("offset and size go with a descriptor: open the file and hand in its number");
        }
        const int descriptor = nb::cast<int>(file);
        return take(without_gil([&] { return Container::open(Source::of_descriptor(descriptor, window), options); }));
      },
      nb::arg("file"), nb::arg("open_keywords"),
      nb::sig("def open(file: str | bytes | os.PathLike | int, *, offset: int = 0, size: int = 0, " FATCTX_OPEN_KEYWORDS
              ") -> Container"),
      "Opens a container, or joins the mapping that this process already has of the same file.\n\n"
      "Args:\n"
      "    file: a path, or a descriptor (int), which stays the caller's and may be closed afterwards.\n"
      "    offset, size: the part of a descriptor's file that is the container, in bytes; offset is a multiple of "
      "4096,\n"
      "        size 0 means to the end.\n"
      "    verify: \"record_on_acquire\" checks the payload a view touches, once per mapping; \"none\" never;\n"
      "        \"private_copy\" hands out checked copies in sealed memory, which nobody can change any more;\n"
      "        \"beside_load\" hands out a view at once and checks it on a thread: call await_checks() before you\n"
      "        believe a result.\n"
      "    require_local: refuse network and FUSE filesystems.\n"
      "    strict: check the whole table of contents. Otherwise an open checks one of at most 64 KiB, and the head of "
      "a\n"
      "        larger one, whose rows are checked when they are used.\n"
      "    follow_symlinks: False refuses a path whose last part is a symbolic link.\n"
      "    file_mapping: \"auto\" maps; \"require\" makes CopyNotAllowed of whatever would lead to a copy; "
      "\"disabled\"\n"
      "        gives copies, one per record and process, shared by all sessions.\n"
      "    max_copied_bytes: memory that views of records that share their bytes at any offset may take to be\n"
      "        composed; without enough of it acquire() raises CopyNotAllowed with the number.\n"
      "    cache_folder: a folder of mode 0700 in whose files processes share the bytes built for such views,\n"
      "        instead of using that memory; naming it is the permission.\n"
      "    cache_limit_bytes: size limit of all files in it, 0 means 4 GiB; the least recently used are removed.\n"
      "    generation: an earlier state of a container that was appended to; 0 is the newest. FileNotFound names "
      "those\n"
      "        that exist.\n"
      "    max_made_bytes: the most bytes that one call may make of what the container stores; beyond it "
      "LimitExceeded.\n"
      "        0 means 1 GiB, or 100 times the stored bytes if that is more.\n"
      "    trusted_keys: one of these must have signed the container; payload is then compared with the SHA-256 that\n"
      "        was signed. None asks for no signature.\n"
      "    minimum_generation: an older one is refused: an old file that was put back.\n\n"
      "Reads the 64 KiB header and the table of contents, never payload. Releases the GIL while reading.\n"
      "Raises FileNotFound, Io, NotRegularFile, Truncated, TrailingData, BadMagic, Unsupported, Malformed,\n"
      "ChecksumMismatch, LimitExceeded, BadReference, Changed, RemoteFilesystem, NoResource, OutOfMemory,\n"
      "SignatureMissing, SignatureBad, Rollback.");
  module.def(
      "open_memory",
      [](nb::handle buffer, const nb::kwargs& open_keywords) {
        nb::dict keywords = nb::cast<nb::dict>(open_keywords.attr("copy")());
        const OpenOptions options = take_open_options(keywords);
        refuse_unknown_keywords(keywords, FATCTX_OPEN_KEYWORD_LIST);
        auto held = std::make_shared<const HeldBuffer>(buffer);
        const ByteView bytes = held->bytes();
        return take(without_gil([&] { return Container::open(Source::of_memory(bytes, std::move(held)), options); }));
      },
      nb::arg("buffer"), nb::arg("open_keywords"),
      nb::sig("def open_memory(buffer: Buffer, *, " FATCTX_OPEN_KEYWORDS ") -> Container"),
      "Opens a container that is already in memory: bytes, a memoryview, an mmap.mmap, a NumPy array. Copies "
      "nothing.\n\n"
      "Holds the buffer until the last container, session, view and array of it is gone; it must not be changed\n"
      "meanwhile. Raises what open() raises, and BufferError for a buffer that is not one run of bytes.");
  module.def(
      "verify_file",
      [](nb::handle file, nb::object range, bool strict, std::uint32_t threads, nb::object progress,
         std::uint64_t generation, std::uint64_t max_made_bytes, nb::object trusted_keys,
         std::uint64_t minimum_generation) {
        const std::string path = path_from(file);
        ProgressCall call(std::move(progress));
        const VerifyOptions options = verify_options(call, range, strict, threads);
        OpenOptions open;
        open.generation = generation;
        open.max_made_bytes = max_made_bytes;
        open.trusted_keys = trusted_keys_from(trusted_keys);
        open.minimum_generation = minimum_generation;
        return call.run([&] { return verify_file(path, options, open); });
      },
      nb::arg("file"), nb::kw_only(), nb::arg("range") = nb::none(), nb::arg("strict") = false, nb::arg("threads") = 0,
      nb::arg("progress") = nb::none(), nb::arg("generation") = 0, nb::arg("max_made_bytes") = 0,
      nb::arg("trusted_keys") = nb::none(), nb::arg("minimum_generation") = 0,
      nb::sig("def verify_file(file: str | bytes | os.PathLike, *, range: tuple[int, int] | None = None, "
              "strict: bool = False, threads: int = 0, "
              "progress: typing.Callable[[int, int], object] | None = None, generation: int = 0, "
              "max_made_bytes: int = 0, " FATCTX_TRUST_KEYWORDS ") -> VerifyReport"),
      "Checks every byte of a file, also one that open() refuses: the broken rule is then the finding, and so is a\n"
      "signature that trusted_keys or a generation that minimum_generation refuse.\n\n"
      "The options are those of Container.verify and open(). Raises FileNotFound, NotFound (there is no such\n"
      "generation), Io, NotRegularFile, InvalidArgument, LimitExceeded (it would make more than max_made_bytes).");
}

}  // namespace fatctx::python
