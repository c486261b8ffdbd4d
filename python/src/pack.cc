#include "pack.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "errors.h"
#include "fatctx/packer.h"
#include "fatctx/targets.h"
#include "held_buffer.h"
#include "progress.h"
#include "records.h"
#include "views.h"

namespace fatctx::python {

Sharing sharing_from(const std::string& word) {
  if (word == "off") return Sharing::kOff;
  if (word == "pages") return Sharing::kPages;
  if (word == "bytes") return Sharing::kBytes;
  refuse_word("sharing", word, {"off", "pages", "bytes"});
}

namespace {

// Converts a source. Bytes-like objects are copied, everything else is a path; `part` is (offset, size) in a
// file.
PackSource source_from(nb::handle source, const std::optional<std::pair<std::uint64_t, std::uint64_t>>& part) {
  PackSource result;
  if (nb::isinstance<BoundRecordView>(source)) result.loaded = nb::cast<const BoundRecordView&>(source).view;

  if (result.loaded && !part) return result;
  if (part) result.part = ByteRange{part->first, part->second};
  if (PyObject_CheckBuffer(source.ptr()) == 0) {
    result.path = path_from(source);
    return result;
  }
  if (part) {
    raise_error(Error{ErrorCode::kInvalidArgument,
                      "part goes with a path; of a bytes-like object take a memoryview: memoryview(source)[from:to]",
                      {}});
  }
  const HeldBuffer held(source);
  result.bytes.assign(held.bytes().begin(), held.bytes().end());
  return result;
}

// Converts a mapping of text to text, or a sequence of DescribedOption.
std::vector<DescribedOption> options_from(nb::handle options) {
  std::vector<DescribedOption> result;
  if (options.is_none()) return result;
  if (PyMapping_Check(options.ptr()) != 0 && nb::hasattr(options, "items")) {
    for (const nb::handle item : options.attr("items")()) {
      const auto [key, value] = nb::cast<std::pair<std::string, std::string>>(item);
      result.push_back({key, value, {}});
    }
    return result;
  }
  return nb::cast<std::vector<DescribedOption>>(options);
}

void bind_pack_tensor(nb::module_& module) {
  nb::class_<PackTensor>(module, "PackTensor", "Place of a tensor inside the weight blob it is packed with.")
      .def(
          "__init__",
          [](PackTensor* self, std::string name, const std::string& dtype, std::vector<std::uint64_t> shape,
             std::uint64_t offset_in_blob, std::uint64_t size_bytes, bool alias) {
            const DType type = known_word(dtype_from_name(dtype), "dtype", dtype, &dtype_name);
            new (self) PackTensor{std::move(name), type, std::move(shape), offset_in_blob, size_bytes, alias};
          },
          nb::arg("name"), nb::arg("dtype"), nb::arg("shape"), nb::arg("offset_in_blob"), nb::arg("size_bytes"),
          nb::arg("alias") = false)
      .def_rw("name", &PackTensor::name)
      .def_prop_rw(
          "dtype", [](const PackTensor& self) { return to_str(dtype_name(self.dtype)); },
          [](PackTensor& self, const std::string& dtype) {
            self.dtype = known_word(dtype_from_name(dtype), "dtype", dtype, &dtype_name);
          },
          "Element type by name: \"float32\", \"int4\", ...")
      .def_rw("shape", &PackTensor::shape, "Elements per dimension, outermost first.")
      .def_rw("offset_in_blob", &PackTensor::offset_in_blob, "Bytes from the start of the blob.")
      .def_rw("size_bytes", &PackTensor::size_bytes)
      .def_rw("alias", &PackTensor::alias, "True if it shares bytes with another tensor on purpose.")
      .def("__repr__", [](const PackTensor& self) {
        return fmt::format("<fatctx.PackTensor {} {} [{}], {} bytes at {}>", quoted(self.name), dtype_name(self.dtype),
                           fmt::join(self.shape, ", "), self.size_bytes, self.offset_in_blob);
      });
}

// Completes the target of a context binary, as every way to state one does.
void complete_target_of(PackRecord& record, const std::optional<SocTable>& soc_table, bool allow_unreachable) {
  if (record.type != RecordType::kContextBinary) return;
  auto completed = complete_target(record.key, soc_table ? *soc_table : SocTable::built_in(), allow_unreachable);
  if (!completed.ok()) {
    raise_error(in_context(std::move(completed).error(), fmt::format("record \"{}\"", record.name)));
  }
  record.key = std::move(completed.value().key);
  record.warnings = std::move(completed.value().warnings);
}

void bind_pack_record(nb::module_& module) {
  nb::class_<PackRecord>(module, "PackRecord",
                         "A record to be packed: its type, name, bytes, and what it was built for.\n\n"
                         "`source` is a path, read while packing, or a bytes-like object, copied at once.")
      .def(
          "__init__",
          [](PackRecord* self, const std::string& type, std::string name, nb::handle source, std::string group,
             std::string unit, std::string backend, std::uint32_t qnn_soc, std::string part, std::string arch,
             std::vector<std::string> features, std::uint32_t vtcm_mb, const std::string& sdk, std::string variant,
             const std::string& api, const std::string& blob, bool generic, std::vector<std::string> weights,
             std::vector<PackTensor> tensors, std::string producer, std::string format, nb::handle options,
             std::vector<DescribedGraph> graphs, const std::string& codec, bool own_extent,
             std::vector<std::tuple<std::string, std::uint64_t, std::uint64_t>> ranges,
             const std::optional<std::pair<std::uint64_t, std::uint64_t>>& part_of_source, bool copy,
             const std::optional<SocTable>& soc_table, bool allow_unreachable) {
            PackRecord record;
            record.type = known_word(record_type_from_name(type), "type", type, &record_type_name);
            record.codec = known_word(codec_from_name(codec), "codec", codec, &codec_name);
            record.own_extent = own_extent;
            record.copy = copy;
            record.name = std::move(name);
            record.source = source_from(source, part_of_source);
            record.key = {.group = std::move(group),
                          .unit = std::move(unit),
                          .backend = std::move(backend),
                          .qnn_soc = qnn_soc,
                          .part = std::move(part),
                          .arch = std::move(arch),
                          .features = std::move(features),
                          .vtcm_mb = vtcm_mb,
                          .sdk = version_from(sdk),
                          .variant = std::move(variant),
                          .api = version_from(api),
                          .blob = version_from(blob),
                          .generic = generic};
            complete_target_of(record, soc_table, allow_unreachable);
            record.weights = std::move(weights);
            record.tensors = std::move(tensors);
            record.description.producer = std::move(producer);
            record.description.format = std::move(format);
            record.description.options = options_from(options);
            record.description.graphs = std::move(graphs);
            for (auto& [range_name, offset, size] : ranges) {
              record.ranges.push_back({std::move(range_name), offset, size});
            }
            new (self) PackRecord(std::move(record));
          },
          nb::arg("type"), nb::arg("name"), nb::arg("source"), nb::kw_only(), nb::arg("group") = "",
          nb::arg("unit") = "", nb::arg("backend") = "", nb::arg("qnn_soc") = 0, nb::arg("part") = "",
          nb::arg("arch") = "", nb::arg("features") = std::vector<std::string>{}, nb::arg("vtcm_mb") = 0,
          nb::arg("sdk") = "", nb::arg("variant") = "", nb::arg("api") = "", nb::arg("blob") = "",
          nb::arg("generic") = false, nb::arg("weights") = std::vector<std::string>{}, nb::arg("tensors") = nb::list(),
          nb::arg("producer") = "", nb::arg("format") = "", nb::arg("options") = nb::none(),
          nb::arg("graphs") = nb::list(), nb::arg("codec") = "none", nb::arg("own_extent") = false,
          nb::arg("ranges") = nb::list(), nb::arg("source_part") = nb::none(), nb::arg("copy") = false,
          nb::arg("soc_table") = nb::none(), nb::arg("allow_unreachable") = false,
          nb::sig("def __init__(self, type: str, name: str, source: str | os.PathLike | Buffer, *, group: str = '', "
                  "unit: str = '', backend: str = '', qnn_soc: int = 0, part: str = '', arch: str = '', "
                  "features: typing.Sequence[str] = (), vtcm_mb: int = 0, sdk: str = '', variant: str = '', "
                  "api: str = '', blob: str = '', generic: bool = False, weights: typing.Sequence[str] = (), "
                  "tensors: typing.Sequence[PackTensor] = (), producer: str = '', format: str = '', "
                  "options: typing.Mapping[str, str] | typing.Sequence[DescribedOption] | None = None, "
                  "graphs: typing.Sequence[DescribedGraph] = (), codec: str = 'none', "
                  "own_extent: bool = False, ranges: typing.Sequence[tuple[str, int, int]] = (), "
                  "source_part: tuple[int, int] | None = None, copy: bool = False, "
                  "soc_table: SocTable | None = None, allow_unreachable: bool = False) -> None"),
          "codec=\"lz4\" is for source models and opaque records, which nobody maps; the record is stored as a frame "
          "if\n"
          "that makes it smaller and it is not above 1 GiB, else as it is. Such a record is read, not viewed.\n"
          "An opaque record of up to 64 KiB shares a segment with others; own_extent=True gives it an extent of its "
          "own,\n"
          "so that its pages can be mapped.\n"
          "`ranges` are (name, offset, size) of parts of a record without tensors, ascending and apart: equal parts\n"
          "are stored once, wherever they occur.\n"
          "source_part=(offset, size) takes that part of the file at `source`.\n"
          "copy=True: the source is a RecordView, which belongs to a file already, and a second one "
          "of\n"
          "its bytes is meant; they are not copied before they are written. Without it adding such a record raises\n"
          "OperationNotPermitted.\n\n"
          "For a context binary of backend \"htp\", `arch` may also be a SoC in the words of Device.from_text():\n"
          "\"SM8650\", \"57\", \"Snapdragon 8 Gen 3\". `soc_table` (None: the built-in one) fills in the empty ones "
          "of\n"
          "part, qnn_soc, arch and vtcm_mb. allow_unreachable=True takes a target that no device gets, and keeps one\n"
          "that contradicts the table as it is stated, with a warning in the report of pack() or append().\n\n"
          "Raises InvalidArgument for an unknown type, a version that cannot be read, a target that contradicts the\n"
          "table, or that no device gets.")
      .def_ro("name", &PackRecord::name)
      .def_prop_ro(
          "backend", [](const PackRecord& self) { return self.key.backend; }, "A part of the target.")
      .def_prop_ro(
          "qnn_soc", [](const PackRecord& self) { return self.key.qnn_soc; }, "Vendor number; 0: none.")
      .def_prop_ro("part", [](const PackRecord& self) { return self.key.part; })
      .def_prop_ro("arch", [](const PackRecord& self) { return self.key.arch; })
      .def_prop_ro(
          "vtcm_mb", [](const PackRecord& self) { return self.key.vtcm_mb; }, "0: not stated.")
      .def_ro("warnings", &PackRecord::warnings, "Contradictions that allow_unreachable=True kept.")
      .def_prop_ro("codec", [](const PackRecord& self) { return to_str(codec_name(self.codec)); })
      .def_prop_ro("type", [](const PackRecord& self) { return to_str(record_type_name(self.type)); })
      .def_ro("own_extent", &PackRecord::own_extent)
      .def("__repr__", [](const PackRecord& self) {
        return fmt::format("<fatctx.PackRecord {} {}>", record_type_name(self.type), quoted(self.name));
      });
}

void bind_packed_record(nb::module_& module) {
  nb::class_<PackedRecordReport>(module, "PackedRecord", "Report on one packed record. Immutable.")
      .def_ro("name", &PackedRecordReport::name)
      .def_ro("id", &PackedRecordReport::id)
      .def_ro("size_bytes", &PackedRecordReport::size_bytes, "Logical size.")
      .def_ro("stored_bytes", &PackedRecordReport::stored_bytes, "Its own bytes in the file.")
      .def_ro("shared_bytes", &PackedRecordReport::shared_bytes,
              "Bytes found in what another record stores, or stored once though it repeats in this one.")
      .def_ro("shifted_bytes", &PackedRecordReport::shifted_bytes,
              "About how many of the stored bytes another record holds at another place of a granule, so that they\n"
              "cannot be mapped from there. Only with sharing=\"pages\".")
      .def_ro("pieces", &PackedRecordReport::pieces, "Slices of the file that it is made of; 0 for a recipe.")
      .def_ro("recipe_steps", &PackedRecordReport::recipe_steps, "0: the record is not a recipe.")
      .def_ro("recipe_bytes", &PackedRecordReport::recipe_bytes, "Size of its program, part of the stored bytes.")
      .def_ro("mappable_bytes", &PackedRecordReport::mappable_bytes,
              "For a recipe: bytes in whole granules that the file stores as the record has them.")
      .def_ro("sharing_order", &PackedRecordReport::sharing_order,
              "Its place among those that were looked at for equal bytes, from 1; 0: it was not looked at.")
      .def("__repr__", [](const PackedRecordReport& self) {
        return fmt::format("<fatctx.PackedRecord {} {}: {} bytes, {} stored, {} shared>", self.id, quoted(self.name),
                           self.size_bytes, self.stored_bytes, self.shared_bytes);
      });
}

void bind_pack_report(nb::module_& module) {
  nb::class_<PackReport>(module, "PackReport", "Result of pack().")
      .def_prop_ro(
          "path", [](const PackReport& self) { return path_to_str(self.path); }, nb::sig("def path(self) -> str"))
      .def_ro("uuid", &PackReport::uuid)
      .def_ro("file_size", &PackReport::file_size, "Bytes.")
      .def_ro("input_bytes", &PackReport::input_bytes, "Sum of all logical record sizes.")
      .def_ro("stored_bytes", &PackReport::stored_bytes, "Payload bytes in the file.")
      .def_ro("shared_bytes", &PackReport::shared_bytes,
              "Bytes of records that needed none of their own, equal records included.")
      .def_ro("record_count", &PackReport::record_count)
      .def_ro("shared_records", &PackReport::shared_records, "Records whose bytes another record already stored.")
      .def_ro("sealed", &PackReport::sealed)
      .def_ro("records", &PackReport::records,
              "One report for each record, by ascending id, including those that the packer adds.")
      .def_ro("warnings", &PackReport::warnings)
      .def("__repr__", [](const PackReport& self) {
        return fmt::format("<fatctx.PackReport {} records, {} bytes in, {} bytes stored, {} shared>", self.record_count,
                           self.input_bytes, self.stored_bytes, self.shared_records);
      });
}

}  // namespace

void bind_pack(nb::module_& module) {
  bind_pack_tensor(module);
  bind_pack_record(module);
  bind_packed_record(module);
  bind_pack_report(module);
  module.def(
      "pack",
      [](nb::handle path, nb::iterable records, bool seal, bool overwrite, const std::string& sharing,
         std::uint8_t extent_log2, std::uint8_t granule_log2, std::uint32_t max_pieces, std::string model_name,
         nb::handle options, nb::object progress, std::uint32_t threads, bool one_per_soc, bool strict_sharing,
         bool sha256) {
        const std::string target = path_from(path);
        ProgressCall call(std::move(progress));
        Packer packer({.seal = seal,
                       .overwrite = overwrite,
                       .sharing = sharing_from(sharing),
                       .max_pieces = max_pieces,
                       .extent_log2 = extent_log2,
                       .granule_log2 = granule_log2,
                       .sha256 = sha256,
                       .model_name = std::move(model_name),
                       .options = options_from(options),
                       .progress = call.callback(),
                       .threads = threads,
                       .one_per_soc = one_per_soc,
                       .strict_sharing = strict_sharing});
        for (const nb::handle record : records) take_status(packer.add(nb::cast<PackRecord>(record)));
        return call.run([&] { return packer.publish(target); });
      },
      nb::arg("path"), nb::arg("records"), nb::kw_only(), nb::arg("seal") = false, nb::arg("overwrite") = false,
      nb::arg("sharing") = "pages", nb::arg("extent_log2") = 0, nb::arg("granule_log2") = 12,
      nb::arg("max_pieces") = 4096, nb::arg("model_name") = "", nb::arg("options") = nb::none(),
      nb::arg("progress") = nb::none(), nb::arg("threads") = 0, nb::arg("one_per_soc") = false,
      nb::arg("strict_sharing") = false, nb::arg("sha256") = false,
      nb::sig(
          "def pack(path: str | os.PathLike, records: typing.Iterable[PackRecord], *, seal: bool = False, "
          "overwrite: bool = False, sharing: str = 'pages', extent_log2: int = 0, granule_log2: int = 12, "
          "max_pieces: int = 4096, model_name: str = '', "
          "options: typing.Mapping[str, str] | typing.Sequence[DescribedOption] | None = None, "
          "progress: typing.Callable[[int, int], object] | None = None, threads: int = 0, one_per_soc: bool = False, "
          "strict_sharing: bool = False, sha256: bool = False) -> PackReport"),
      "Writes a container: a temporary file beside `path`, made durable, then renamed to `path`.\n\n"
      "The order of the records changes nothing; the same records give the same bytes. An existing file is\n"
      "replaced only with overwrite=True, and readers that have it mapped keep the old one. Releases the GIL.\n"
      "sharing=\"pages\" stores equal runs of granules once, and max_pieces bounds what one record is made of then;\n"
      "\"bytes\" stores equal runs of bytes once, wherever they occur, and makes recipes of records; \"off\" stores\n"
      "only equal records once. PackReport.records tells the result. `threads` look for shared bytes, 0: as "
      "many\n"
      "as processors, at most 8.\n"
      "one_per_soc=True: a second context binary for a SoC, in the same group, unit and backend, raises Exists,\n"
      "whatever else differs. strict_sharing=True: a warning that records, as they were compiled, cannot\n"
      "share, or share less, raises Unsupported instead. sha256=True stores SHA-256 beside XXH3, of each record and\n"
      "of each leaf of 64 KiB, for those who fetch parts of the file.\n"
      "An exception of `progress(done_bytes, total_bytes)` ends the work, as Ctrl-C does; the folder is as it was.\n\n"
      "Raises InvalidArgument, Exists, OperationNotPermitted (a loaded record without copy=True), FileNotFound, "
      "Changed, BadReference, LimitExceeded, NoSpace, Unsupported,\n"
      "Io, CommitUnknown.");
}

}  // namespace fatctx::python
