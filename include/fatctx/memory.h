// Controls which pages of a record are in memory: brings them in early, gives them back, or keeps them.
//
// The member functions are those of Container and Session. docs/loading.md says when each of them is worth its cost.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string_view>

#include "fatctx/base/result.h"

namespace fatctx {

struct PrefetchOptions {
  std::uint64_t max_bytes = std::numeric_limits<std::uint64_t>::max();  // budget; bytes beyond it stay on the disk
  // Called after each step of at most 4 MiB, on the thread that does the work. Must not throw.
  std::function<void(std::uint64_t done_bytes, std::uint64_t asked_bytes)> progress = {};
  // Read before each step; set it from any thread. Lifetime: borrowed until the prefetch has ended.
  const std::atomic<bool>* cancel = nullptr;
};

enum class PrefetchMethod : std::uint8_t {
  kNone,       // there was nothing to do: no bytes, no budget, or the views are copies and in memory already
  kPopulate,   // the system put the pages into the page table: the first touch costs nothing
  kReadAhead,  // an older kernel: the bytes are in the page cache, the first touch of a page costs a small fault
};
[[nodiscard]] std::string_view prefetch_method_name(PrefetchMethod method) noexcept;  // "none", "populate", ...

struct PrefetchReport {
  // Size of the records; for a recipe without a view, the size of its source bytes.
  std::uint64_t asked_bytes = 0;
  std::uint64_t done_bytes = 0;  // less than asked: the budget was used up, or it was cancelled
  PrefetchMethod method = PrefetchMethod::kNone;
  bool cancelled = false;
};

// A prefetch on a thread of its own.
//
// Ownership: move-only; keeps the mapping alive. The destructor cancels and waits for the step that is going on.
// Threads:   one at a time, but cancel(), done() and done_bytes() from any.
// fork:      a child has no such thread; there, wait() answers cancelled and the destructor does not wait.
class PrefetchHandle {
 public:
  struct Impl;
  explicit PrefetchHandle(std::unique_ptr<Impl> impl) noexcept;
  PrefetchHandle(PrefetchHandle&&) noexcept;
  PrefetchHandle& operator=(PrefetchHandle&&) noexcept;
  ~PrefetchHandle();

  void cancel() noexcept;
  [[nodiscard]] bool done() const noexcept;
  [[nodiscard]] std::uint64_t done_bytes() const noexcept;
  // Waits for the end. May be called again. Errors: those of Container::prefetch; cancelled in a forked child.
  [[nodiscard]] Result<PrefetchReport> wait();

 private:
  std::unique_ptr<Impl> impl_;
};

struct ReleaseOptions {
  bool keep_cached = false;  // true: only this process gives the pages back, the system's page cache may keep them
};

struct ReleaseReport {
  std::uint64_t asked_bytes = 0;     // size of the records
  std::uint64_t released_bytes = 0;  // whole pages that hold nothing else; 0 if the bytes are not pages of a file
};

// A lock that keeps a record in memory: never paged out while this or a copy of it exists.
//
// Ownership: copyable; keeps the view and so the mapping. Locks of one record, or of records that share a page, count.
// Threads:   any. fork: a child has no locks, as the system has it.
class RecordLock {
 public:
  RecordLock(std::shared_ptr<const void> held, std::uint32_t record_id, std::uint64_t size_bytes) noexcept
      : held_(std::move(held)), record_id_(record_id), size_bytes_(size_bytes) {}
  [[nodiscard]] std::uint32_t record_id() const noexcept { return record_id_; }
  [[nodiscard]] std::uint64_t size_bytes() const noexcept { return size_bytes_; }

 private:
  std::shared_ptr<const void> held_;
  std::uint32_t record_id_;
  std::uint64_t size_bytes_;
};

}  // namespace fatctx
