// Adding records to a container in place: context binaries for more SoCs or of a newer SDK, without writing the rest
// again.
//
// What an append leaves behind is the old generation or the new one, whatever happens in between: a crash, a power
// loss, a full disk. Readers of the old generation go on; Container::reopen() gives them the new one.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "fatctx/packer.h"

namespace fatctx {

struct AppendOptions {
  // A record with the full key of one that is there supersedes it; otherwise `exists`. The old record stays readable in
  // its own generation until the file is written anew.
  bool replace = false;
  Progress progress = {};
  std::uint32_t threads = 0;                  // as PackOptions::threads
  const std::atomic<bool>* cancel = nullptr;  // as PackOptions::cancel; bytes behind the end of the file may be dead
  bool one_per_soc = false;                   // as PackOptions::one_per_soc; looks at the records of the file, too
  bool strict_sharing = false;                // as PackOptions::strict_sharing
};

struct AppendReport {
  std::string path;
  std::string uuid;              // that of the container, as before
  std::uint64_t generation = 0;  // that was made
  std::uint64_t file_size_before = 0;
  std::uint64_t file_size = 0;
  std::uint64_t input_bytes = 0;   // sum of the logical sizes of what was added
  std::uint64_t stored_bytes = 0;  // payload bytes that were written
  std::uint64_t shared_bytes = 0;  // found in the file, or in another added record
  std::uint64_t dead_bytes = 0;    // of the whole file: that no record uses any more; compacting gives them back
  std::vector<PackedRecordReport> records;  // that were added, by id
  std::vector<std::string> superseded;      // names
  std::vector<std::string> restored;        // copies of metadata that were damaged and are whole again
  std::vector<std::string> warnings;
};

// Not thread-safe; use one per file. Not usable in a child that was forked from the process that opened it.
class Appender {
 public:
  // Takes the file's write lock, which goes with the Appender. `path` must not be a link.
  // Errors: not_found, locked (somebody else is appending), operation_not_permitted (the container is sealed, or the
  // file
  //         may not be written; the message says how to get a copy that may), remote_filesystem, unsupported (no locks
  //         here, or made by a newer version in a way that only it can add to), changed (another file took its place
  //         just now), those of Container::open.
  [[nodiscard]] static Result<Appender> open(const std::string& path, const AppendOptions& options = {});
  ~Appender();
  Appender(Appender&&) noexcept;
  Appender& operator=(Appender&&) noexcept;

  // As Packer::add. `weights` may also name weight blobs that the file has. Reads and writes nothing.
  // Errors: those of Packer::add; exists also if the file has a record of this name or key; operation_not_permitted
  // also
  //         if it is spent, or opened by another process.
  [[nodiscard]] Status add(PackRecord record);

  // Adds a note to what is said of a record that the file has; nothing else of the record changes. Date, device, metric
  // and value are needed.
  // Errors: not_found (no such record), invalid_argument (a text is missing, has control characters or more than 255
  //         bytes; the date is none), operation_not_permitted as add(); commit() says `exists` if the same note is
  //         there.
  [[nodiscard]] Status note(const std::string& record_name, EvidenceNote note);

  // Writes what was added behind the end of the file, syncs it, then names it in the header and syncs again. Bytes that
  // the file has already are not stored again where its hashes tell: whole records, and runs on multiples of 64 KiB.
  // Once it was called, the Appender is spent.
  // Errors: bad_reference, unsupported (as Packer::publish): nothing was written. changed (an input), serialise_failed,
  // no_space, io, limit_exceeded, cancelled: the file opens as before, and bytes behind its end are dead.
  // commit_unknown: the last sync failed. The disk has the new generation or the old one, and reads may show the new
  // one before the disk has it. The next append or repair() relies on neither.
  // changed also if another file took its place meanwhile: the new one does not have what was added.
  [[nodiscard]] Result<AppendReport> commit();

 private:
  friend struct AppenderAccess;
  struct Impl;
  explicit Appender(std::unique_ptr<Impl> impl) noexcept;
  std::unique_ptr<Impl> impl_;
};

}  // namespace fatctx
