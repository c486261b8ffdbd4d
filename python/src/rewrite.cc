#include "rewrite.h"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "container.h"
#include "errors.h"
#include "fatctx/rewrite.h"
#include "keywords.h"
#include "pack.h"
#include "progress.h"
#include "records.h"

namespace fatctx::python {
namespace {

using Words = std::vector<std::string>;

std::optional<Sharing> sharing_or_none(const std::optional<std::string>& word) {
  return word ? std::optional(sharing_from(*word)) : std::nullopt;
}

// How a container is written, whatever of it.
struct How {
  std::optional<std::string> sharing;
  std::uint32_t max_pieces;
  bool overwrite;
  std::uint32_t threads;
  nb::object progress;

  template <typename Options>
  void put_into(Options& options) const {
    options.sharing = sharing_or_none(sharing);
    options.max_pieces = max_pieces;
    options.overwrite = overwrite;
    options.threads = threads;
  }
};

// `work` takes options that end with the call, and returns a Result<RewriteReport>.
template <typename Options, typename Work>
RewriteReport run(const How& how, Options options, const Work& work) {
  how.put_into(options);
  ProgressCall call(how.progress);
  options.progress = call.ending_callback();
  options.cancel = call.cancel();
  auto report = without_gil([&] { return work(options); });
  call.finish();
  return take(std::move(report));
}

RewriteReport rewritten(nb::handle path, nb::handle out, const How& how, RewriteOptions options) {
  const std::string source = path_from(path);
  const std::string target = out.is_none() ? source : path_from(out);
  return run(how, std::move(options),
             [&](const RewriteOptions& wanted) { return rewrite_container(source, target, wanted); });
}

Container opened(nb::handle path) {
  const std::string source = path_from(path);
  return take(without_gil([&] { return Container::open(source); }));
}

// One record, or an iterable of records; each by id or name.
std::vector<std::uint32_t> all_but(const Container& container, nb::handle records) {
  std::vector<std::uint32_t> gone;
  if (nb::isinstance<nb::str>(records) || PyIndex_Check(records.ptr()) != 0) {
    gone.push_back(find_record(container, records).id);
  } else {
    for (const nb::handle record : nb::iter(records)) gone.push_back(find_record(container, record).id);
  }
  return take(records_without(container.records(), gone));
}

TargetFilter filter_from(nb::handle target) {
  if (!nb::isinstance<nb::dict>(target)) {
    const std::string text =
        "keep: expected dicts such as {\"backend\": \"cpu\", \"arch\": \"x86-64-v3\"}, found " +
        nb::cast<std::string>(nb::repr(target));
    throw nb::type_error(text.c_str());
  }
  nb::dict fields = nb::cast<nb::dict>(target.attr("copy")());
  TargetFilter filter;
  filter.group = take_keyword(fields, "group", std::string(), "a str");
  filter.unit = take_keyword(fields, "unit", std::string(), "a str");
  filter.backend = take_keyword(fields, "backend", std::string(), "a str");
  filter.qnn_soc = take_keyword(fields, "qnn_soc", std::uint32_t{0}, "an int");
  filter.part = take_keyword(fields, "part", std::string(), "a str");
  filter.arch = take_keyword(fields, "arch", std::string(), "a str");
  filter.features = take_keyword(fields, "features", Words(), "a sequence of str");
  filter.vtcm_mb = take_keyword(fields, "vtcm_mb", std::uint32_t{0}, "an int");
  filter.sdk = version_from(take_keyword(fields, "sdk", std::string(), "a str"));
  filter.variant = take_keyword(fields, "variant", std::string(), "a str");
  filter.generic = take_keyword(fields, "generic", false, "a bool");
  refuse_unknown_keywords(fields, "group, unit, backend, qnn_soc, part, arch, features, vtcm_mb, sdk, variant, generic");
  return filter;
}

// One dictionary, or an iterable of them.
std::vector<std::uint32_t> left_for(const Container& container, nb::handle targets) {
  std::vector<TargetFilter> filters;
  if (nb::isinstance<nb::dict>(targets)) {
    filters.push_back(filter_from(targets));
  } else {
    for (const nb::handle target : nb::iter(targets)) filters.push_back(filter_from(target));
  }
  return take(records_left(container.records(), filters));
}

void bind_reports(nb::module_& module) {
  nb::class_<RewriteSource>(module, "RewriteSource", "A container that was read to be written anew. Immutable.")
      .def_prop_ro(
          "path", [](const RewriteSource& self) { return path_to_str(self.path); },
          nb::sig("def path(self) -> str"))
      .def_ro("generation", &RewriteSource::generation)
      .def_ro("file_size", &RewriteSource::file_size, "Bytes.")
      .def_ro("dead_bytes", &RewriteSource::dead_bytes,
              "Bytes that no record of any generation that opens by default uses.")
      .def_ro("record_count", &RewriteSource::record_count)
      .def("__repr__", [](const RewriteSource& self) {
        return fmt::format("<fatctx.RewriteSource {} generation {}, {} records, {} bytes>", quoted(self.path),
                           self.generation, self.record_count, self.file_size);
      });
  nb::class_<RewriteReport>(module, "RewriteReport", "What a container that was written anew came to. Immutable.")
      .def_ro("sources", &RewriteReport::sources, "The files that were read, in the order they were given in.")
      .def_ro("removed", &RewriteReport::removed, "Names of records that are not in the new file.")
      .def_ro("unused", &RewriteReport::unused,
              "Names of weight blobs that binaries referred to and no binary does any more.")
      .def_ro("generation", &RewriteReport::generation, "Of the new file.")
      .def_ro("pack", &RewriteReport::pack, "The new file.")
      .def("__repr__", [](const RewriteReport& self) {
        return fmt::format("<fatctx.RewriteReport {} generation {}, {} records, {} removed, {} bytes>",
                           quoted(self.pack.path), self.generation, self.pack.record_count, self.removed.size(),
                           self.pack.file_size);
      });
}

// Keywords as they stand in signatures and in the docstrings.
#define FATCTX_HOW_KEYWORDS                                                  \
  "sharing: str | None = None, max_pieces: int = 4096, overwrite: bool = False, threads: int = 0, " \
  "progress: typing.Callable[[int, int], object] | None = None"
constexpr const char* kSealOrNone = "seal: bool | None = None, ";

}  // namespace
}  // namespace fatctx::python
