// A new file appears whole or not at all: temporary beside the target, sync, rename, sync the folder.
#pragma once

#include <memory>
#include <string>

#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::mapping {

enum class Readers { kAll, kOwner };  // kOwner: mode 0600, from the first byte on

enum class TargetLock {
  kTake,  // of the file that is replaced, so that nothing is lost that somebody appends to it meanwhile
  kHeld,  // the caller has it
};

// A file in the making. Destroying it without publishing removes it.
//
// Threads: one at a time.
class PendingFile {
 public:
  // Creates the temporary in the folder of `target`: unnamed where the filesystem can, else under an exclusive random
  // name, following no symbolic link. Errors: not_found (no such folder), exists (`target` is there and `overwrite`
  // is false), not_regular_file (`target` is a folder, device, ...), locked (somebody appends to the file that is to be
  // replaced), no_space, io.
  [[nodiscard]] static Result<std::unique_ptr<PendingFile>> create(const std::string& target, bool overwrite,
                                                                   Readers readers = Readers::kAll,
                                                                   TargetLock lock = TargetLock::kTake);
  virtual ~PendingFile() = default;

  [[nodiscard]] virtual OsFile& file() noexcept = 0;
  // Gives this file the access rights of the file at `path`. Errors: not_found, io. (On Windows the folder decides
  // them.)
  [[nodiscard]] virtual Status take_mode(const std::string& path) = 0;
  // Sets the mode (0644 or 0600 less the umask unless it was taken; nobody may write if it is to be read-only), syncs,
  // gives the file its name and syncs the folder. Errors: exists, locked, no_space, io: the target is as it was.
  // commit_unknown: it has its name, but the folder was not synced; after a power loss the old file may be back.
  [[nodiscard]] virtual Status publish(bool read_only) = 0;
  // Removes what publish() gave its name to: for files of which one is nothing without the other.
  // Requires: it was published, and not over another file.
  virtual void take_back() noexcept = 0;
};

}  // namespace fatctx::mapping
