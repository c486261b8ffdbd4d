// Publishes a new file completely or not at all: writes a temporary beside the target, syncs it, renames it, and syncs
// the folder.
#pragma once

#include <memory>
#include <string>

#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::mapping {

enum class Readers { kAll, kOwner };  // kOwner: mode 0600 from the start

enum class TargetLock {
  kTake,  // locks the file that is replaced, so that no append to it gets lost meanwhile
  kHeld,  // the caller holds that lock
};

// A file that has no name yet. Destroying it without publishing removes it.
//
// Threads: one at a time.
class PendingFile {
 public:
  // Creates the temporary in the folder of `target`: unnamed if the filesystem can, else under an exclusive random
  // name, following no symbolic link. Errors: not_found (no such folder), exists (`target` exists and `overwrite` is
  // false), not_regular_file (`target` is a folder, device, ...), locked (another process is appending to the file that
  // is to be replaced), no_space, io.
  [[nodiscard]] static Result<std::unique_ptr<PendingFile>> create(const std::string& target, bool overwrite,
                                                                   Readers readers = Readers::kAll,
                                                                   TargetLock lock = TargetLock::kTake);
  // Opens `<target>.fetching`, or creates it, for work that a later process may take up again: destroying the object
  // keeps the file. Holds its write lock. The file must be the caller's own, and have no other name. Errors: as
  // create(); also locked (another process works on it), operation_not_permitted (somebody else's file).
  [[nodiscard]] static Result<std::unique_ptr<PendingFile>> resume(const std::string& target, bool overwrite);
  virtual ~PendingFile() = default;

  [[nodiscard]] virtual OsFile& file() noexcept = 0;
  // Removes the file that resume() opened.
  virtual void discard() noexcept = 0;
  // Gives this file the access rights of the file at `path`. Errors: not_found, io. On Windows the folder determines
  // the rights.
  [[nodiscard]] virtual Status take_mode(const std::string& path) = 0;
  // Sets the mode, syncs, gives the file its name and syncs the folder. The mode is 0644 or 0600 less the umask, unless
  // take_mode() was called; with `read_only` nobody may write.
  // Errors: exists, locked, no_space, io: the target is unchanged. commit_unknown: the file has its name, but the
  // folder was not synced; after a power loss the old file may be back.
  [[nodiscard]] virtual Status publish(bool read_only) = 0;
  // Removes the published file, for files that are useless without each other.
  // Requires: it was published, and not over another file.
  virtual void take_back() noexcept = 0;
};

}  // namespace fatctx::mapping
