#include "append.h"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "errors.h"
#include "fatctx/appender.h"
#include "pack.h"
#include "progress.h"
#include "records.h"

namespace fatctx::python {
namespace {

AppendOptions append_options(bool replace, std::uint32_t threads, bool one_per_soc, bool strict_sharing,
                             const std::optional<std::string>& sharing) {
  AppendOptions options;
  options.replace = replace;
  options.threads = threads;
  options.one_per_soc = one_per_soc;
  options.strict_sharing = strict_sharing;
  if (sharing) options.sharing = sharing_from(*sharing);
  return options;
}

// An Appender with the function that gets its progress: that of the caller of commit().
class BoundAppender {
 public:
  BoundAppender(std::string path, AppendOptions options) : path_(std::move(path)) {
    options.progress = [calls = &calls_](std::uint64_t done, std::uint64_t total) {
      if (calls->callback) calls->callback(done, total);
    };
    appender_.emplace(take(without_gil([&] { return Appender::open(path_, options); })));
  }
  BoundAppender(const BoundAppender&) = delete;
  BoundAppender& operator=(const BoundAppender&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] bool closed() const noexcept { return !appender_.has_value(); }
  void add(const PackRecord& record) { take_status(usable().add(record)); }
  [[nodiscard]] AppendReport commit(nb::object progress) {
    Appender& appender = usable();
    ProgressCall call(std::move(progress));
    calls_.callback = call.callback();
    return call.run([&] { return appender.commit(); });  // afterwards no callback runs
  }
  void note(const std::string& record, EvidenceNote note) { take_status(usable().note(record, std::move(note))); }
  void close() noexcept { appender_.reset(); }

 private:
  struct Calls {
    Progress callback;
  };
  [[nodiscard]] Appender& usable() {
    if (appender_) return *appender_;
    raise_error(Error{ErrorCode::kOperationNotPermitted, path_ + ": this appender is closed; open it again"});
  }

  std::string path_;
  Calls calls_;
  std::optional<Appender> appender_;
};

void bind_append_report(nb::module_& module) {
  nb::class_<AppendReport>(module, "AppendReport", "Result of an append.")
      .def_prop_ro(
          "path", [](const AppendReport& self) { return path_to_str(self.path); }, nb::sig("def path(self) -> str"))
      .def_ro("uuid", &AppendReport::uuid, "UUID of the container; unchanged.")
      .def_ro("generation", &AppendReport::generation, "The generation that this append made.")
      .def_ro("file_size_before", &AppendReport::file_size_before, "Bytes.")
      .def_ro("file_size", &AppendReport::file_size, "Bytes.")
      .def_ro("input_bytes", &AppendReport::input_bytes, "Sum of the logical sizes of the added records.")
      .def_ro("stored_bytes", &AppendReport::stored_bytes, "Payload bytes that were written.")
      .def_ro("shared_bytes", &AppendReport::shared_bytes, "Bytes found in the file, or in another added record.")
      .def_ro("dead_bytes", &AppendReport::dead_bytes, "Bytes of the whole file that no record uses any more.")
      .def_ro("records", &AppendReport::records, "One report for each added record, by ascending id.")
      .def_ro("superseded", &AppendReport::superseded, "Names of records that were replaced.")
      .def_ro("restored", &AppendReport::restored, "Copies of metadata that were damaged and are whole again.")
      .def_ro("warnings", &AppendReport::warnings)
      .def("__repr__", [](const AppendReport& self) {
        return fmt::format("<fatctx.AppendReport generation {}: {} records, {} bytes in, {} bytes stored, {} shared>",
                           self.generation, self.records.size(), self.input_bytes, self.stored_bytes,
                           self.shared_bytes);
      });
}

void bind_appender(nb::module_& module) {
  nb::class_<BoundAppender>(
      module, "Appender",
      "Adds records to a container in place; append() is this in one call.\n\n"
      "Holds the file's write lock until it is closed, so that nobody else appends between a look at the file and\n"
      "commit(). A context manager: leaving it without commit() leaves the file as it was. One thread at a time, and\n"
      "not in a process that was forked off meanwhile.")
      .def(
          "__init__",
          [](BoundAppender* self, nb::handle path, bool replace, std::uint32_t threads, bool one_per_soc,
             bool strict_sharing, const std::optional<std::string>& sharing) {
            new (self)
                BoundAppender(path_from(path), append_options(replace, threads, one_per_soc, strict_sharing, sharing));
          },
          nb::arg("path"), nb::kw_only(), nb::arg("replace") = false, nb::arg("threads") = 0,
          nb::arg("one_per_soc") = false, nb::arg("strict_sharing") = false, nb::arg("sharing") = nb::none(),
          nb::sig("def __init__(self, path: str | os.PathLike, *, replace: bool = False, threads: int = 0, "
                  "one_per_soc: bool = False, strict_sharing: bool = False, sharing: str | None = None) -> None"),
          "replace=True: a record with the full key of an existing one supersedes it; otherwise Exists. The old one\n"
          "stays in its own generation. one_per_soc, strict_sharing: as of pack(); the records of the file count, "
          "too.\n"
          "sharing: \"pages\" or \"bytes\", which reads all of the file; None: as the records of the file share.\n\n"
          "Raises FileNotFound, Locked (somebody else is appending), OperationNotPermitted (the container is sealed, "
          "or\n"
          "the file may not be written), NotRegularFile (a link), RemoteFilesystem, Unsupported, and what open() "
          "raises.")
      .def_prop_ro(
          "path", [](const BoundAppender& self) { return path_to_str(self.path()); }, nb::sig("def path(self) -> str"))
      .def_prop_ro("closed", &BoundAppender::closed)
      .def("add", &BoundAppender::add, nb::arg("record"), nb::sig("def add(self, record: PackRecord) -> None"),
           "`weights` of the record may also name weight blobs that the file has. Writes nothing.\n\n"
           "Raises InvalidArgument, Exists, OperationNotPermitted (committed or closed).")
      .def(
          "note",
          [](BoundAppender& self, const std::string& record, std::string device, std::string metric, std::string value,
             std::string date, std::string tool) {
            self.note(record,
                      {std::move(device), std::move(tool), std::move(metric), std::move(value), std::move(date)});
          },
          nb::arg("record"), nb::kw_only(), nb::arg("device"), nb::arg("metric"), nb::arg("value"), nb::arg("date"),
          nb::arg("tool") = "",
          "Adds a note of evidence to the description of an existing record; Container.describe() returns it.\n\n"
          "date: a day, as \"2026-11-22\". All texts are the caller's own.\n"
          "Raises NotFound, InvalidArgument; commit() raises Exists if the same note already exists.")
      .def(
          "commit", &BoundAppender::commit, nb::kw_only(), nb::arg("progress") = nb::none(),
          nb::sig("def commit(self, *, progress: typing.Callable[[int, int], object] | None = None) -> AppendReport"),
          "Writes the added records behind the end of the file as the newest generation. May be called once.\n\n"
          "Readers of the old generation go on; Container.reopen() gives them the new one. Releases the GIL.\n"
          "An exception of `progress(done_bytes, total_bytes)` ends the work, as Ctrl-C does; the file opens as "
          "before.\n"
          "Raises BadReference, Changed, LimitExceeded, NoSpace, Io: the file opens as before. CommitUnknown: opening\n"
          "it tells which generation it has.")
      .def("close", &BoundAppender::close, "Releases the lock and discards what has not been committed.")
      .def(
          "__enter__", [](nb::object self) { return self; }, nb::sig("def __enter__(self) -> Appender"))
      .def(
          "__exit__", [](BoundAppender& self, nb::handle, nb::handle, nb::handle) { self.close(); },
          nb::arg("type").none(), nb::arg("value").none(), nb::arg("traceback").none(),
          nb::sig("def __exit__(self, type: object, value: object, traceback: object) -> None"))
      .def("__repr__", [](const BoundAppender& self) {
        return fmt::format("<fatctx.Appender of {}{}>", quoted(self.path()), self.closed() ? ", closed" : "");
      });
}

}  // namespace

void bind_append(nb::module_& module) {
  bind_append_report(module);
  bind_appender(module);
  module.def(
      "append",
      [](nb::handle path, nb::iterable records, bool replace, nb::object progress, std::uint32_t threads,
         bool one_per_soc, bool strict_sharing, const std::optional<std::string>& sharing) {
        BoundAppender appender(path_from(path), append_options(replace, threads, one_per_soc, strict_sharing, sharing));
        for (const nb::handle record : records) appender.add(nb::cast<PackRecord>(record));
        return appender.commit(std::move(progress));
      },
      nb::arg("path"), nb::arg("records"), nb::kw_only(), nb::arg("replace") = false, nb::arg("progress") = nb::none(),
      nb::arg("threads") = 0, nb::arg("one_per_soc") = false, nb::arg("strict_sharing") = false,
      nb::arg("sharing") = nb::none(),
      nb::sig(
          "def append(path: str | os.PathLike, records: typing.Iterable[PackRecord], *, replace: bool = False, "
          "progress: typing.Callable[[int, int], object] | None = None, threads: int = 0, one_per_soc: bool = False, "
          "strict_sharing: bool = False, sharing: str | None = None) -> AppendReport"),
      "Adds records to a container in place, without writing the rest again.\n\n"
      "The file is the old generation or the new one, whatever happens in between. Bytes that it has already are\n"
      "not stored again: whole records, runs on multiples of 64 KiB, and by bytes runs at any offset. Raises what "
      "Appender and its methods raise;\n"
      "the file is unchanged then, but for CommitUnknown.");
}

}  // namespace fatctx::python
