// Adds records to a container in place: context binaries for more SoCs or of a newer SDK, without rewriting the rest.
//
// An append leaves either the old generation or the new one, even after a crash, a power loss or a full disk. Readers
// keep the old generation until they call Container::reopen().
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "fatctx/packer.h"

namespace fatctx {

struct AppendOptions {
  // Lets a record supersede a stored one that has the same full key; otherwise `exists`. The old record stays readable
  // in its own generation until the file is rewritten.
  bool replace = false;
  Progress progress = {};
  std::uint32_t threads = 0;                  // as PackOptions::threads
  const std::atomic<bool>* cancel = nullptr;  // as PackOptions::cancel; bytes behind the end of the file may be dead
  bool one_per_soc = false;                   // as PackOptions::one_per_soc; looks at the records of the file, too
  bool strict_sharing = false;                // as PackOptions::strict_sharing
  // How the new records share bytes: kPages or kBytes. Nothing: as the file does, which is kBytes if one of its records
  // is a recipe and no weight blob with a table of tensors, else kPages.
  std::optional<Sharing> sharing = {};
};

struct AppendReport {
  std::string path;
  std::string uuid;              // that of the container, as before
  std::uint64_t generation = 0;  // the new one
  std::uint64_t file_size_before = 0;
  std::uint64_t file_size = 0;
  std::uint64_t input_bytes = 0;            // sum of the logical sizes of the added records
  std::uint64_t stored_bytes = 0;           // payload bytes that were written
  std::uint64_t shared_bytes = 0;           // found in the file, or in another added record
  std::uint64_t dead_bytes = 0;             // bytes of the file that no record uses; compacting removes them
  std::vector<PackedRecordReport> records;  // the added ones, by id
  std::vector<std::string> superseded;      // names
  std::vector<std::string> restored;        // damaged copies of metadata that are whole again
  std::vector<std::string> warnings;
};

// A writer that appends to one file. Not thread-safe; use one per file. Not usable in a child that was forked from the
// process that opened it.
class Appender {
 public:
  // Takes the file's write lock, which the Appender holds until it is destroyed. `path` must not be a link.
  // Errors: not_found, locked (another process is appending), operation_not_permitted (the container is sealed, or the
  //         file may not be written; the message says how to get a writable copy), remote_filesystem, unsupported (no
  //         locks here, or made by a newer version in a way that only it can add to), changed (another file replaced it
  //         just now), invalid_argument (sharing is kOff), those of Container::open.
  [[nodiscard]] static Result<Appender> open(const std::string& path, const AppendOptions& options = {});
  ~Appender();
  Appender(Appender&&) noexcept;
  Appender& operator=(Appender&&) noexcept;

  // Adds a record as Packer::add does. `weights` may also name weight blobs of the file. Reads and writes nothing.
  // Errors: those of Packer::add; exists also if the file has a record of this name or key; operation_not_permitted
  //         also if the Appender is spent, or was opened by another process.
  [[nodiscard]] Status add(PackRecord record);

  // Adds a note to the evidence of a record of the file; nothing else of the record changes. Date, device, metric and
  // value are required.
  // Errors: not_found (no such record), invalid_argument (a text is missing, has control characters or more than 255
  //         bytes; the date is invalid), operation_not_permitted as add(); commit() says `exists` if the same note
  //         exists.
  [[nodiscard]] Status note(const std::string& record_name, EvidenceNote note);

  // Writes the added records behind the end of the file, syncs it, then names them in the header and syncs again. Does
  // not store bytes again that the file already has, as far as its hashes tell: whole records, and runs on multiples of
  // 64 KiB. With Sharing::kBytes it reads all of the file and finds runs at any offset, where these save at least a
  // 64th: 0.4 bytes of memory for each byte of the file. After the call the Appender is spent.
  // Errors: bad_reference, unsupported (as Packer::publish): nothing was written.
  // changed (an input), serialise_failed, no_space, io, limit_exceeded, cancelled: the file opens as before, and bytes
  // behind its end are dead.
  // commit_unknown: the last sync failed. The disk has the new generation or the old one, and reads may show the new
  // one before the disk has it. The next append or repair() relies on neither.
  // changed also if another file replaced it meanwhile: the new file lacks the added records.
  [[nodiscard]] Result<AppendReport> commit();

  // The state behind the handle. Only the library's own files complete this type.
  struct Impl;
  explicit Appender(std::unique_ptr<Impl> impl) noexcept;
  [[nodiscard]] Impl& impl() noexcept { return *impl_; }

 private:
  std::unique_ptr<Impl> impl_;
};

}  // namespace fatctx
