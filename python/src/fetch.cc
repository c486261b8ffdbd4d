#include "fetch.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "container.h"
#include "errors.h"
#include "fatctx/fetch_plan.h"
#include "held_buffer.h"
#include "progress.h"
#include "records.h"
#include "select.h"
#include "signature.h"

namespace fatctx::python {
namespace {

class BoundFetchPlan {
 public:
  BoundFetchPlan(const std::string& path, std::uint64_t source_bytes, FetchOptions options)
      : path_(path),
        plan_(fatctx::python::take(
            without_gil([&] { return FetchPlan::begin(path, source_bytes, std::move(options)); }))) {}
  BoundFetchPlan(const BoundFetchPlan&) = delete;
  BoundFetchPlan& operator=(const BoundFetchPlan&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] bool closed() const noexcept { return !plan_.has_value(); }
  [[nodiscard]] FetchPlan& usable() {
    if (plan_) return *plan_;
    raise_error(Error{ErrorCode::kOperationNotPermitted, path_ + ": this plan is closed; make another one"});
  }
  void close() noexcept { plan_.reset(); }

 private:
  std::string path_;
  std::optional<FetchPlan> plan_;
};

void bind_fetch_report(nb::module_& module) {
  nb::class_<FetchReport>(module, "FetchReport", "How far a fetch is.")
      .def_prop_ro(
          "path", [](const FetchReport& self) { return path_to_str(self.path); }, nb::sig("def path(self) -> str"))
      .def_ro("source_bytes", &FetchReport::source_bytes, "Size of the whole container.")
      .def_ro("generation", &FetchReport::generation, "Its generation; 0 until the table is there.")
      .def_ro("records", &FetchReport::records, "Names of the records that the file will have.")
      .def_ro("needed_bytes", &FetchReport::needed_bytes, "Payload of these records, in leaves of 64 KiB.")
      .def_ro("present_bytes", &FetchReport::present_bytes, "Bytes of these from a fetch that did not end.")
      .def_ro("reused_bytes", &FetchReport::reused_bytes, "Bytes of these from the seeds.")
      .def_ro("fetched_bytes", &FetchReport::fetched_bytes, "All bytes that were given to take().")
      .def_ro("degraded", &FetchReport::degraded, "Copies of metadata that the source has damaged.")
      .def("__repr__", [](const FetchReport& self) {
        return fmt::format("<fatctx.FetchReport: {} of {} bytes needed, {} fetched>", self.needed_bytes,
                           self.source_bytes, self.fetched_bytes);
      });
}

}  // namespace

void bind_fetch(nb::module_& module) {
  bind_fetch_report(module);
  nb::class_<BoundFetchPlan>(
      module, "FetchPlan",
      "Fetches a part of a container from anywhere: the plan names ranges, the caller brings their bytes.\n\n"
      "    plan = fatctx.FetchPlan(\"model.fatctx\", size, devices=[\"SM8650\"])\n"
      "    while plan.stage != \"done\":\n"
      "        for offset, size in plan.wanted():\n"
      "            plan.take(offset, download(offset, size))\n"
      "    plan.publish()\n\n"
      "Every byte is checked before it is written. Until publish() the file is PATH.fetching, and the next plan for "
      "PATH\n"
      "goes on with it. A context manager: leaving it keeps what came. One thread at a time.")
      .def(
          "__init__",
          [](BoundFetchPlan* self, nb::handle path, std::uint64_t source_bytes, bool all, const nb::iterable& records,
             const nb::iterable& devices, bool metadata, bool more, bool overwrite, const nb::iterable& seeds,
             nb::object trusted_keys, std::uint64_t minimum_generation, std::uint64_t gap_bytes,
             const std::string& group) {
            FetchOptions options;
            options.all = all;
            for (const nb::handle one : records) options.records.push_back(nb::cast<std::string>(one));
            for (const nb::handle one : devices) {
              const std::optional<Device> device = device_from(one);
              if (device) options.devices.push_back(*device);
            }
            options.metadata = metadata;
            options.more = more;
            options.overwrite = overwrite;
            options.seeds = paths_from(seeds);
            options.trusted_keys = trusted_keys_from(trusted_keys);
            options.minimum_generation = minimum_generation;
            options.gap_bytes = gap_bytes;
            options.policy.group = group;
            new (self) BoundFetchPlan(path_from(path), source_bytes, std::move(options));
          },
          nb::arg("path"), nb::arg("source_bytes"), nb::kw_only(), nb::arg("all") = false,
          nb::arg("records") = nb::make_tuple(), nb::arg("devices") = nb::make_tuple(), nb::arg("metadata") = false,
          nb::arg("more") = false, nb::arg("overwrite") = false, nb::arg("seeds") = nb::make_tuple(),
          nb::arg("trusted_keys") = nb::none(), nb::arg("minimum_generation") = 0,
          nb::arg("gap_bytes") = FetchOptions().gap_bytes, nb::arg("group") = "",
          nb::sig("def __init__(self, path: str | os.PathLike, source_bytes: int, *, all: bool = False, "
                  "records: typing.Iterable[str] = (), devices: typing.Iterable[Device | str] = (), "
                  "metadata: bool = False, more: bool = False, overwrite: bool = False, seeds: typing.Iterable[str | "
                  "os.PathLike] = (), "
                  "trusted_keys: typing.Iterable[PublicKey] | None = None, minimum_generation: int = 0, "
                  "gap_bytes: int = 131072, group: str = '') -> None"),
          "Begins a fetch, or goes on with one that did not end.\n\n"
          "Args:\n"
          "    path: the file to make.\n"
          "    source_bytes: size of the whole container at its source.\n"
          "    all: all records. With none of all, records, devices and more: those for this machine.\n"
          "    records: names of records; their weights come with them.\n"
          "    devices: devices, or their names, that select() chooses records for.\n"
          "    metadata: no payload, but header, tables and description. `records` are weight blobs whose tensor "
          "tables\n"
          "        come as well.\n"
          "    more: keep the records of a partial container at `path`, of the same generation.\n"
          "    overwrite: replace `path`.\n"
          "    seeds: containers that are here; equal leaves are copied from them.\n"
          "    trusted_keys, minimum_generation: as of open().\n"
          "    gap_bytes: ranges with at most so many bytes between them are fetched as one.\n"
          "    group: group of graphs; empty: the only one.\n\n"
          "Raises Exists, Locked (another process fetches to this path), OperationNotPermitted (PATH.fetching is "
          "somebody\n"
          "else's file), Truncated (an empty source), FileNotFound (a seed), and what open() raises of a seed.")
      .def_prop_ro(
          "stage", [](BoundFetchPlan& self) { return std::string(fetch_stage_name(self.usable().stage())); },
          nb::sig("def stage(self) -> str"), "\"header\", \"table\", \"hashes\", \"payload\" or \"done\".")
      .def_prop_ro(
          "missing_bytes", [](BoundFetchPlan& self) { return self.usable().missing_bytes(); },
          "Bytes that this stage lacks.")
      .def_prop_ro("report", [](BoundFetchPlan& self) { return self.usable().report(); })
      .def_prop_ro("closed", &BoundFetchPlan::closed)
      .def(
          "wanted",
          [](BoundFetchPlan& self) {
            nb::list ranges;
            for (const ByteRange& range : self.usable().wanted()) {
              ranges.append(nb::make_tuple(range.offset, range.size));
            }
            return ranges;
          },
          nb::sig("def wanted(self) -> list[tuple[int, int]]"),
          "Returns the ranges of the source that this stage lacks, as (offset, size), ascending.")
      .def(
          "take",
          [](BoundFetchPlan& self, std::uint64_t offset, nb::handle bytes) {
            const HeldBuffer buffer(bytes);
            FetchPlan& plan = self.usable();
            take_status(without_gil([&] { return plan.take(offset, buffer.bytes()); }));
          },
          nb::arg("offset"), nb::arg("bytes"), nb::sig("def take(self, offset: int, bytes: Buffer) -> None"),
          "Takes bytes of the source at `offset`: any part of the wanted ranges, in any order and any cut.\n\n"
          "Raises ChecksumMismatch (the bytes are not those of the container; they are wanted again), what open()\n"
          "raises of a table, NotFound (a record), NoMatch (a device), Changed (with `more`: the source has another\n"
          "generation), InvalidArgument (bytes behind the end of the source), NoSpace, Io.")
      .def(
          "use",
          [](BoundFetchPlan& self, nb::handle seed) {
            const std::string path = path_from(seed);
            FetchPlan& plan = self.usable();
            take_status(without_gil([&] { return plan.use(path); }));
          },
          nb::arg("seed"), nb::sig("def use(self, seed: str | bytes | os.PathLike) -> None"),
          "Copies equal leaves of a further container that is here.\n\n"
          "Raises OperationNotPermitted (the stage is not \"payload\"), NotFound, NoSpace, Io, what open() raises.")
      .def(
          "use_blocks",
          [](BoundFetchPlan& self, nb::handle index, nb::object progress) {
            const std::string path = path_from(index);
            FetchPlan& plan = self.usable();
            ProgressCall call(std::move(progress));
            call.run([&] { return plan.use_blocks(path, call.callback()); });
          },
          nb::arg("index"), nb::kw_only(), nb::arg("progress") = nb::none(),
          nb::sig("def use_blocks(self, index: str | bytes | os.PathLike, *, progress: typing.Callable[[int, int], "
                  "object] | None = None) -> None"),
          "Looks in the seeds for blocks of the container, at any offset, by its block index (make_block_index()).\n\n"
          "Afterwards wanted() joins ranges with at most 8 KiB between them. The index needs no trust: each leaf must\n"
          "match, or is wanted again. progress: progress(done_bytes, total_bytes) of the seeds.\n"
          "Raises OperationNotPermitted (the stage is not \"payload\"), Changed (it is the index of another container "
          "or\n"
          "generation), BadMagic, Unsupported, Malformed, Truncated, TrailingData, ChecksumMismatch, LimitExceeded,\n"
          "NotFound, NoSpace, Io.")
      .def(
          "use_update",
          [](BoundFetchPlan& self, nb::handle update, nb::object progress) {
            const std::string path = path_from(update);
            FetchPlan& plan = self.usable();
            ProgressCall call(std::move(progress));
            call.run([&] { return plan.use_update(path, call.callback()); });
          },
          nb::arg("update"), nb::kw_only(), nb::arg("progress") = nb::none(),
          nb::sig("def use_update(self, update: str | bytes | os.PathLike, *, progress: typing.Callable[[int, int], "
                  "object] | None = None) -> None"),
          "Makes the container by an update (make_update()), as far as the seeds have the bytes.\n\n"
          "The seeds may be partial containers: bytes that come from what they lack stay wanted. The update needs no\n"
          "trust: each leaf must match, or is wanted again. Until it returns it needs room for the whole container\n"
          "beside the file. progress: progress(done_bytes, total_bytes) of the whole container.\n"
          "Raises OperationNotPermitted (the stage is not \"payload\"), Changed (it makes another container or\n"
          "generation; or no seed is its old file), LimitExceeded, BadMagic, Unsupported, Malformed, Truncated,\n"
          "TrailingData, ChecksumMismatch, NotFound, NoSpace, Io.")
      .def(
          "publish",
          [](BoundFetchPlan& self) {
            FetchPlan& plan = self.usable();
            take_status(without_gil([&] { return plan.publish(); }));
          },
          "Writes the file to the disk and gives it its name.\n\n"
          "Raises OperationNotPermitted (bytes are missing), Exists, Locked, CommitUnknown, NoSpace, Io.")
      .def(
          "discard",
          [](BoundFetchPlan& self) {
            self.usable().discard();
            self.close();
          },
          "Removes the unfinished file.")
      .def("close", &BoundFetchPlan::close, "Ends the plan and keeps what came.")
      .def(
          "__enter__", [](nb::object self) { return self; }, nb::sig("def __enter__(self) -> FetchPlan"))
      .def(
          "__exit__", [](BoundFetchPlan& self, nb::handle, nb::handle, nb::handle) { self.close(); },
          nb::arg("type").none(), nb::arg("value").none(), nb::arg("traceback").none(),
          nb::sig("def __exit__(self, type: object, value: object, traceback: object) -> None"))
      .def("__repr__", [](BoundFetchPlan& self) {
        return fmt::format("<fatctx.FetchPlan of {}{}>", quoted(self.path()), self.closed() ? ", closed" : "");
      });
}

}  // namespace fatctx::python
