#include "model.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "container.h"
#include "errors.h"
#include "keywords.h"
#include "memory.h"
#include "progress.h"
#include "records.h"
#include "source.h"
#include "views.h"

namespace fatctx::python {
namespace {

// Returns the view of a record with its facts, which a DLC and a raw binary have only a few of.
BoundRecordView with_facts(const Session& session, const SessionRecord& record) {
  if (const Container* container = session.model().container()) {
    return {*container, take(container->record(record.view.record_id())), record.view};
  }
  RecordInfo info;
  info.id = record.view.record_id();
  info.type = record.type;
  info.name = record.name;
  info.size_bytes = record.view.size_bytes();
  info.key.unit = record.unit;
  return {session, info, record.view};
}

nb::list views_list(const Session& session, const std::vector<SessionRecord>& records) {
  nb::list views;
  for (const SessionRecord& record : records) views.append(with_facts(session, record));
  return views;
}

nb::object container_of(const Model& model) {
  return model.container() == nullptr ? nb::none() : nb::cast(*model.container());
}

void bind_session(nb::module_& module) {
  nb::class_<BoundSession>(
      module, "Session", nb::is_weak_referenceable(),
      "One inference session: holds views of the chosen context binaries and of the weights they share. The end of a\n"
      "`with` block calls end(), unless the block raised.\n\n"
      "Ownership: may outlive model and container. Threads: every method from any number of threads.")
      .def_prop_ro(
          "binaries", [](const BoundSession& self) { return views_list(self.session, self.session.binaries()); },
          nb::sig("def binaries(self) -> list[RecordView]"),
          "The chosen context binaries, one for each unit, in unit order.")
      .def(
          "binary",
          [](const BoundSession& self, const std::string& unit) {
            RecordView view = take(self.session.binary(unit));
            const std::vector<SessionRecord>& binaries = self.session.binaries();
            const auto found = std::ranges::find_if(binaries, [&](const SessionRecord& record) {
              return record.view.record_id() == view.record_id() && record.view.data() == view.data();
            });
            return with_facts(self.session, *found);
          },
          nb::arg("unit") = "",
          "The context binary of `unit`; empty: of the only unit. Raises NotFound, listing the units.")
      .def_prop_ro(
          "weights", [](const BoundSession& self) { return views_list(self.session, self.session.weights()); },
          nb::sig("def weights(self) -> list[RecordView]"),
          "The weight blobs that the chosen binaries refer to, in record order; for a DLC also the metadata of shared\n"
          "weights, as opaque.")
      .def(
          "weight",
          [](const BoundSession& self, const std::string& name) {
            return BoundWeightView(take(without_gil([&] { return self.session.weight(name); })));
          },
          nb::arg("name"), "A tensor of any of these blobs. Raises NotFound and what Container.tensors raises.")
      .def(
          "prefetch",
          [](const BoundSession& self, nb::object max_bytes, nb::object progress) {
            return prefetch_session(self.session, std::move(max_bytes), std::move(progress));
          },
          nb::kw_only(), nb::arg("max_bytes") = nb::none(), nb::arg("progress") = nb::none(),
          nb::sig("def prefetch(self, *, max_bytes: int | None = None, "
                  "progress: typing.Callable[[int, int], object] | None = None) -> PrefetchReport"),
          "Container.prefetch() for all that this session holds: binaries first, then weights, each once. Budget and\n"
          "report are for all of them together; the first error ends it.")
      .def(
          "prefetch_in_background",
          [](const BoundSession& self, nb::object max_bytes) {
            return prefetch_in_background(self.session, std::move(max_bytes));
          },
          nb::kw_only(), nb::arg("max_bytes") = nb::none(),
          nb::sig("def prefetch_in_background(self, *, max_bytes: int | None = None) -> Prefetch"),
          "The same on a thread of its own.")
      .def(
          "release",
          [](const BoundSession& self, bool keep_cached) {
            return take(without_gil([&] { return self.session.release({.keep_cached = keep_cached}); }));
          },
          nb::kw_only(), nb::arg("keep_cached") = false,
          nb::sig("def release(self, *, keep_cached: bool = False) -> ReleaseReport"),
          "Container.release() for all that this session holds. Other sessions may hold the same records: theirs come\n"
          "back from the file as well.")
      .def(
          "await_checks",
          [](const BoundSession& self) { take_status(without_gil([&] { return self.session.await_checks(); })); },
          nb::sig("def await_checks(self) -> None"),
          "Waits for the checks that verify=\"beside_load\" has begun for its records. Call it before you believe the\n"
          "first result. Raises what Container.await_checks() raises.")
      .def(
          "end",
          [](const BoundSession& self) {
            Session ended = self.session;
            take_status(without_gil([&] { return ended.end(); }));
          },
          nb::sig("def end(self) -> None"),
          "Checks that results computed from the views of this session can be trusted. Views that Python holds stay\n"
          "valid: they go with their last reference. Raises what Container.check() raises; if the file looks\n"
          "different since the session began, its records are verified again, as by Container.acquire().")
      .def_prop_ro(
          "model",
          [](const BoundSession& self) {
            return BoundModel{self.session.model(), self.policy};
          },
          "The model that began it, for further sessions and for the reason of the choice.")
      .def_prop_ro(
          "container", [](const BoundSession& self) { return container_of(self.session.model()); },
          nb::sig("def container(self) -> Container | None"),
          "The container of its views; None for a DLC and a raw binary.")
      .def(
          "report_json",
          [](const BoundSession& self) { return take(without_gil([&] { return self.session.report_json(); })); },
          "The session as JSON, schema \"fatctx.session/1\": its records with their graphs, sizes and access paths, "
          "and\n"
          "the reason of the choice. Raises what Container.describe() raises.")
      .def(
          "__enter__", [](nb::handle self) { return nb::borrow(self); }, nb::sig("def __enter__(self) -> Session"))
      .def(
          "__exit__",
          [](const BoundSession& self, nb::handle kind, nb::handle, nb::handle) {
            if (!kind.is_none()) return;  // the error of the block says more
            Session ended = self.session;
            take_status(without_gil([&] { return ended.end(); }));
          },
          nb::arg("kind").none(), nb::arg("error").none(), nb::arg("traceback").none(),
          nb::sig("def __exit__(self, kind: object, error: object, traceback: object) -> None"))
      .def("__repr__", [](const BoundSession& self) {
        return fmt::format("<fatctx.Session of {}, {} weight blobs>",
                           nb::cast<std::string>(nb::repr(path_to_str(self.session.model().path()))),
                           self.session.weights().size());
      });
}

void bind_model_class(nb::module_& module) {
  nb::class_<BoundModel>(module, "Model", nb::is_weak_referenceable(),
                         "A file with the target chosen for a device.\n\n"
                         "There is nothing to close. The end of a `with` block checks the file as that of Container\n"
                         "does. Threads: every method from any number of threads.")
      .def(
          "__enter__", [](nb::handle self) { return nb::borrow(self); }, nb::sig("def __enter__(self) -> Model"))
      .def(
          "__exit__",
          [](const BoundModel& self, nb::handle kind, nb::handle, nb::handle) {
            const nb::object container = container_of(self.model);
            // The error of the block says more; a DLC and a raw binary have nothing to check.
            if (kind.is_none() && !container.is_none()) container.attr("check")();
          },
          nb::arg("kind").none(), nb::arg("error").none(), nb::arg("traceback").none(),
          nb::sig("def __exit__(self, kind: object, error: object, traceback: object) -> None"))
      .def_prop_ro(
          "format", [](const BoundModel& self) { return to_str(model_format_name(self.model.format())); },
          "The format of the file, recognised by its bytes: \"container\", \"dlc\" or \"raw_binary\".")
      .def_prop_ro(
          "path", [](const BoundModel& self) { return path_to_str(self.model.path()); },
          nb::sig("def path(self) -> str"), "As given; \"fd 7\" for a descriptor, \"memory\" for a buffer.")
      .def_prop_ro(
          "container", [](const BoundModel& self) { return container_of(self.model); },
          nb::sig("def container(self) -> Container | None"), "None for a DLC and a raw binary.")
      .def(
          "graphs",
          [](const BoundModel& self, std::uint32_t record_id) {
            return take(without_gil([&] { return self.model.graphs(record_id); }));
          },
          nb::arg("record_id"),
          "The graphs of a chosen context binary, as its metadata lists them. Raises NotFound (it was not chosen), "
          "and\n"
          "what Container.describe() raises.")
      .def_prop_ro(
          "device", [](const BoundModel& self) { return self.model.device(); }, "The device the choice was made for.")
      .def_prop_ro(
          "selection",
          [](const BoundModel& self) {
            const std::span<const Candidate> candidates = self.model.candidates();
            return BoundSelection{self.model,
                                  {candidates.begin(), candidates.end()},
                                  self.model.device(),
                                  self.policy,
                                  self.model.selection()};
          },
          "The verdicts and the choice. It has no verdicts for a raw binary, for which nothing was selected.")
      .def(
          "explain", [](const BoundModel& self) { return text_for_people(self.model.explain()); },
          nb::sig("def explain(self) -> str"), "Why this record and no other, several lines.")
      .def(
          "explain_json", [](const BoundModel& self) { return self.model.explain_json(); },
          "The same as JSON, schema fatctx.selection/1; null for a raw binary.")
      .def(
          "session",
          [](const BoundModel& self) {
            Session session = take(without_gil([&] { return self.model.begin_session(); }));
            return BoundSession{std::move(session), self.policy};
          },
          "Acquires the chosen records and their weights, verified by the open policy. The second and later\n"
          "sessions cost no reading. Raises what Container.acquire raises.")
      .def("__repr__", [](const BoundModel& self) {
        const Selection& selection = self.model.selection();
        return fmt::format("<fatctx.Model {} {} of group {}, {} units>",
                           nb::cast<std::string>(nb::repr(path_to_str(self.model.path()))), level_name(selection.level),
                           quoted(selection.group), selection.chosen.size());
      });
}

// Returns a hook that calls the function and converts its result to bytes. Calls it with the GIL, inside
// call.run().
PrepareHook prepare_hook(ProgressCall& call, const nb::object& function) {
  return [&call, &function](const PrepareRequest& request) -> Result<std::vector<std::byte>> {
    std::vector<std::byte> binary;
    call.call_python([&] {
      const std::string name(request.record.name);
      const std::string unit(request.record.key.unit);
      const nb::object made =
          function(to_str(name), to_str(unit), nb::bytes(request.source.data(), request.source.size()), request.device);
      nb::bytes bytes;
      if (!nb::try_cast(made, bytes, false)) {
        PyErr_SetString(PyExc_TypeError, "prepare: expected to get bytes from the function");
        throw nb::python_error();
      }
      const auto* const data = static_cast<const std::byte*>(bytes.data());
      binary.assign(data, data + bytes.size());
    });
    return binary;
  };
}

}  // namespace

OnDamage take_on_damage(nb::dict& keywords) {
  const auto given = take_keyword<std::string>(keywords, "on_damage", std::string("fail"), "a str");
  return known_word(on_damage_from_name(given), "on_damage", given, &on_damage_name);
}

ModelKeywords take_model_keywords(nb::dict& keywords) {
  ModelKeywords taken;
  taken.on_damage = take_on_damage(keywords);
  taken.prepare = take_keyword(keywords, "prepare", taken.prepare, "a function or None");
  if (!taken.prepare.is_none() && PyCallable_Check(taken.prepare.ptr()) == 0) {
    throw nb::type_error("keyword prepare: expected a function or None");
  }
  return taken;
}

namespace {

// Runs `make` with the options, while `prepare` may call Python.
template <typename Make>
BoundModel made_model(ModelOptions options, const ModelKeywords& keywords, const Make& make) {
  options.on_damage = keywords.on_damage;
  ProgressCall call{nb::none()};
  if (!keywords.prepare.is_none()) options.prepare = prepare_hook(call, keywords.prepare);
  options.policy.prepare_hook = options.policy.prepare_hook || options.prepare;
  return {call.run([&] { return make(options); }), options.policy};
}

}  // namespace

BoundModel choose_model(const Container& container, nb::handle device, const SelectPolicy& policy,
                        const ModelKeywords& keywords) {
  ModelOptions options;
  options.policy = policy;
  options.device = device_from(device);
  return made_model(std::move(options), keywords,
                    [&](const ModelOptions& given) { return Model::choose(container, given); });
}

void bind_model(nb::module_& module) {
  bind_session(module);
  bind_model_class(module);
  module.def(
      "open_model",
      [](nb::handle file, nb::handle device, const nb::kwargs& given_keywords) {
        nb::dict keywords = nb::cast<nb::dict>(given_keywords.attr("copy")());
        const Source source = source_from(file, take_window(keywords));
        ModelOptions options;
        options.open = take_open_options(keywords, FATCTX_OPEN_STRICT);
        options.policy = take_policy(keywords);
        take_source_options(keywords, options);
        const ModelKeywords model_keywords = take_model_keywords(keywords);
        const std::string allowed = fmt::format("{}, " FATCTX_OPEN_KEYWORD_LIST_AS(FATCTX_OPEN_STRICT) ", {}, {}",
                                                kSourceKeywords, kPolicyKeywords, kModelKeywords);
        refuse_unknown_keywords(keywords, allowed.c_str());
        if (options.signal && !model_keywords.prepare.is_none()) {
          raise_error({ErrorCode::kInvalidArgument,
                       "signal and prepare exclude each other: a call that was stopped must not call prepare later"});
        }
        options.device = device_from(device);
        return made_model(std::move(options), model_keywords,
                          [&](const ModelOptions& given) { return Model::open(source, given); });
      },
      nb::arg("file"), nb::arg("device") = nb::none(), nb::arg("given_keywords"),
      nb::sig("def open_model(file: str | os.PathLike | int | Buffer, device: Device | str | None = None, "
              "*, " FATCTX_SOURCE_KEYWORDS ", " FATCTX_OPEN_KEYWORDS_AS(
                  FATCTX_OPEN_STRICT) ", " FATCTX_POLICY_KEYWORDS ", " FATCTX_MODEL_KEYWORDS ") -> Model"),
      "Opens a container, a DLC or a plain context binary, and chooses the best target for `device` (None: this\n"
      "machine). Needs no library of a vendor.\n\n"
      "Args:\n"
      "    file: a path; a descriptor (int), which stays the caller's and may be closed afterwards; or the contents "
      "as\n"
      "        a buffer (bytes, too, are contents and no path), which is held as long as any view of it and must not "
      "be\n"
      "        changed meanwhile.\n"
      "    offset, size: the part of a descriptor's file, in bytes, as of open().\n"
      "    raw_binaries: the bytes that are accepted as a plain context binary, of which nothing is selected and "
      "nothing\n"
      "        checked: \"known\" formats; \"any\" that are neither container nor DLC, for which the caller vouches;\n"
      "        \"refuse\" none.\n"
      "    signal: a LoadSignal that stops the call from another thread or after a time; not together with `prepare`.\n"
      "    group: group of graphs; empty: the only one.\n"
      "    strict: only records that fully use the device.\n"
      "    strict_table: check the whole table of contents; the `strict` of open().\n"
      "    allow_lower_arch: a lower Hexagon arch of the same generation may do.\n"
      "    allow_generic: a generic record may do, with a warning.\n"
      "    mix_targets: take units from different targets when no target has them all.\n"
      "    boundaries: Hexagon generation boundaries; None: those of the table of SoCs.\n"
      "    prepare_hook: a stored source model may do, as with `prepare`; for fatctx.select().\n"
      "    max_sdk: records of a newer SDK are refused, whatever the device reads.\n"
      "    soc_table: tells spellings of one part and quirks; None: the built-in one.\n"
      "    prepare: prepare(name, unit, source, device) compiles a stored source model and gives the context binary "
      "as\n"
      "        bytes. Called once for each source model that is chosen, when no context binary of the group fits; "
      "its\n"
      "        exceptions are raised.\n"
      "    record_override: name of the context binary to take; with force, whatever the axes say.\n"
      "    on_damage: \"next\" reads and checks the chosen records at once, and takes the best target of which "
      "every record\n"
      "        is whole; Selection.damaged lists the ones passed over. \"fail\" leaves damage to Model.session().\n"
      "    others: see open().\n\n"
      "Raises what open() raises, NoMatch with the reason for every record, and InvalidArgument; BadMagic (none of "
      "the\n"
      "formats); with a signal Cancelled, TimedOut, OperationNotPermitted (it serves another call already); "
      "BufferError\n"
      "for a buffer that is not one run of bytes.");
}

}  // namespace fatctx::python
