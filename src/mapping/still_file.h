// Keeps a file from being cut for as long as its mapped bytes are looked at. For the files of this folder only.
//
// Touching a mapped byte that the file no longer has raises SIGBUS. A check of every byte must not end the process when
// somebody cuts the file, so it reads a copy, unless one of these makes the mapped bytes safe:
// - A read lease (fcntl F_SETLEASE): the system grants it only if nobody has the file open for writing. While it is
//   held, every open for writing and every truncation waits.
// - The guard of bus_guard.h, if the host installed it and nobody replaced its handler since.
// Bytes that are not in the page cache are never looked at in place: reading them may fail, which is a signal as well.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "mapping/os_file.h"

namespace fatctx::mapping {

// Says if a lease may be taken on a descriptor. A lease belongs to the open file description, and so does the signal
// that reports a waiting writer. So the library takes no lease on a description that others use as well.
enum class Lease : std::uint8_t { kNever, kAllowed };

// The state of one open file. Threads: any number.
class StillFile {
 public:
  explicit StillFile(Lease lease) noexcept : lease_(lease) {}

  // As OsFile::show. `file` is the one whose descriptor this object was made for.
  [[nodiscard]] Result<bool> show(const OsFile& file, ByteRange range, const MappedPlace& mapped, const Look& look);

 private:
  class Held;
  [[nodiscard]] bool take(int descriptor) noexcept;
  void give_back(int descriptor) noexcept;
  [[nodiscard]] bool is_local(int descriptor) noexcept;

  const Lease lease_;
  std::mutex mutex_;
  unsigned holders_ = 0;                   // threads that share the lease
  std::atomic<bool> refused_{false};       // the system has refused a lease for good: another owner, no leases here
  std::atomic<std::int64_t> process_{-1};  // the first to ask: a child shares the description and must leave it alone
  std::atomic<std::uint8_t> local_{0};     // 0: not asked yet; 1: no; 2: yes
};

}  // namespace fatctx::mapping
