#include "observe.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>

#include "errors.h"
#include "fatctx/metrics.h"
#include "fatctx/profile.h"
#include "fatctx/trace.h"
#include "fatctx/view_cache.h"
#include "records.h"

namespace fatctx::python {
namespace {

// A Python function that the library may call, and release, on any thread, even after the interpreter has
// ended.
class HeldFunction {
 public:
  // Holds the function. Requires: the GIL.
  explicit HeldFunction(nb::object function) : function_(function.release().ptr()) {}
  ~HeldFunction() {
    if (Py_IsInitialized() == 0) return;
    const nb::gil_scoped_acquire acquired;
    Py_DECREF(function_);
  }
  HeldFunction(const HeldFunction&) = delete;
  HeldFunction& operator=(const HeldFunction&) = delete;

  // Calls the function. The library expects no exception, so one goes to sys.unraisablehook.
  template <typename Make>
  void operator()(const Make& make_argument) const {
    if (Py_IsInitialized() == 0) return;
    const nb::gil_scoped_acquire acquired;
    try {
      nb::borrow(function_)(make_argument());
    } catch (nb::python_error& error) {
      error.discard_as_unraisable(nb::borrow(function_));
    }
  }

 private:
  PyObject* function_;
};

ProfileLevel level_from(const std::string& word) {
  return known_word(profile_level_from_name(word), "the profile level", word, &profile_level_name);
}

nb::object as_dict(const std::string& json) { return nb::module_::import_("json").attr("loads")(json); }

void bind_metrics(nb::module_& module) {
  module.def(
      "container_metrics",
      [](const Container& container) {
        return as_dict(without_gil([&] { return to_json(container_metrics(container)); }));
      },
      nb::arg("container"), nb::sig("def container_metrics(container: Container) -> dict[str, typing.Any]"),
      "Returns the present costs and savings of this container: the `dict` of schema \"fatctx.metrics/1\", sizes in "
      "bytes,\n"
      "None for values that the system does not report. Touches no page; costs some 20 ms for each GiB that is in "
      "memory.\n"
      "Releases the GIL. Threads: any; numbers that change meanwhile need not add up.");
  module.def(
      "runtime_metrics", [] { return as_dict(without_gil([] { return to_json(runtime_metrics()); })); },
      nb::sig("def runtime_metrics() -> dict[str, typing.Any]"),
      "The same for every file that this process has open; buffers of open_memory() are not among them.");
}

void bind_view_cache(nb::module_& module) {
  module.def(
      "view_cache_files",
      [](nb::handle folder) {
        const std::string path = path_from(folder);
        return as_dict(take(without_gil([&]() -> Result<std::string> {
          FATCTX_ASSIGN(const std::vector<ViewCacheFile> files, list_view_cache(path));
          return to_json(path, files);
        })));
      },
      nb::arg("folder"), nb::sig("def view_cache_files(folder: str | bytes | os.PathLike) -> dict[str, typing.Any]"),
      "Lists the files of a cache folder, most recently used first: the `dict` of schema \"fatctx.cache/1\".\n"
      "Raises FileNotFound, OperationNotPermitted (not a folder, not the caller's own, not of mode 0700), Io.");
  module.def(
      "collect_view_cache",
      [](nb::handle folder, std::uint64_t limit_bytes) {
        const std::string path = path_from(folder);
        const ViewCacheCollection done = take(without_gil([&] { return collect_view_cache(path, limit_bytes); }));
        nb::dict numbers;
        numbers["removed_files"] = done.removed_files;
        numbers["removed_bytes"] = done.removed_bytes;
        numbers["removed_temporaries"] = done.removed_temporaries;
        numbers["left_files"] = done.left_files;
        numbers["left_bytes"] = done.left_bytes;
        return numbers;
      },
      nb::arg("folder"), nb::arg("limit_bytes"),
      nb::sig("def collect_view_cache(folder: str | bytes | os.PathLike, limit_bytes: int) -> dict[str, int]"),
      "Removes the least recently used files from a cache folder until the rest take at most limit_bytes together\n"
      "(0: removes all of them), and what processes that died have left. Views of removed files stay valid.\n"
      "Raises what view_cache_files() raises.");
}

void bind_profile_events(nb::module_& module) {
  nb::class_<ProfileEvent>(module, "ProfileEvent", "One call that was recorded. Immutable.")
      .def_prop_ro(
          "kind", [](const ProfileEvent& self) { return to_str(profile_event_name(self.kind)); },
          "\"open\", \"map\", \"verify\", \"select\", \"acquire\", \"prefetch\", \"release\", \"unmap\".")
      .def_ro("start_ns", &ProfileEvent::start_ns, "Time of the steady clock.")
      .def_ro("duration_ns", &ProfileEvent::duration_ns)
      .def_ro("bytes", &ProfileEvent::bytes, "Mapped, checked, handed out, brought in, ...: by kind.")
      .def_ro("thread", &ProfileEvent::thread, "1, 2, ... in the order in which threads were first seen.")
      .def_ro("ok", &ProfileEvent::ok, "False: the call gave an error.")
      .def_prop_ro(
          "path", [](const ProfileEvent& self) { return path_to_str(self.path); }, nb::sig("def path(self) -> str"))
      .def_ro("record_id", &ProfileEvent::record_id, "0: the event is about no single record.")
      .def_ro("record", &ProfileEvent::record, "Its name.")
      .def("__repr__", [](const ProfileEvent& self) {
        return fmt::format("<fatctx.ProfileEvent {} {} ns, {} bytes{}>", profile_event_name(self.kind),
                           self.duration_ns, self.bytes, self.ok ? "" : ", failed");
      });
  nb::class_<ProfileTotal>(module, "ProfileTotal", "All events of one kind together. Immutable.")
      .def_prop_ro("kind", [](const ProfileTotal& self) { return to_str(profile_event_name(self.kind)); })
      .def_ro("count", &ProfileTotal::count)
      .def_ro("failed", &ProfileTotal::failed)
      .def_ro("total_ns", &ProfileTotal::total_ns)
      .def_ro("longest_ns", &ProfileTotal::longest_ns)
      .def_ro("bytes", &ProfileTotal::bytes)
      .def("__repr__", [](const ProfileTotal& self) {
        return fmt::format("<fatctx.ProfileTotal {} x {}, {} ns, {} bytes>", self.count, profile_event_name(self.kind),
                           self.total_ns, self.bytes);
      });
}

void bind_profile(nb::module_& module) {
  bind_profile_events(module);
  nb::class_<Profile>(module, "Profile", "Events and totals that the recorder has collected: a snapshot. Immutable.")
      .def_prop_ro("level", [](const Profile& self) { return to_str(profile_level_name(self.level)); })
      .def_ro("totals", &Profile::totals, "One for each kind that happened.")
      .def_ro("events", &Profile::events, "In the order in which they ended; only with level \"detailed\".")
      .def_ro("dropped_events", &Profile::dropped_events, "Events beyond max_events.")
      .def("csv", &Profile::csv,
           "Comma-separated values with a title line: an event a line if detailed, else a total a line.")
      .def("__repr__", [](const Profile& self) {
        return fmt::format("<fatctx.Profile {}, {} kinds, {} events>", profile_level_name(self.level),
                           self.totals.size(), self.events.size());
      });
  module.def(
      "start_profile",
      [](const std::string& level, nb::object hook, std::size_t max_events) {
        ProfileOptions options{.level = level_from(level), .max_events = max_events};
        if (!hook.is_none()) {
          options.hook = [held = std::make_shared<const HeldFunction>(std::move(hook))](const ProfileEvent& event) {
            (*held)([&] { return nb::cast(event); });
          };
        }
        without_gil([&] { start_profile(options); });
      },
      nb::arg("level") = "basic", nb::kw_only(), nb::arg("hook") = nb::none(), nb::arg("max_events") = 1'000'000,
      nb::sig("def start_profile(level: str = 'basic', *, "
              "hook: typing.Callable[[ProfileEvent], object] | None = None, max_events: int = 1000000) -> None"),
      "Discards earlier recordings and starts anew; one recorder per process, off until this call.\n\n"
      "Args:\n"
      "    level: \"basic\" keeps totals, \"detailed\" every event as well, \"off\" stops.\n"
      "    hook: called with each event when the outermost call of this library ends, on its thread, from several\n"
      "        threads at once. Its exceptions go to sys.unraisablehook; calls from inside it are not recorded.\n"
      "    max_events: that many are kept; the totals go on.\n\n"
      "Raises InvalidArgument for an unknown level. Threads: any.");
  module.def(
      "current_profile", [] { return without_gil([] { return current_profile(); }); },
      "Returns the profile recorded so far. Threads: any.");
  module.def(
      "stop_profile", [] { return without_gil([] { return stop_profile(); }); },
      "Stops the recorder and returns the recorded profile. Threads: any.");
}

void bind_trace(nb::module_& module) {
  nb::class_<ReplayDifference>(module, "ReplayDifference", "A call that gives something else now. Immutable.")
      .def_ro("line", &ReplayDifference::line, "Line of the trace, counted from 1.")
      .def_prop_ro(
          "call", [](const ReplayDifference& self) { return text_for_people(self.call); },
          nb::sig("def call(self) -> str"), "\"view m.fatctx record 3\".")
      .def_prop_ro(
          "gave", [](const ReplayDifference& self) { return text_for_people(self.gave); },
          nb::sig("def gave(self) -> str"), "Result in the trace.")
      .def_prop_ro(
          "gives", [](const ReplayDifference& self) { return text_for_people(self.gives); },
          nb::sig("def gives(self) -> str"), "Result of the replay.")
      .def("__repr__", [](const ReplayDifference& self) {
        return fmt::format("<fatctx.ReplayDifference line {}: {} gave {}, gives {}>", self.line, self.call, self.gave,
                           self.gives);
      });
  nb::class_<ReplayReport>(module, "ReplayReport",
                           "The outcome of a replay. True in a condition if every call gives what it gave.")
      .def_ro("calls", &ReplayReport::calls, "Repeated.")
      .def_ro("skipped", &ReplayReport::skipped, "Cannot be repeated: descriptors and buffers of another process.")
      .def_ro("differences", &ReplayReport::differences)
      .def("__bool__", [](const ReplayReport& self) { return self.differences.empty(); })
      .def("__repr__", [](const ReplayReport& self) {
        return fmt::format("<fatctx.ReplayReport {} calls, {} skipped, {} differences>", self.calls, self.skipped,
                           self.differences.size());
      });
  module.def(
      "set_trace",
      [](nb::object sink) {
        TraceSink passed;
        if (!sink.is_none()) {
          passed = [held = std::make_shared<const HeldFunction>(std::move(sink))](std::string_view line) {
            (*held)([&] { return text_for_people(line); });
          };
        }
        without_gil([&] { set_trace(std::move(passed)); });
      },
      nb::arg("sink").none(), nb::sig("def set_trace(sink: typing.Callable[[str], object] | None) -> None"),
      "Writes opens, selections and acquired views, with what they gave, as JSON lines; None stops.\n\n"
      "`sink` takes one line without its line feed, on the thread of the call, from several threads at once; the "
      "first\n"
      "one names the schema. Its exceptions go to sys.unraisablehook; calls from inside it are not recorded.");
  module.def(
      "replay_trace", [](const std::string& trace) { return take(without_gil([&] { return replay_trace(trace); })); },
      nb::arg("trace"),
      "Repeats the calls of a trace, given as the text of its lines, and compares what they give now with what they\n"
      "gave. Releases the GIL. Raises InvalidArgument naming the line that cannot be read.");
}

}  // namespace

void bind_observe(nb::module_& module) {
  bind_metrics(module);
  bind_view_cache(module);
  bind_profile(module);
  bind_trace(module);
  // A library that outlives the interpreter must not call or release Python functions.
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    without_gil([] {
      set_trace({});
      stop_profile();
    });
  }));
}

}  // namespace fatctx::python
