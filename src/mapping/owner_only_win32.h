// Access lists that give nobody but the user of this process access, and the check that one of another maker does. For
// the _win32.cc files of this folder only.
#pragma once

#include <memory>
#include <string>

#include "fatctx/base/result.h"

namespace fatctx::mapping {

// An owner of the attributes with which a file or folder is made for this user alone. Nothing is inherited from the
// folder above; files in the folder inherit its list.
class OwnerOnly {
 public:
  // Errors: no_resource, io.
  [[nodiscard]] static Result<OwnerOnly> make();
  ~OwnerOnly();
  OwnerOnly(OwnerOnly&& other) noexcept;
  OwnerOnly& operator=(OwnerOnly&& other) noexcept;

  // Returns the SECURITY_ATTRIBUTES for a call. Lifetime: as this object.
  [[nodiscard]] void* attributes() noexcept;

 private:
  struct Parts;
  explicit OwnerOnly(std::unique_ptr<Parts> parts) noexcept;
  std::unique_ptr<Parts> parts_;
};

// Returns an account that owns the file or folder, or may read or change it, beside the user of this process and those
// whom no list keeps out: the system and its administrators. Empty if there is none. Errors: io.
[[nodiscard]] Result<std::string> stranger_with_access(void* handle);

// Returns whether the user of this process, or the system for an elevated one, owns the file. Errors: io.
[[nodiscard]] Result<bool> belongs_to_this_user(void* handle);

}  // namespace fatctx::mapping
