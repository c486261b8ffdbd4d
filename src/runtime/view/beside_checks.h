// Checks of records that run beside the load, on a thread of the library (VerifyPolicy::kBesideLoad).
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "fatctx/base/result.h"
#include "fatctx/record.h"
#include "mapping/background_thread.h"
#include "runtime/open/mapped_container.h"

namespace fatctx {

// The checks that the copies of one handle have begun. One thread takes them in order and ends when none is left.
//
// Ownership: borrows the container, which outlives it. The destructor stops a running check and waits for the thread.
// Threads: every member from any number of threads. A forked child has no such thread: it checks on its own.
class BesideChecks {
 public:
  BesideChecks(const MappedContainer& mapped, std::uint64_t max_made_bytes) noexcept;
  ~BesideChecks();
  BesideChecks(const BesideChecks&) = delete;
  BesideChecks& operator=(const BesideChecks&) = delete;

  // Begins a check of the record, unless it was checked in this look of the file or a check of it is under way. A
  // record that is known to be damaged is checked at once, and so is every record if the system starts no thread.
  // Errors: of a check at once those of MappedContainer::verify_record.
  [[nodiscard]] Status begin(const RecordInfo& record);
  // Waits for the checks of these records; no ids: of all that were begun. Returns the error of the first of them, by
  // id. Errors: those of MappedContainer::verify_record, naming the record; cancelled.
  [[nodiscard]] Status await(std::span<const std::uint32_t> record_ids);

 private:
  struct Check {
    std::uint64_t look = 0;            // of the file, when the check was asked for
    std::optional<Status> ended = {};  // nothing: not yet
  };

  void work() noexcept;
  [[nodiscard]] Status check(std::uint32_t record_id) const;
  [[nodiscard]] bool in_own_process() const noexcept;

  const MappedContainer& mapped_;
  const std::uint64_t max_made_bytes_;
  const std::int64_t process_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> done_bytes_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::uint32_t> waiting_;                  // guarded by the lock, like all members below
  std::map<std::uint32_t, Check> checks_;              // by record
  bool running_ = false;                               // the thread takes another record if there is one
  std::unique_ptr<mapping::BackgroundThread> thread_;  // the last member, so joined before the others go
};

}  // namespace fatctx
