// A folder of files that the processes of one user share: each appears whole under its name, is never written to again,
// and goes by unlink, which maps of it survive.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "mapping/file_identity.h"
#include "mapping/os_file.h"
#include "mapping/publish.h"
#include "mapping/unique_fd.h"

namespace fatctx::mapping {

struct CacheFolderFile {
  std::string name;
  std::uint64_t size = 0;
  FileTime made;  // modification time
  FileTime used;  // access time, which mark_used() sets; reading does not, where the system can be asked for that
};

// Threads: const members from any number of threads.
class CacheFolder {
 public:
  // Errors: not_found, operation_not_permitted (not a folder, of another user, or open to others: the message names the
  // remedy), io, no_resource.
  [[nodiscard]] static Result<CacheFolder> open(const std::string& path);
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string path_of(const std::string& name) const { return path_ + "/" + name; }

  // For reading, which is not noted as a use; no links. Errors: not_found, not_regular_file, io.
  [[nodiscard]] Result<std::unique_ptr<OsFile>> open_file(const std::string& name) const;
  // Under a lock that says that its maker lives. Errors: those of PendingFile::create.
  [[nodiscard]] Result<std::unique_ptr<PendingFile>> create_file(const std::string& name) const;
  // Not at the caller's cost: where it cannot be noted, the file looks older than it is.
  void mark_used(const OsFile& file) const noexcept;
  // False if it could not be removed and is still there.
  bool remove(const std::string& name) const noexcept;
  // The same, unless another file has taken its name.
  void remove_if_same(const std::string& name, const FileIdentity& identity) const noexcept;

  // Regular files without those whose names begin with a dot, in the order of their names. Errors: io, no_resource.
  [[nodiscard]] Result<std::vector<CacheFolderFile>> list() const;
  // Removes temporaries that nobody works on any more: older than `least_age_seconds`, and not locked by their maker
  // (or, where files cannot be locked, older than a day). Returns how many. Errors: io, no_resource.
  [[nodiscard]] Result<std::size_t> sweep_temporaries(std::int64_t least_age_seconds) const;

 private:
  CacheFolder(std::string path, UniqueFd folder) noexcept : path_(std::move(path)), folder_(std::move(folder)) {}
  [[nodiscard]] Result<std::vector<std::string>> names() const;

  std::string path_;
  UniqueFd folder_;
};

}  // namespace fatctx::mapping
