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
#include "fatctx/targets.h"
#include "keywords.h"
#include "pack.h"
#include "progress.h"
#include "records.h"

namespace fatctx::python {
namespace {

std::optional<Sharing> sharing_or_none(const std::optional<std::string>& word) {
  return word ? std::optional(sharing_from(*word)) : std::nullopt;
}

// A set of options that all functions share that write a container.
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

// Calls `work` with options that are valid until it returns; `work` returns a Result<RewriteReport>.
template <typename Options, typename Work>
RewriteReport run(const How& how, Options options, const Work& work) {
  how.put_into(options);
  ProgressCall call(how.progress);
  options.progress = call.callback();
  return call.run([&] { return work(options); });
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

// Returns all records but these. `records` is one record, or an iterable of them; each by id or name.
std::vector<std::uint32_t> all_but(const Container& container, nb::handle records) {
  std::vector<std::uint32_t> gone;
  if (nb::isinstance<nb::str>(records) || PyIndex_Check(records.ptr()) != 0) {
    gone.push_back(find_record(container, records).id);
  } else {
    for (const nb::handle record : nb::iter(records)) gone.push_back(find_record(container, record).id);
  }
  return take(records_without(take(container.records()), gone));
}

TargetFilter filter_from(nb::handle target) {
  if (nb::isinstance<nb::str>(target)) {
    TargetFilter filter;
    filter.arch = nb::cast<std::string>(target);
    const std::size_t colon = filter.arch.find(':');
    if (colon != std::string::npos && !filter.arch.starts_with("kernel:")) {
      filter.backend = filter.arch.substr(0, colon);
      filter.arch.erase(0, colon + 1);
    }
    return complete_filter(std::move(filter), SocTable::built_in());
  }
  if (!nb::isinstance<nb::dict>(target)) {
    const std::string text =
        "keep: expected dicts such as {\"backend\": \"cpu\", \"arch\": \"x86-64-v3\"}, or a SoC or an arch as str, "
        "found " +
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
  filter.features = take_keyword(fields, "features", std::vector<std::string>(), "a sequence of str");
  filter.vtcm_mb = take_keyword(fields, "vtcm_mb", std::uint32_t{0}, "an int");
  filter.sdk = version_from(take_keyword(fields, "sdk", std::string(), "a str"));
  filter.variant = take_keyword(fields, "variant", std::string(), "a str");
  filter.generic = take_keyword(fields, "generic", false, "a bool");
  refuse_unknown_keywords(fields,
                          "group, unit, backend, qnn_soc, part, arch, features, vtcm_mb, sdk, variant, generic");
  return complete_filter(std::move(filter), SocTable::built_in());
}

// Returns the records for these targets. `targets` is one dictionary or text, or an iterable of them.
std::vector<std::uint32_t> left_for(const Container& container, nb::handle targets) {
  std::vector<TargetFilter> filters;
  if (nb::isinstance<nb::dict>(targets) || nb::isinstance<nb::str>(targets)) {
    filters.push_back(filter_from(targets));
  } else {
    for (const nb::handle target : nb::iter(targets)) filters.push_back(filter_from(target));
  }
  return take(records_left(take(container.records()), filters));
}

void bind_reports(nb::module_& module) {
  nb::class_<RewriteSource>(module, "RewriteSource", "A container that was read to be written anew. Immutable.")
      .def_prop_ro(
          "path", [](const RewriteSource& self) { return path_to_str(self.path); }, nb::sig("def path(self) -> str"))
      .def_ro("generation", &RewriteSource::generation)
      .def_ro("file_size", &RewriteSource::file_size, "Bytes.")
      .def_ro("dead_bytes", &RewriteSource::dead_bytes,
              "Bytes that no record of any generation that opens by default uses.")
      .def_ro("record_count", &RewriteSource::record_count)
      .def("__repr__", [](const RewriteSource& self) {
        return fmt::format("<fatctx.RewriteSource {} generation {}, {} records, {} bytes>", quoted(self.path),
                           self.generation, self.record_count, self.file_size);
      });
  nb::class_<RewriteReport>(module, "RewriteReport", "Result of writing a container anew. Immutable.")
      .def_ro("sources", &RewriteReport::sources, "The files that were read, in the order they were given in.")
      .def_ro("removed", &RewriteReport::removed, "Names of records that are not in the new file.")
      .def_ro("unused", &RewriteReport::unused,
              "Names of weight blobs that binaries referred to and no binary does any more.")
      .def_ro("generation", &RewriteReport::generation, "Generation of the new file.")
      .def_ro("pack", &RewriteReport::pack, "Report on the new file.")
      .def("__repr__", [](const RewriteReport& self) {
        return fmt::format("<fatctx.RewriteReport {} generation {}, {} records, {} removed, {} bytes>",
                           quoted(self.pack.path), self.generation, self.pack.record_count, self.removed.size(),
                           self.pack.file_size);
      });
}

// The keywords that every signature lists.
#define FATCTX_HOW_KEYWORDS                                                                         \
  "sharing: str | None = None, max_pieces: int = 4096, overwrite: bool = False, threads: int = 0, " \
  "progress: typing.Callable[[int, int], object] | None = None) -> RewriteReport"

void bind_compact(nb::module_& module) {
  module.def(
      "compact",
      [](nb::handle path, nb::handle out, std::optional<bool> seal, std::uint64_t generation,
         std::optional<std::string> sharing, std::uint32_t max_pieces, bool overwrite, std::uint32_t threads,
         nb::object progress) {
        return rewritten(path, out, {std::move(sharing), max_pieces, overwrite, threads, std::move(progress)},
                         {.seal = seal, .generation = generation});
      },
      nb::arg("path"), nb::arg("out") = nb::none(), nb::kw_only(), nb::arg("seal") = nb::none(),
      nb::arg("generation") = 0, nb::arg("sharing") = nb::none(), nb::arg("max_pieces") = 4096,
      nb::arg("overwrite") = false, nb::arg("threads") = 0, nb::arg("progress") = nb::none(),
      nb::sig("def compact(path: str | os.PathLike, out: str | os.PathLike | None = None, *, "
              "seal: bool | None = None, generation: int = 0, " FATCTX_HOW_KEYWORDS),
      "Writes a container anew, without bytes that no record uses, and with equal bytes stored once.\n\n"
      "Without `out` the file itself is replaced; an existing `out` only with overwrite=True. The new file keeps the\n"
      "uuid and has one generation, the one behind the newest; it appears whole or not at all, and readers that\n"
      "have mapped the old one keep it. seal=None seals it if the old one is; seal=False gives a copy that can be "
      "appended to.\n"
      "`generation` writes an earlier state of the file. sharing=None shares bytes as the records do now; see pack()\n"
      "for `sharing`, `max_pieces` and `threads`. An exception of `progress(done_bytes, total_bytes)` ends the\n"
      "work, as Ctrl-C does, and the folder is as it was. Releases the GIL.\n\n"
      "Raises FileNotFound, NotFound (the generation), Exists, Locked (somebody appends to it), Changed,\n"
      "NotRegularFile (a link would be replaced), InvalidArgument, Unsupported (a record that this version only\n"
      "lists), ChecksumMismatch and Codec (a record is damaged), those of open() and pack().");
  module.def(
      "seal",
      [](nb::handle path, nb::handle out, std::optional<std::string> sharing, std::uint32_t max_pieces, bool overwrite,
         std::uint32_t threads, nb::object progress) {
        return rewritten(path, out, {std::move(sharing), max_pieces, overwrite, threads, std::move(progress)},
                         {.seal = true});
      },
      nb::arg("path"), nb::arg("out") = nb::none(), nb::kw_only(), nb::arg("sharing") = nb::none(),
      nb::arg("max_pieces") = 4096, nb::arg("overwrite") = false, nb::arg("threads") = 0,
      nb::arg("progress") = nb::none(),
      nb::sig("def seal(path: str | os.PathLike, out: str | os.PathLike | None = None, *, " FATCTX_HOW_KEYWORDS),
      "compact() with seal=True: a file for delivery, read-only, that never changes.\n\n"
      "Raises what compact() raises.");
}

void bind_fewer(nb::module_& module) {
  module.def(
      "remove",
      [](nb::handle path, nb::handle records, nb::handle out, std::optional<bool> seal,
         std::optional<std::string> sharing, std::uint32_t max_pieces, bool overwrite, std::uint32_t threads,
         nb::object progress) {
        std::vector<std::uint32_t> left = all_but(opened(path), records);
        return rewritten(path, out, {std::move(sharing), max_pieces, overwrite, threads, std::move(progress)},
                         {.keep = std::move(left), .seal = seal});
      },
      nb::arg("path"), nb::arg("records"), nb::arg("out") = nb::none(), nb::kw_only(), nb::arg("seal") = nb::none(),
      nb::arg("sharing") = nb::none(), nb::arg("max_pieces") = 4096, nb::arg("overwrite") = false,
      nb::arg("threads") = 0, nb::arg("progress") = nb::none(),
      nb::sig("def remove(path: str | os.PathLike, records: int | str | typing.Iterable[int | str], "
              "out: str | os.PathLike | None = None, *, seal: bool | None = None, " FATCTX_HOW_KEYWORDS),
      "Writes a container anew without some records, by id or name. The rest is as for compact().\n\n"
      "RewriteReport.unused names weights that no binary refers to any more; they stay until they are removed too.\n\n"
      "Raises what compact() raises, NotFound (a record), InvalidArgument (a binary that stays refers to weights that\n"
      "would go; a description or a table of tensors, which goes with what it describes).");
  module.def(
      "strip",
      [](nb::handle path, nb::handle keep, nb::handle out, std::optional<bool> seal, std::optional<std::string> sharing,
         std::uint32_t max_pieces, bool overwrite, std::uint32_t threads, nb::object progress) {
        std::vector<std::uint32_t> left = left_for(opened(path), keep);
        return rewritten(path, out, {std::move(sharing), max_pieces, overwrite, threads, std::move(progress)},
                         {.keep = std::move(left), .seal = seal});
      },
      nb::arg("path"), nb::arg("keep"), nb::arg("out") = nb::none(), nb::kw_only(), nb::arg("seal") = nb::none(),
      nb::arg("sharing") = nb::none(), nb::arg("max_pieces") = 4096, nb::arg("overwrite") = false,
      nb::arg("threads") = 0, nb::arg("progress") = nb::none(),
      nb::sig("def strip(path: str | os.PathLike, "
              "keep: dict[str, object] | str | typing.Iterable[dict[str, object] | str], "
              "out: str | os.PathLike | None = None, *, seal: bool | None = None, " FATCTX_HOW_KEYWORDS),
      "Writes a container anew for some targets only. The rest is as for compact().\n\n"
      "`keep` are dictionaries of fields of the key: group, unit, backend, qnn_soc, part, arch, features, vtcm_mb,\n"
      "sdk, variant, generic. A record fits one if it has all of its fields: {\"backend\": \"htp\", \"qnn_soc\": 57}.\n"
      "`arch` may be a SoC in the words of Device.from_text(). A text instead of a dictionary is such an `arch`:\n"
      "keep=\"SM8650\", keep=[\"57\", \"Snapdragon 8 Elite\", \"cpu:x86-64-v3\"].\n"
      "The new file keeps: context binaries that fit, the weights that they refer to, and what belongs to no "
      "target.\n\n"
      "Raises what compact() raises, NoMatch (no context binary fits one of them), TypeError.");
}

void bind_merge(nb::module_& module) {
  module.def(
      "merge",
      [](nb::iterable paths, nb::handle out, std::string model_name, bool seal, std::optional<std::string> sharing,
         std::uint32_t max_pieces, bool overwrite, std::uint32_t threads, nb::object progress) {
        std::vector<std::string> sources;
        for (const nb::handle path : paths) sources.push_back(path_from(path));
        const std::string target = path_from(out);
        return run(How{std::move(sharing), max_pieces, overwrite, threads, std::move(progress)},
                   MergeOptions{.model_name = std::move(model_name), .seal = seal},
                   [&](const MergeOptions& wanted) { return merge_containers(sources, target, wanted); });
      },
      nb::arg("paths"), nb::arg("out"), nb::kw_only(), nb::arg("model_name") = "", nb::arg("seal") = false,
      nb::arg("sharing") = nb::none(), nb::arg("max_pieces") = 4096, nb::arg("overwrite") = false,
      nb::arg("threads") = 0, nb::arg("progress") = nb::none(),
      nb::sig("def merge(paths: typing.Iterable[str | os.PathLike], out: str | os.PathLike, *, model_name: str = '', "
              "seal: bool = False, " FATCTX_HOW_KEYWORDS),
      "Writes the records of several containers to one.\n\n"
      "What several have under one name is taken once if it is the same. The order of `paths` changes no byte but\n"
      "where they disagree on the name of the model or on options of the whole container: then the first one counts,\n"
      "with a warning. sharing=None shares bytes as the container that shares most. The rest is as for compact().\n\n"
      "Raises Exists (two records of one name, or of one key, that differ), InvalidArgument (fewer than two paths),\n"
      "what compact() raises.");
}

}  // namespace

void bind_rewrite(nb::module_& module) {
  bind_reports(module);
  bind_compact(module);
  bind_fewer(module);
  bind_merge(module);
}

}  // namespace fatctx::python
