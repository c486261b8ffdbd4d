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
#include "keywords.h"
#include "model.h"
#include "progress.h"
#include "records.h"
#include "source.h"

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
                 fmt::format("timeout is {} seconds; a limit is above 0 and at most {:.0f}, and None means no limit",
                             given, kMost)});
  }
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(given * 1000)));
}

nb::object function_from(nb::dict& keywords, const char* name) {
  nb::object function = take_keyword<nb::object>(keywords, name, nb::none(), "a function or None");
  if (!function.is_none() && PyCallable_Check(function.ptr()) == 0) {
    throw nb::type_error(fmt::format("keyword {}: expected a function or None", name).c_str());
  }
  return function;
}

const char* event_name(LoadEventKind kind) noexcept {
  return kind == LoadEventKind::kGraphInitialised ? "graph_initialised" : "context_initialised";
}

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
          "The load that uses it raises Cancelled within 100 ms, whatever it waits for; if there is none, the "
          "next load does.")
      .def(
          "reset", [](LoadSignal& self) { take_status(self.reset()); },
          "Clears the cancellation. Raises OperationNotPermitted while a load uses it.")
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
      "Event that `notify` receives: for each context binary its graphs, in the order of its metadata, and then the\n"
      "context binary. A load that fails reports \"context_initialised\" with the error as its last event.")
      .def_prop_ro(
          "kind", [](const LoadEvent& self) { return event_name(self.kind); },
          "\"graph_initialised\" or \"context_initialised\".")
      .def_prop_ro(
          "record", [](const LoadEvent& self) { return to_str(self.record); },
          "Name of the context binary; empty if the load failed.")
      .def_prop_ro(
          "unit", [](const LoadEvent& self) { return to_str(self.unit); }, "Unit of the context binary.")
      .def_prop_ro(
          "graph", [](const LoadEvent& self) { return to_str(self.graph); },
          "Name of the graph, for \"graph_initialised\".")
      .def_prop_ro(
          "error", [](const LoadEvent& self) { return self.error ? exception_of(*self.error) : nb::none(); },
          nb::sig("def error(self) -> fatctx.errors.Error | None"),
          "Why the load failed: an exception that nobody raised.")
      .def("__repr__", [](const LoadEvent& self) {
        return fmt::format("<fatctx.LoadEvent {} {}>", event_name(self.kind),
                           self.error ? to_text(*self.error) : quoted(self.graph.empty() ? self.record : self.graph));
      });
}

}  // namespace

LoadRequest load_request(nb::handle file, nb::handle device, const nb::kwargs& given_keywords) {
  nb::dict keywords = nb::cast<nb::dict>(given_keywords.attr("copy")());
  const FileWindow window = take_window(keywords);
  LoadOptions options;
  options.model.open = take_open_options(keywords, FATCTX_OPEN_STRICT);
  options.model.policy = take_policy(keywords);
  options.model.on_damage = take_on_damage(keywords);
  take_source_options(keywords, options.model);
  options.prefetch = take_keyword(keywords, "prefetch", options.prefetch, "a bool");
  nb::object notify = function_from(keywords, "notify");
  nb::object progress = function_from(keywords, "progress");
  const std::string allowed =
      fmt::format("{}, prefetch, notify, progress, on_damage, " FATCTX_OPEN_KEYWORD_LIST_AS(FATCTX_OPEN_STRICT) ", {}",
                  kSourceKeywords, kPolicyKeywords);
  refuse_unknown_keywords(keywords, allowed.c_str());
  options.model.device = device_from(device);
  return {source_from(file, window), std::move(options), std::move(notify), std::move(progress)};
}

void bind_load(nb::module_& module) {
  bind_signal(module);
  bind_event(module);
  module.def(
      "load",
      [](nb::handle file, nb::handle device, const nb::kwargs& keywords) {
        LoadRequest request = load_request(file, device, keywords);
        ProgressCall call(std::move(request.progress));
        request.options.progress = call.callback();
        if (!request.notify.is_none()) {
          request.options.notify = [&](const LoadEvent& event) { call.call_python([&] { request.notify(event); }); };
        }
        Session session = call.run([&] { return load(request.source, request.options); });
        return BoundSession{std::move(session), request.options.model.policy};
      },
      nb::arg("file"), nb::arg("device") = nb::none(), nb::arg("keywords"),
      nb::sig("def load(file: str | os.PathLike | int | Buffer, device: Device | str | None = None, "
              "*, " FATCTX_LOAD_KEYWORDS ") -> Session"),
      "Does open_model() and Model.session() in one call that reports its progress and can be stopped.\n\n"
      "Args:\n"
      "    file, offset, size, raw_binaries, signal: as of open_model().\n"
      "    prefetch: also brings the chosen bytes into memory.\n"
      "    notify: notify(event) hears of every graph, of every context binary and of the error.\n"
      "    progress: progress(done_bytes, total_bytes), about every 25 ms, also while nothing goes on.\n"
      "    others: see open_model(). A stored source model is not compiled here; open_model() takes `prepare`.\n\n"
      "Threads: the work is done by a thread of the library while this one waits without the GIL, so that a signal "
      "and\n"
      "Ctrl-C end the call also while a read does not come back. Both functions run on this thread; what they raise\n"
      "ends the load and is raised here.\n"
      "Raises what open_model() and Model.session() raise.");
}

}  // namespace fatctx::python
