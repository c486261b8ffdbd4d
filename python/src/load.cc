#include "load.h"

#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "errors.h"
#include "held_buffer.h"
#include "keywords.h"
#include "model.h"
#include "progress.h"
#include "read_only_buffer.h"
#include "records.h"

namespace fatctx::python {
namespace {

std::chrono::milliseconds timeout_from(nb::handle seconds) {
  if (seconds.is_none()) return std::chrono::milliseconds(0);
  double given = 0;
  if (!nb::try_cast(seconds, given))
    throw nb::type_error("timeout: expected a number of seconds, or None for no limit");
  constexpr double kMost = 1e9;  // seconds: about 30 years
  if (!(given > 0 && given <= kMost)) {
    raise_error({ErrorCode::kInvalidArgument,
                 fmt::format("timeout is {} seconds; a limit is above 0 and at most {:.0f}, and None is no limit",
                             given, kMost)});
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(given * 1000)));
}

LoadSource source_from(nb::handle file, const FileWindow& window) {
  const bool descriptor = PyLong_Check(file.ptr()) != 0 && PyBool_Check(file.ptr()) == 0;
  if (!descriptor && window != FileWindow{}) {
    throw nb::type_error("offset and size go with a descriptor: open the file and hand in its number");
  }
  if (descriptor) return LoadSource::descriptor(nb::cast<int>(file), window);
  if (nb::isinstance<nb::str>(file) || nb::hasattr(file, "__fspath__")) return {path_from(file)};
  auto held = std::make_shared<const HeldBuffer>(file);
  const ByteView bytes = held->bytes();
  return LoadSource::memory(bytes, std::move(held));
}

nb::object function_from(nb::dict& keywords, const char* name) {
  nb::object function = take_keyword<nb::object>(keywords, name, nb::none(), "a function or None");
  if (!function.is_none() && PyCallable_Check(function.ptr()) == 0) {
    throw nb::type_error(fmt::format("keyword {}: expected a function or None", name).c_str());
  }
  return function;
}

RawBinaries raw_binaries_from(const std::string& word) {
  return known_word(raw_binaries_from_name(word), "raw_binaries", word, "'known', 'any' and 'refuse'");
}

const char* event_name(LoadEventKind kind) noexcept {
  return kind == LoadEventKind::kGraphInitialised ? "graph_initialised" : "context_initialised";
}

int get_loaded_bytes(PyObject* self, Py_buffer* buffer, int flags) noexcept {
  if (refused(self, buffer, flags, "a fatctx.LoadedRecord")) return -1;
  return fill_bytes(self, buffer, flags, nb::inst_ptr<LoadedRecord>(nb::handle(self))->view.bytes());
}

// Slots hold functions as void*; a function pointer converts to one on every system that Python runs on.
const PyType_Slot kLoadedSlots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(&get_loaded_bytes)}, {0, nullptr}};

void bind_signal(nb::module_& module) {
  nb::class_<LoadSignal>(
      module, "LoadSignal",
      "Stops a load from another thread, or after a time. Serves one load at a time, and the next one when that has\n"
      "ended.\n\n"
      "Threads: every method from any number of threads; cancel() also from a handler of the module signal.")
      .def(
          "__init__", [](LoadSignal* self, nb::handle timeout) { new (self) LoadSignal(timeout_from(timeout)); },
          nb::arg("timeout") = nb::none(), nb::sig("def __init__(self, timeout: float | None = None) -> None"),
          "timeout: seconds after which a load that uses it raises TimedOut, counted from the call that loads;\n"
          "None: no limit. Raises InvalidArgument.")
      .def(
          "cancel", [](LoadSignal& self) { without_gil([&] { self.cancel(); }); },
          "The load that uses it raises Cancelled within 100 ms, whatever it waits for; without one the next load "
          "does.")
      .def(
          "reset", [](LoadSignal& self) { take_status(self.reset()); },
          "Takes back a cancel. Raises OperationNotPermitted while a load uses it.")
      .def(
          "set_timeout",
          [](LoadSignal& self, nb::handle timeout) { take_status(self.set_timeout(timeout_from(timeout))); },
          nb::arg("timeout").none(), nb::sig("def set_timeout(self, timeout: float | None) -> None"),
          "As for the constructor. Raises InvalidArgument, and OperationNotPermitted while a load uses it.")
      .def_prop_ro("cancelled", [](const LoadSignal& self) { return self.cancelled(); })
      .def_prop_ro(
          "in_use", [](const LoadSignal& self) { return self.in_use(); }, "A load uses it.")
      .def("__repr__", [](const LoadSignal& self) {
        return fmt::format("<fatctx.LoadSignal{}{}>", self.cancelled() ? " cancelled" : "",
                           self.in_use() ? " in use" : "");
      });
}

void bind_event(nb::module_& module) {
  nb::class_<LoadEvent>(
      module, "LoadEvent",
      "What `notify` hears: for each context binary its graphs, in the order of its metadata, and then the context\n"
      "binary. A load that fails tells of \"context_initialised\" with the error as its last event.")
      .def_prop_ro(
          "kind", [](const LoadEvent& self) { return event_name(self.kind); },
          "\"graph_initialised\" or \"context_initialised\".")
      .def_prop_ro(
          "record", [](const LoadEvent& self) { return to_str(self.record); },
          "Name of the context binary; empty if the load failed.")
      .def_prop_ro(
          "unit", [](const LoadEvent& self) { return to_str(self.unit); }, "Of the context binary.")
      .def_prop_ro(
          "graph", [](const LoadEvent& self) { return to_str(self.graph); }, "Of \"graph_initialised\".")
      .def_prop_ro(
          "error", [](const LoadEvent& self) { return self.error ? exception_of(*self.error) : nb::none(); },
          nb::sig("def error(self) -> fatctx.errors.Error | None"),
          "Why the load failed: an exception that nobody raised.")
      .def("__repr__", [](const LoadEvent& self) {
        return fmt::format("<fatctx.LoadEvent {} {}>", event_name(self.kind),
                           self.error ? to_text(*self.error) : quoted(self.graph.empty() ? self.record : self.graph));
      });
}

void bind_loaded_record(nb::module_& module) {
  nb::class_<LoadedRecord>(
      module, "LoadedRecord", nb::type_slots(kLoadedSlots), nb::is_weak_referenceable(),
      "A context binary that was chosen, or what it refers to, with its read-only bytes.\n\n"
      "`memoryview(record)`, `np.asarray(record)` and `bytes(record)` work; only the last one copies.\n\n"
      "Ownership: keeps its bytes where they are, as every memoryview or array made from it does; of a buffer that "
      "was\n"
      "loaded it keeps the buffer. Threads: usable from any number of threads.\n"
      "The file: must not be truncated while mapped; replacing it by rename is safe.")
      .def_prop_ro(
          "name", [](const LoadedRecord& self) { return text_for_people(self.name); }, nb::sig("def name(self) -> str"),
          "Of the record or of the entry of a DLC; of a raw binary its path.")
      .def_prop_ro(
          "type", [](const LoadedRecord& self) { return to_str(record_type_name(self.type)); },
          "\"context_binary\", \"weight_blob\" or \"opaque\".")
      .def_prop_ro(
          "unit", [](const LoadedRecord& self) { return to_str(self.unit); }, "Of a context binary in a container.")
      .def_ro("graphs", &LoadedRecord::graphs, "Of a context binary, as its metadata lists them.")
      .def_prop_ro(
          "record_id", [](const LoadedRecord& self) { return self.view.record_id(); },
          "Of a DLC 1 for the first entry, 2 for the next, ...; of a raw binary 0.")
      .def_prop_ro(
          "size_bytes", [](const LoadedRecord& self) { return self.view.size_bytes(); }, "Bytes.")
      .def_prop_ro(
          "nbytes", [](const LoadedRecord& self) { return self.view.size_bytes(); }, "Bytes, under NumPy's name.")
      .def_prop_ro(
          "access_path", [](const LoadedRecord& self) { return to_str(access_path_name(self.view.access_path())); },
          "As of RecordView.")
      .def_prop_ro(
          "copied_bytes", [](const LoadedRecord& self) { return self.view.copied_bytes(); }, "As of RecordView.")
      .def_prop_ro(
          "address", [](const LoadedRecord& self) { return reinterpret_cast<std::uintptr_t>(self.view.data()); },
          "Address of the first byte in this process; valid while this object lives.")
      .def(
          "numpy", [](nb::handle_t<LoadedRecord> self) { return as_array(self); },
          nb::sig("def numpy(self) -> \"numpy.ndarray\""),
          "A read-only uint8 array of shape (size_bytes,). Raises ImportError without NumPy.")
      .def("__len__", [](const LoadedRecord& self) { return self.view.size_bytes(); })
      .def("__repr__", [](const LoadedRecord& self) {
        return fmt::format("<fatctx.LoadedRecord {} {}, {} bytes, {}>", record_type_name(self.type), quoted(self.name),
                           self.view.size_bytes(), access_path_name(self.view.access_path()));
      });
}

void bind_loaded_context(nb::module_& module) {
  nb::class_<BoundLoadedContext>(module, "LoadedContext",
                                 "What was loaded. Holds everything it needs.\n\n"
                                 "Threads: every method from any number of threads.")
      .def_prop_ro(
          "format", [](const BoundLoadedContext& self) { return to_str(loaded_format_name(self.context.format())); },
          "What the file turned out to be, by its bytes: \"container\", \"dlc\" or \"raw_binary\".")
      .def_prop_ro(
          "path", [](const BoundLoadedContext& self) { return path_to_str(self.context.path()); },
          nb::sig("def path(self) -> str"), "As given; \"fd 7\" for a descriptor, \"memory\" for a buffer.")
      .def_prop_ro(
          "binaries", [](const BoundLoadedContext& self) { return self.context.binaries(); },
          "The context binaries that were chosen, one for each unit, in unit order; never empty.")
      .def(
          "binary",
          [](const BoundLoadedContext& self, const std::string& unit) {
            const std::uint32_t id = take(self.context.binary(unit)).record_id();
            for (const LoadedRecord& binary : self.context.binaries()) {
              if (binary.view.record_id() == id) return binary;
            }
            return self.context.binaries().front();
          },
          nb::arg("unit") = "",
          "The context binary of `unit`; empty: the only one. Raises NotFound, listing the units.")
      .def_prop_ro(
          "weights", [](const BoundLoadedContext& self) { return self.context.weights(); },
          "Weight blobs that these refer to, in record order. Of a DLC also the metadata of shared weights, as opaque.")
      .def_prop_ro(
          "level",
          [](const BoundLoadedContext& self) -> nb::object {
            if (self.context.selection() == nullptr) return nb::none();
            return to_str(level_name(self.context.selection()->level));
          },
          nb::sig("def level(self) -> str | None"),
          "How well what was chosen fits the device, as Selection.level; None for a raw binary, of which nothing was\n"
          "selected.")
      .def_prop_ro(
          "model",
          [](const BoundLoadedContext& self) -> nb::object {
            if (self.context.model() == nullptr) return nb::none();
            return nb::cast(BoundModel{*self.context.model(), self.policy});
          },
          nb::sig("def model(self) -> Model | None"),
          "The choice, to begin further sessions with; None if it was no container.")
      .def(
          "explain", [](const BoundLoadedContext& self) { return text_for_people(self.context.explain()); },
          nb::sig("def explain(self) -> str"), "What kind of file it was, and why this record and no other.")
      .def(
          "explain_json", [](const BoundLoadedContext& self) { return self.context.explain_json(); },
          "The same as JSON, schema \"fatctx.load/1\".")
      .def("__repr__", [](const BoundLoadedContext& self) {
        return fmt::format("<fatctx.LoadedContext {} {}, {} context binaries, {} weight blobs>",
                           loaded_format_name(self.context.format()),
                           nb::cast<std::string>(nb::repr(path_to_str(self.context.path()))),
                           self.context.binaries().size(), self.context.weights().size());
      });
}

}  // namespace

LoadRequest load_request(nb::handle file, nb::handle device, const nb::kwargs& given_keywords) {
  nb::dict keywords = nb::cast<nb::dict>(given_keywords.attr("copy")());
  const FileWindow window = take_window(keywords);
  LoadOptions options;
  options.model.open = take_open_options(keywords);
  options.model.policy = take_policy(keywords);
  options.model.on_damage = take_on_damage(keywords);
  options.raw_binaries = raw_binaries_from(take_keyword<std::string>(
      keywords, "raw_binaries", std::string(raw_binaries_name(options.raw_binaries)), "a str"));
  options.prefetch = take_keyword(keywords, "prefetch", options.prefetch, "a bool");
  options.signal = take_keyword(keywords, "signal", options.signal, "a fatctx.LoadSignal or None");
  nb::object notify = function_from(keywords, "notify");
  nb::object progress = function_from(keywords, "progress");
  const std::string allowed = fmt::format(
      "offset, size, raw_binaries, prefetch, signal, notify, progress, on_damage, " FATCTX_OPEN_KEYWORD_LIST ", {}",
      kPolicyKeywords);
  refuse_unknown_keywords(keywords, allowed.c_str());
  options.model.device = device_from(device);
  return {source_from(file, window), std::move(options), std::move(notify), std::move(progress)};
}

void bind_load(nb::module_& module) {
  bind_signal(module);
  bind_event(module);
  bind_loaded_record(module);
  bind_loaded_context(module);
  module.def(
      "load_context",
      [](nb::handle file, nb::handle device, const nb::kwargs& keywords) {
        LoadRequest request = load_request(file, device, keywords);
        ProgressCall call(std::move(request.progress));
        request.options.progress = call.callback();
        if (!request.notify.is_none()) {
          request.options.notify = [&](const LoadEvent& event) { call.call_python([&] { request.notify(event); }); };
        }
        LoadedContext loaded = call.run([&] { return load_context(request.source, request.options); });
        return BoundLoadedContext{std::move(loaded), request.options.model.policy};
      },
      nb::arg("file"), nb::arg("device") = nb::none(), nb::arg("keywords"),
      nb::sig("def load_context(file: str | os.PathLike | int | Buffer, device: Device | str | None = None, "
              "*, " FATCTX_LOAD_KEYWORDS ") -> LoadedContext"),
      "From a file to the context binary for `device` (None: this machine), whatever kind of file it is: a container,\n"
      "a DLC with context binaries for several SoCs, or a plain context binary for one. Needs no library of a "
      "vendor.\n\n"
      "Args:\n"
      "    file: a path; a descriptor (int), which stays the caller's and may be closed afterwards; or the contents as "
      "a\n"
      "        buffer (bytes, too, are contents and no path), which is held as long as any view of it and must not be\n"
      "        changed meanwhile.\n"
      "    offset, size: the part of a descriptor's file, in bytes, as of open().\n"
      "    raw_binaries: which bytes are taken for a plain context binary, of which nothing is selected and nothing\n"
      "        checked: \"known\" formats; \"any\" that are neither container nor DLC, for which the caller vouches;\n"
      "        \"refuse\" none.\n"
      "    prefetch: also brings what was chosen into memory.\n"
      "    signal: a LoadSignal that stops the load from another thread or after a time.\n"
      "    notify: notify(event) hears of every graph, of every context binary and of the error.\n"
      "    progress: progress(done_bytes, total_bytes), about every 25 ms, also while nothing goes on.\n"
      "    others: see open_model(). A stored source model is not compiled here; open_model() takes `prepare`.\n\n"
      "Threads: the work is done by a thread of the library while this one waits without the GIL, so that a signal "
      "and\n"
      "Ctrl-C end the call also while a read does not come back. Both functions run on this thread; what they raise\n"
      "ends the load and is raised here.\n"
      "Raises what open_model() and Model.session() raise; BadMagic (none of the formats); Cancelled, TimedOut,\n"
      "OperationNotPermitted (the signal serves another load already); BufferError for a buffer that is not one run "
      "of\n"
      "bytes.");
}

}  // namespace fatctx::python
