// Binds control over the pages of a record: prefetch, release, lock; and reading records that have no view.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <mutex>

#include "fatctx/container.h"
#include "fatctx/extract.h"
#include "fatctx/model.h"
#include "fatctx/stored_dlc.h"

namespace fatctx::python {

namespace nb = nanobind;

// Shared by the methods of Container and Session. They raise the library's errors, and any exception of
// `progress`, which ends the work.
[[nodiscard]] PrefetchReport prefetch_record(const Container& container, std::uint32_t record_id, nb::object max_bytes,
                                             nb::object progress);
[[nodiscard]] PrefetchReport prefetch_session(const Session& session, nb::object max_bytes, nb::object progress);
[[nodiscard]] PrefetchReport prefetch_thin_dlc(const ThinDlcView& view, nb::object max_bytes, nb::object progress);

// A prefetch on its own thread. Only one wait() may run at a time. The destructor cancels and waits, without
// the GIL: when the thread ends, it may call a Python profile hook.
class BoundPrefetch {
 public:
  explicit BoundPrefetch(PrefetchHandle handle);
  BoundPrefetch(BoundPrefetch&&) noexcept = default;
  BoundPrefetch& operator=(BoundPrefetch&&) = delete;
  ~BoundPrefetch();
  void cancel() noexcept { handle_->cancel(); }
  [[nodiscard]] bool done() const noexcept { return handle_->done(); }
  [[nodiscard]] std::uint64_t done_bytes() const noexcept { return handle_->done_bytes(); }
  // Waits for the end. Requires: the GIL is released.
  [[nodiscard]] Result<PrefetchReport> wait();

 private:
  std::unique_ptr<std::mutex> waiting_;
  std::unique_ptr<PrefetchHandle> handle_;
};

[[nodiscard]] BoundPrefetch prefetch_in_background(const Container& container, std::uint32_t record_id,
                                                   nb::object max_bytes);
[[nodiscard]] BoundPrefetch prefetch_in_background(const Session& session, nb::object max_bytes);

// A lock that a `with` statement or unlock() may release before the object is destroyed.
struct BoundLock {
  std::shared_ptr<const RecordLock> held;  // null: released
  std::uint32_t record_id = 0;
  std::uint64_t size_bytes = 0;
};
[[nodiscard]] BoundLock lock_record(const Container& container, std::uint32_t record_id);

// Return or stream the bytes of a record, even of one that is stored as a frame.
[[nodiscard]] nb::bytes read_record(const Container& container, const RecordInfo& info);
void stream_to(const Container& container, std::uint32_t record_id, const nb::object& sink, nb::object progress);
// Reads a record into a writable buffer. Raises TypeError for anything else.
[[nodiscard]] ReadReport read_into(const Container& container, std::uint32_t record_id, const nb::object& memory,
                                   ReadOptions options, nb::object progress);
void extract_to(const Container& container, std::uint32_t record_id, nb::handle path, bool overwrite,
                nb::object progress);

void bind_memory(nb::module_& module);

}  // namespace fatctx::python
