// A folder of files that the processes of one user share. Each file appears complete under its name, is never changed
// again, and is removed by unlink, which existing maps survive.
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
  FileTime used;  // access time: mark_used() sets it; reads do not, if the system can omit that
};

// An open cache folder. Threads: const members from any number of threads.
class CacheFolder {
 public:
  // Opens the folder. Errors: not_found, operation_not_permitted (not a folder, of another user, or open to others: the
  // message names the remedy), io, no_resource.
  [[nodiscard]] static Result<CacheFolder> open(const std::string& path);
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::string path_of(const std::string& name) const { return path_ + "/" + name; }

  // Opens a file for reading; does not count as a use. Follows no link. Errors: not_found, not_regular_file, io.
  [[nodiscard]] Result<std::unique_ptr<OsFile>> open_file(const std::string& name) const;
  // Creates a file under a lock, which tells that its maker is alive. Errors: those of PendingFile::create.
  [[nodiscard]] Result<std::unique_ptr<PendingFile>> create_file(const std::string& name) const;
  // Records a use. Ignores failures: the file then looks older than it is.
  void mark_used(const OsFile& file) const noexcept;
  // Returns false if the file could not be removed and still exists.
  bool remove(const std::string& name) const noexcept;
  // Removes the file only if the name still belongs to a file with this identity.
  void remove_if_same(const std::string& name, const FileIdentity& identity) const noexcept;

  // Returns the regular files except hidden ones (names with a leading dot), in the order of their names.
  // Errors: io, no_resource.
  [[nodiscard]] Result<std::vector<CacheFolderFile>> list() const;
  // Removes abandoned temporaries: older than `least_age_seconds` and not locked by their maker. If files cannot be
  // locked, they must be older than a day. Returns how many. Errors: io, no_resource.
  [[nodiscard]] Result<std::size_t> sweep_temporaries(std::int64_t least_age_seconds) const;

 private:
  CacheFolder(std::string path, UniqueFd folder) noexcept : path_(std::move(path)), folder_(std::move(folder)) {}
  [[nodiscard]] Result<std::vector<std::string>> names() const;

  std::string path_;
  UniqueFd folder_;
};

}  // namespace fatctx::mapping
