// Where a load reads from, held by the load itself, so that it can go on when its caller has left.
#pragma once

#include <memory>
#include <string>

#include "fatctx/load.h"
#include "mapping/file_identity.h"
#include "mapping/os_file.h"

namespace fatctx {

// A file that is no container.
struct PlainFile {
  std::string name;  // as given
  std::shared_ptr<mapping::OsFile> file;
  mapping::FileIdentity identity;

  // Errors: changed.
  [[nodiscard]] Status check_still() const;
};

// Ownership: copyable; shares in a copy of the descriptor and in the owner of the bytes.
// Threads:   const members from any number of threads.
class LoadInput {
 public:
  // Errors: those of duplicate_for_reading.
  [[nodiscard]] static Result<LoadInput> hold(LoadSource source);

  [[nodiscard]] Result<Container> open_container(const OpenOptions& options) const;
  // Errors: not_found, not_regular_file, truncated (a part of a file that is not there), remote_filesystem (only with
  // require_local), io.
  [[nodiscard]] Result<PlainFile> open_plain(const OpenOptions& options) const;
  // False if the bytes are the caller's for as long as the call only.
  [[nodiscard]] bool may_outlive_the_call() const noexcept;
  [[nodiscard]] std::string name() const;

 private:
  explicit LoadInput(LoadSource source) noexcept : source_(std::move(source)) {}
  [[nodiscard]] Result<Container> open_held(const OpenOptions& options) const;

  LoadSource source_;
  std::shared_ptr<const mapping::OsFile> held_;  // of a descriptor; null else
};

}  // namespace fatctx
