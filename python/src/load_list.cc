// Binds lists of loads, which call Python functions on threads of the library.
#include <fmt/format.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "errors.h"
#include "load.h"

namespace fatctx::python {
namespace {

// An exception that ends a load from within one of its callbacks. It holds no Python object, because the
// library destroys it without the GIL.
struct Stopped {};

// A state that the callbacks of a list share: its functions, and the first exception that one of them raised.
// Created and destroyed with the GIL.
class ListCalls {
 public:
  explicit ListCalls(nb::object on_done) : on_done_(std::move(on_done)) {}
  ListCalls(const ListCalls&) = delete;
  ListCalls& operator=(const ListCalls&) = delete;

  // Creates the state; the last reference may be released on any thread.
  [[nodiscard]] static std::shared_ptr<ListCalls> make(nb::object on_done) {
    return {new ListCalls(std::move(on_done)), [](ListCalls* calls) {
              if (Py_IsInitialized() == 0) return;  // the interpreter has ended, and its objects with it
              const nb::gil_scoped_acquire lock;
              delete calls;
            }};
  }
  // Adds the next item of the list, and returns its index. Requires: the GIL.
  [[nodiscard]] std::size_t keep(const LoadRequest& request) {
    items_.push_back({request.notify, request.progress, request.options.model.policy});
    return items_.size() - 1;
  }

  // Runs `body` on a thread of the list. Returns false if it raised.
  template <typename Body>
  [[nodiscard]] bool call(const Body& body) {
    if (Py_IsInitialized() == 0) return false;
    const nb::gil_scoped_acquire lock;
    try {
      body();
      return true;
    } catch (nb::python_error& error) {
      if (!raised_) raised_.emplace(std::move(error));
    } catch (const std::exception& error) {
      PyErr_SetString(PyExc_RuntimeError, error.what());
      nb::python_error made;
      if (!raised_) raised_.emplace(std::move(made));
    }
    return false;
  }
  void notify(std::size_t index, const LoadEvent& event) {
    if (!call([&] { items_[index].notify(event); })) throw Stopped{};
  }
  void progress(std::size_t index, std::uint64_t done_bytes, std::uint64_t total_bytes) {
    if (!call([&] { items_[index].progress(done_bytes, total_bytes); })) throw Stopped{};
  }
  void finished(std::size_t index, const Result<Session>& result) {
    (void)call([&] {
      if (on_done_.is_none()) return;
      const nb::object session = result.ok() ? nb::cast(bound(index, result.value())) : nb::none();
      const nb::object error = result.ok() ? nb::none() : exception_of(result.error());
      on_done_(index, session, error);
    });
    (void)call([&] {
      if (++finished_count_ != items_.size()) return;
      // A function that refers to the list would keep it, and itself, alive forever.
      on_done_ = nb::none();
      for (Item& item : items_) item.notify = item.progress = nb::none();
    });
  }
  [[nodiscard]] BoundSession bound(std::size_t index, Session session) const {
    return {std::move(session), items_[index].policy};
  }
  // Raises the exception that a function raised, once. Requires: the GIL.
  void raise() {
    if (!raised_) return;
    nb::python_error error = std::move(*raised_);
    raised_.reset();
    throw error;
  }

 private:
  struct Item {
    nb::object notify;
    nb::object progress;
    SelectPolicy policy;
  };
  nb::object on_done_;
  std::vector<Item> items_;
  std::size_t finished_count_ = 0;          // guarded by the GIL
  std::optional<nb::python_error> raised_;  // guarded by the GIL
};

// A registry of lists whose threads may still call Python; they are ended before the interpreter.
class LiveLists {
 public:
  void add(const std::shared_ptr<LoadList>& list) {
    const std::lock_guard lock(mutex_);
    std::erase_if(lists_, [](const auto& known) { return known.expired(); });
    lists_.push_back(list);
  }
  // Ends all of them. Requires: the GIL is released.
  void end_all() {
    std::vector<std::weak_ptr<LoadList>> lists;
    {
      const std::lock_guard lock(mutex_);
      lists.swap(lists_);
    }
    for (const auto& known : lists) {
      const std::shared_ptr<LoadList> list = known.lock();
      if (!list) continue;
      list->cancel();
      (void)list->wait();
    }
  }

 private:
  std::mutex mutex_;
  std::vector<std::weak_ptr<LoadList>> lists_;
};

LiveLists& live_lists() {
  static LiveLists lists;
  return lists;
}

class BoundLoadList {
 public:
  BoundLoadList(std::shared_ptr<LoadList> list, std::shared_ptr<ListCalls> calls)
      : list_(std::move(list)), calls_(std::move(calls)) {}
  ~BoundLoadList() {
    if (list_) without_gil([&] { list_.reset(); });
  }
  BoundLoadList(BoundLoadList&&) = default;
  BoundLoadList(const BoundLoadList&) = delete;
  BoundLoadList& operator=(const BoundLoadList&) = delete;

  [[nodiscard]] LoadList& list() const { return *list_; }
  [[nodiscard]] BoundSession result(std::size_t index) const {
    return calls_->bound(index, take(without_gil([&] { return list_->result(index); })));
  }
  void wait() const {
    take_status(without_gil([&] { return list_->wait(); }));
    calls_->raise();
  }

 private:
  std::shared_ptr<LoadList> list_;
  std::shared_ptr<ListCalls> calls_;
};

LoadItem item_of(const LoadRequest& request, const std::shared_ptr<ListCalls>& calls) {
  LoadItem item{.source = request.source, .options = request.options, .finished = {}};
  const std::size_t at = calls->keep(request);
  if (!request.notify.is_none()) {
    item.options.notify = [calls, at](const LoadEvent& event) { calls->notify(at, event); };
  }
  if (!request.progress.is_none()) {
    item.options.progress = [calls, at](std::uint64_t done, std::uint64_t total) { calls->progress(at, done, total); };
  }
  item.finished = [calls](std::size_t index, const Result<Session>& result) { calls->finished(index, result); };
  return item;
}

BoundLoadList start(const nb::iterable& files, nb::object on_done, std::uint32_t threads, nb::handle device,
                    const nb::kwargs& keywords) {
  if (!on_done.is_none() && PyCallable_Check(on_done.ptr()) == 0) {
    throw nb::type_error("on_done: expected a function or None");
  }
  const auto calls = ListCalls::make(std::move(on_done));
  std::vector<LoadItem> items;
  for (const nb::handle file : files) {
    const bool has_options = nb::isinstance<LoadRequest>(file);
    items.push_back(item_of(has_options ? nb::cast<LoadRequest>(file) : load_request(file, device, keywords), calls));
  }
  auto list = take(without_gil([&]() -> Result<std::shared_ptr<LoadList>> {
    FATCTX_ASSIGN(LoadList started, load_all(std::move(items), {.threads = threads}));
    auto shared = std::make_shared<LoadList>(std::move(started));
    live_lists().add(shared);
    return shared;
  }));
  return {std::move(list), calls};
}

void bind_item(nb::module_& module) {
  nb::class_<LoadRequest>(module, "LoadItem",
                          "A file of a list, with a device and options of its own.\n\n"
                          "Ownership: holds a buffer; a descriptor must stay open until load_all() has returned.")
      .def(
          "__init__",
          [](LoadRequest* self, nb::handle file, nb::handle device, const nb::kwargs& keywords) {
            new (self) LoadRequest(load_request(file, device, keywords));
          },
          nb::arg("file"), nb::arg("device") = nb::none(), nb::arg("keywords"),
          nb::sig("def __init__(self, file: str | os.PathLike | int | Buffer, device: Device | str | None = None, "
                  "*, " FATCTX_LOAD_KEYWORDS ") -> None"),
          "The arguments of load(). `notify` and `progress` run on a thread of the list; what they raise "
          "makes\n"
          "the item's error Cancelled, and is raised by LoadList.wait().");
}

void bind_list_class(nb::module_& module) {
  nb::class_<BoundLoadList>(module, "LoadList",
                            "Files that are being loaded. One that fails does not stop the others.\n\n"
                            "Ownership: when the object goes, and at the end of the interpreter, what has not finished "
                            "is cancelled, and the\n"
                            "callbacks that run are waited for, but not from one of them.\n"
                            "Threads: every method from any number of threads. A child of a fork has no such threads.")
      .def("__len__", [](const BoundLoadList& self) { return self.list().size(); })
      .def_prop_ro(
          "finished_count",
          [](const BoundLoadList& self) { return without_gil([&] { return self.list().finished_count(); }); },
          "Items whose callback has returned.")
      .def(
          "cancel", [](const BoundLoadList& self) { without_gil([&] { self.list().cancel(); }); },
          "Every item that has not finished ends with Cancelled, within 100 ms. Does not wait.")
      .def(
          "wait", [](const BoundLoadList& self) { self.wait(); },
          "Waits until all have finished, without the GIL; Ctrl-C is seen afterwards. Then raises the first exception\n"
          "of a callback, once. Raises OperationNotPermitted from a callback of this list, Cancelled in a forked "
          "child.")
      .def(
          "result", [](const BoundLoadList& self, std::size_t index) { return self.result(index); }, nb::arg("index"),
          "Returns the loaded session. Raises NotFound (no such item), OperationNotPermitted (it has not finished),\n"
          "and what the load raised.")
      .def("__repr__", [](const BoundLoadList& self) {
        return fmt::format("<fatctx.LoadList {} of {} finished>",
                           without_gil([&] { return self.list().finished_count(); }), self.list().size());
      });
}

}  // namespace

void bind_load_list(nb::module_& module) {
  bind_item(module);
  bind_list_class(module);
  // A thread that takes the GIL of an ending interpreter never returns.
  nb::module_::import_("atexit").attr("register")(
      nb::cpp_function([] { without_gil([] { live_lists().end_all(); }); }));
  module.def(
      "load_all", &start, nb::arg("files"), nb::arg("on_done") = nb::none(), nb::kw_only(), nb::arg("threads") = 0,
      nb::arg("device") = nb::none(), nb::arg("keywords"),
      nb::sig("def load_all(files: typing.Iterable[str | os.PathLike | int | Buffer | LoadItem], "
              "on_done: typing.Callable[[int, Session | None, fatctx.errors.Error | None], object] | None = None, "
              "*, threads: int = 0, device: Device | str | None = None, " FATCTX_LOAD_KEYWORDS ") -> LoadList"),
      "Starts to load files in the background, in list order, and returns.\n\n"
      "Args:\n"
      "    files: what load() takes, or a LoadItem with options of its own.\n"
      "    on_done: on_done(index, session, error), once for each item when it has finished; one of the two is None. "
      "On "
      "a\n"
      "        thread of the list, of all items of a list one at a time, in the order in which they finish: with one\n"
      "        thread, in list order. May call anything of the list but wait(). An exception of it stops nothing\n"
      "        and is raised by LoadList.wait().\n"
      "    threads: items that are loaded at a time; 0: as many as there are processors, at most 8.\n"
      "    device and others: of load(), for every file that is not a LoadItem. A signal serves one load at a "
      "time.\n\n"
      "Keep the result: when it goes, unfinished items are cancelled. Raises NoResource, Io, and what the "
      "arguments\n"
      "of load() raise.");
}

}  // namespace fatctx::python
