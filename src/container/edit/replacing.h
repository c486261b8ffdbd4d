// A container that is written anew and takes the place of the old one.
#pragma once

#include <memory>
#include <string>

#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::container {

// Whether `target` is the file that `source` names. Errors: not_found, io (of `source`).
[[nodiscard]] Result<bool> is_in_place(const std::string& source, const std::string& target);

// The right to replace a container: no append goes on while this is there.
class Replacing {
 public:
  // Errors: not_regular_file (also a link), locked (somebody is appending), not_found, io.
  [[nodiscard]] static Result<Replacing> begin(const std::string& path);

  // Whether the file at `path` is still what was opened by its name after begin(), and looked like `source` then.
  // Errors: changed, not_found, io.
  [[nodiscard]] Status check(const std::string& path, const mapping::FileIdentity& source) const;

 private:
  std::unique_ptr<mapping::OsFile> locked_;  // null: nothing to lock
};

}  // namespace fatctx::container
