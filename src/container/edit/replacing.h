// Replaces a container by one that is written anew.
#pragma once

#include <memory>
#include <string>

#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Returns whether `target` is the file that `source` names. Errors: not_found, io (of `source`).
[[nodiscard]] Result<bool> is_in_place(const std::string& source, const std::string& target);

// A lock that lets the caller replace a container: no append can start while it exists.
class Replacing {
 public:
  // Errors: not_regular_file (also a link), locked (another process is appending), not_found, io.
  [[nodiscard]] static Result<Replacing> begin(const std::string& path);

  // Checks that the file at `path` is still the one that was opened by its name after begin() and had the identity
  // `source` then.
  // Errors: changed, not_found, io.
  [[nodiscard]] Status check(const std::string& path, const mapping::FileIdentity& source) const;

 private:
  std::unique_ptr<mapping::OsFile> locked_;  // null: nothing to lock
};

}  // namespace fatctx::container
