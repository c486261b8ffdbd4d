#include "facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "errors.h"
#include "fatctx/content_hash.h"
#include "fatctx/device.h"
#include "fatctx/file_mapping.h"
#include "fatctx/info.h"
#include "held_buffer.h"
#include "records.h"

namespace fatctx::python {
namespace {

void bind_hashes(nb::module_& module) {
  module.def(
      "content_hash",
      [](nb::handle buffer) {
        const HeldBuffer held(buffer);
        return to_hex(without_gil([&] { return content_hash(held.bytes()); }).bytes);
      },
      nb::arg("buffer"), nb::sig("def content_hash(buffer: Buffer) -> str"),
      "XXH3-128 of bytes, hexadecimal as Record.hash is: tells accidents, not forgeries.\n\n"
      "Releases the GIL: the bytes must not change meanwhile. Raises BufferError for a buffer that is not one run.");
  module.def(
      "content_hash_of_file",
      [](nb::handle path) {
        const std::string text = path_from(path);
        return to_hex(take(without_gil([&] { return content_hash_of_file(text); })).bytes);
      },
      nb::arg("path"), nb::sig("def content_hash_of_file(path: str | os.PathLike) -> str"),
      "The same of a file, read once in pieces. Releases the GIL. Raises FileNotFound, Io, NotRegularFile, Changed.");
}

std::uint64_t size_of_tensor(const std::string& dtype, const std::vector<std::uint64_t>& shape) {
  const DType type = known_word(dtype_from_name(dtype), "dtype", dtype, &dtype_name);
  const std::optional<std::uint64_t> size = tensor_size_bytes(type, shape);
  if (size) return *size;
  raise_error(Error{
      ErrorCode::kLimitExceeded,
      fmt::format("a tensor of {} of shape [{}] takes more bits than 64 bits count", dtype, fmt::join(shape, ", ")),
      {}});
}

void bind_machine(nb::module_& module) {
  nb::class_<DetectionSource>(module, "DetectionSource", "One place that detection looked at. Immutable.")
      .def_ro("id", &DetectionSource::id, "\"cpuid\", \"hwcap\", ...")
      .def_prop_ro(
          "raw", [](const DetectionSource& self) { return text_for_people(self.raw); }, nb::sig("def raw(self) -> str"),
          "The value as read.")
      .def_ro("state", &DetectionSource::state,
              "\"used\", \"agrees\", \"disagrees\", \"absent\", \"unreadable\" or \"unparsable\".")
      .def_prop_ro(
          "note", [](const DetectionSource& self) { return text_for_people(self.note); },
          nb::sig("def note(self) -> str"), "Why, where that needs words.")
      .def("__repr__", [](const DetectionSource& self) {
        return fmt::format("<fatctx.DetectionSource {} {}>", self.id, self.state);
      });
  module.def(
      "file_mapping_capability",
      [] {
        const MappingCapability capability = file_mapping_capability();
        nb::dict facts;
        facts["available"] = capability.available;
        facts["how"] = capability.how;
        facts["page_bytes"] = capability.page_bytes;
        facts["fallbacks"] = file_mapping_fallbacks();
        return facts;
      },
      nb::sig("def file_mapping_capability() -> dict[str, typing.Any]"),
      "Tells if and how this build maps files on this system, the size of a page, and how often this process copied\n"
      "because a consumer could not take mapped memory.");
}

}  // namespace

void bind_facts(nb::module_& module) {
  bind_hashes(module);
  bind_machine(module);
  module.def("tensor_size_bytes", &size_of_tensor, nb::arg("dtype"), nb::arg("shape"),
             "Bytes that a tensor takes: row-major, without gaps, types below a byte rounded up to whole bytes.\n\n"
             "Raises InvalidArgument for an unknown dtype, LimitExceeded for more bits than 64 bits count.");
  module.def("layout_json", &layout_json, "The field tables of the format as JSON, schema \"fatctx.layout/1\".");
}

}  // namespace fatctx::python
