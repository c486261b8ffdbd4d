#include "memory.h"

#include <fmt/format.h>
#include <nanobind/stl/string.h>

#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

#include "errors.h"
#include "fatctx/extract.h"
#include "fatctx/mapping_guard.h"
#include "progress.h"
#include "records.h"

namespace fatctx::python {
namespace {

PrefetchOptions budget_from(nb::handle max_bytes) {
  PrefetchOptions options;
  if (!max_bytes.is_none() && !nb::try_cast(max_bytes, options.max_bytes)) {
    throw nb::type_error("max_bytes: expected an int that is not negative, or None for no limit");
  }
  return options;
}

// Calls `work` with the options. An exception that `progress` raises ends the work.
template <typename Work>
PrefetchReport prefetched(nb::handle max_bytes, nb::object progress, const Work& work) {
  PrefetchOptions options = budget_from(max_bytes);
  ProgressCall call(std::move(progress));
  options.progress = call.callback();
  return call.run([&] { return work(options); });
}

void bind_prefetch(nb::module_& module) {
  nb::class_<PrefetchReport>(module, "PrefetchReport", "Result of a prefetch. Immutable; usable from any thread.")
      .def_ro("asked_bytes", &PrefetchReport::asked_bytes, "Size of the records.")
      .def_ro("done_bytes", &PrefetchReport::done_bytes,
              "Bytes brought in; less than asked: the budget was used up, or it was cancelled.")
      .def_prop_ro(
          "method", [](const PrefetchReport& self) { return to_str(prefetch_method_name(self.method)); },
          "\"populate\": the first touch costs nothing; \"read_ahead\": a small fault a page; \"none\": nothing to do.")
      .def_ro("cancelled", &PrefetchReport::cancelled)
      .def("__repr__", [](const PrefetchReport& self) {
        return fmt::format("<fatctx.PrefetchReport {} of {} bytes, {}{}>", self.done_bytes, self.asked_bytes,
                           prefetch_method_name(self.method), self.cancelled ? ", cancelled" : "");
      });
  nb::class_<BoundPrefetch>(
      module, "Prefetch",
      "A prefetch on a thread of its own.\n\n"
      "Ownership: keeps the mapping alive. When the object goes, the prefetch is cancelled and the step that is going\n"
      "on (at most 4 MiB) is waited for. Threads: every method from any number of threads. A child of a fork has no\n"
      "such thread.")
      .def(
          "cancel", [](BoundPrefetch& self) { self.cancel(); }, "Asks it to stop after the present step. Never waits.")
      .def_prop_ro(
          "done", [](const BoundPrefetch& self) { return self.done(); }, "True if it has ended, well or not.")
      .def_prop_ro(
          "done_bytes", [](const BoundPrefetch& self) { return self.done_bytes(); }, "Bytes brought in so far.")
      .def(
          "wait", [](BoundPrefetch& self) { return take(without_gil([&] { return self.wait(); })); },
          "Waits for the end, without the GIL, and may be called again. A cancelled prefetch is not an error: see the\n"
          "report. Raises Changed, Io (naming the first bad byte), NoResource; Cancelled in a forked child.")
      .def("__repr__", [](const BoundPrefetch& self) {
        return fmt::format("<fatctx.Prefetch {}, {} bytes>", self.done() ? "ended" : "going on", self.done_bytes());
      });
}

void bind_release_and_lock(nb::module_& module) {
  nb::class_<ReleaseReport>(module, "ReleaseReport", "Result of a release. Immutable; usable from any thread.")
      .def_ro("asked_bytes", &ReleaseReport::asked_bytes, "Size of the records.")
      .def_ro("released_bytes", &ReleaseReport::released_bytes,
              "Whole pages that hold nothing else; 0 if the bytes are not pages of a file.")
      .def("__repr__", [](const ReleaseReport& self) {
        return fmt::format("<fatctx.ReleaseReport {} of {} bytes>", self.released_bytes, self.asked_bytes);
      });
  nb::class_<BoundLock>(
      module, "RecordLock", nb::is_weak_referenceable(),
      "Keeps a record in memory: never paged out until unlock(), the end of a `with` block, or the end of the "
      "object.\n\n"
      "    with container.lock(\"net.weights\"):\n"
      "        ...\n\n"
      "Locks of one record, or of records that share a page, count. Ownership: keeps the mapping alive while held.\n"
      "Threads: one at a time. A child of a fork has no locks, as the system has it.")
      .def_ro("record_id", &BoundLock::record_id)
      .def_ro("size_bytes", &BoundLock::size_bytes)
      .def_prop_ro("held", [](const BoundLock& self) { return self.held != nullptr; })
      .def(
          "unlock", [](BoundLock& self) { self.held = nullptr; }, "Gives the lock up; a second time does nothing.")
      .def(
          "__enter__", [](nb::handle self) { return nb::borrow(self); }, nb::sig("def __enter__(self) -> RecordLock"))
      .def(
          "__exit__", [](BoundLock& self, nb::handle, nb::handle, nb::handle) { self.held = nullptr; },
          nb::arg("kind").none(), nb::arg("error").none(), nb::arg("traceback").none(),
          nb::sig("def __exit__(self, kind: object, error: object, traceback: object) -> None"))
      .def("__repr__", [](const BoundLock& self) {
        return fmt::format("<fatctx.RecordLock of record {}, {} bytes, {}>", self.record_id, self.size_bytes,
                           self.held ? "held" : "given up");
      });
}

void bind_read_report(nb::module_& module) {
  nb::class_<ReadReport>(module, "ReadReport", "Result of Container.read_into(). Immutable; usable from any thread.")
      .def_prop_ro(
          "method", [](const ReadReport& self) { return to_str(read_method_name(self.method)); },
          "\"direct\" or \"cached\": of most bytes; \"streamed\": piece after piece on the calling thread.")
      .def_ro("reason", &ReadReport::reason, "Why this method, with the measured facts.")
      .def_ro("size_bytes", &ReadReport::size_bytes)
      .def_ro("direct_bytes", &ReadReport::direct_bytes, "Read past the page cache.")
      .def_ro("cached_bytes", &ReadReport::cached_bytes,
              "Read from pages that were in the page cache before; 0 if the system does not report it.")
      .def_ro("threads", &ReadReport::threads, "That read; 0: the calling thread alone.")
      .def("__repr__", [](const ReadReport& self) {
        return fmt::format("<fatctx.ReadReport {} bytes, {}: {}>", self.size_bytes, read_method_name(self.method),
                           self.reason);
      });
}

void bind_mapping_guard(nb::module_& module) {
  module.def(
      "install_mapping_guard", [] { take_status(install_mapping_guard()); },
      nb::sig("def install_mapping_guard() -> None"),
      "Installs a handler of SIGBUS for the whole process, for good: bytes of a file that was cut while it was mapped\n"
      "read as zeros, and Container.check(), Session.end() and whatever else is asked of that container raise\n"
      "MappingLost. Faults at other addresses go to the handler that was there before, such as faulthandler's.\n"
      "Off unless called. Raises Unsupported where there is no such thing.");
  module.def(
      "mapping_guard_installed", [] { return mapping_guard_installed(); },
      nb::sig("def mapping_guard_installed() -> bool"));
  module.def(
      "lost_mappings", [] { return lost_mappings(); }, nb::sig("def lost_mappings() -> int"),
      "How many mappings of this process have lost bytes so far.");
}

}  // namespace

BoundPrefetch::BoundPrefetch(PrefetchHandle handle)
    : waiting_(std::make_unique<std::mutex>()), handle_(std::make_unique<PrefetchHandle>(std::move(handle))) {}

BoundPrefetch::~BoundPrefetch() {
  if (!handle_) return;  // moved from
  without_gil([&] { handle_.reset(); });
}

Result<PrefetchReport> BoundPrefetch::wait() {
  const std::lock_guard lock(*waiting_);
  return handle_->wait();
}

PrefetchReport prefetch_record(const Container& container, std::uint32_t record_id, nb::object max_bytes,
                               nb::object progress) {
  return prefetched(max_bytes, std::move(progress),
                    [&](const PrefetchOptions& options) { return container.prefetch(record_id, options); });
}

PrefetchReport prefetch_thin_dlc(const ThinDlcView& view, nb::object max_bytes, nb::object progress) {
  return prefetched(max_bytes, std::move(progress),
                    [&](const PrefetchOptions& options) { return view.prefetch(options); });
}

PrefetchReport prefetch_session(const Session& session, nb::object max_bytes, nb::object progress) {
  return prefetched(max_bytes, std::move(progress),
                    [&](const PrefetchOptions& options) { return session.prefetch(options); });
}

BoundPrefetch prefetch_in_background(const Container& container, std::uint32_t record_id, nb::object max_bytes) {
  const PrefetchOptions options = budget_from(max_bytes);
  return BoundPrefetch(take(without_gil([&] { return container.prefetch_in_background(record_id, options); })));
}

BoundPrefetch prefetch_in_background(const Session& session, nb::object max_bytes) {
  const PrefetchOptions options = budget_from(max_bytes);
  return BoundPrefetch(take(without_gil([&] { return session.prefetch_in_background(options); })));
}

BoundLock lock_record(const Container& container, std::uint32_t record_id) {
  RecordLock lock = take(without_gil([&] { return container.lock(record_id); }));
  const std::uint64_t size = lock.size_bytes();
  return {std::make_shared<const RecordLock>(std::move(lock)), record_id, size};
}

nb::bytes read_record(const Container& container, const RecordInfo& info) {
  // Fills the object's own memory without the GIL, because no other code knows the object yet. Allocates it
  // only when the first bytes are ready: until then a recipe may claim any size.
  nb::bytes bytes = nb::steal<nb::bytes>(nb::handle());
  const auto take_memory = [&] {
    if (info.size_bytes > static_cast<std::uint64_t>(PY_SSIZE_T_MAX)) throw std::bad_alloc();
    bytes = nb::steal<nb::bytes>(PyBytes_FromStringAndSize(nullptr, static_cast<Py_ssize_t>(info.size_bytes)));
    if (!bytes.is_valid()) {
      PyErr_Clear();
      throw std::bad_alloc();
    }
  };
  std::size_t filled = 0;
  const ByteSink sink = [&](ByteView piece) -> Status {
    if (!bytes.is_valid()) {
      const nb::gil_scoped_acquire gil;
      take_memory();
    }
    std::memcpy(PyBytes_AsString(bytes.ptr()) + filled, piece.data(), piece.size());
    filled += piece.size();
    return Done{};
  };
  auto status = without_gil([&] { return stream_record(container, info.id, sink); });
  if (status.ok() && !bytes.is_valid()) take_memory();  // an empty record
  take_status(std::move(status));
  return bytes;
}

void stream_to(const Container& container, std::uint32_t record_id, const nb::object& sink, nb::object progress) {
  ProgressCall call(std::move(progress));
  const ByteSink pass_on = [&](ByteView bytes) -> Status {
    call.call_python([&] { sink(nb::bytes(bytes.data(), bytes.size())); });
    return Done{};
  };
  const Progress callback = call.callback();
  call.run([&] { return stream_record(container, record_id, pass_on, callback); });
}

ReadReport read_into(const Container& container, std::uint32_t record_id, const nb::object& memory, ReadOptions options,
                     nb::object progress) {
  // nanobind has no writable buffers of any element type.
  Py_buffer buffer{};
  if (PyObject_GetBuffer(memory.ptr(), &buffer, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) != 0) throw nb::python_error();
  const std::unique_ptr<Py_buffer, decltype(&PyBuffer_Release)> held(&buffer, &PyBuffer_Release);
  const std::span<std::byte> out(static_cast<std::byte*>(buffer.buf), static_cast<std::size_t>(buffer.len));
  ProgressCall call(std::move(progress));
  options.progress = call.callback();
  return call.run([&] { return read_record(container, record_id, out, options); });
}

void extract_to(const Container& container, std::uint32_t record_id, nb::handle path, bool overwrite,
                nb::object progress) {
  const std::string target = path_from(path);
  ProgressCall call(std::move(progress));
  const Progress callback = call.callback();
  call.run([&] { return extract_record(container, record_id, target, overwrite, callback); });
}

void bind_memory(nb::module_& module) {
  bind_mapping_guard(module);
  bind_prefetch(module);
  bind_release_and_lock(module);
  bind_read_report(module);
}

}  // namespace fatctx::python
