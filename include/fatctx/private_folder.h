// Folders that belong to one user alone, mode 0700: nobody else can put files into them, or look at those inside.
//
// Caches need this, because they hand out the files they find. The folders above must be the caller's or the system's
// too.
#pragma once

#include <string>

#include "fatctx/base/result.h"

namespace fatctx {

// Checks that the folder may hold a cache. Follows a link at its end.
// Errors: not_found, operation_not_permitted (not a folder, of another user, or of another mode; the message names the
// remedy), io, no_resource.
[[nodiscard]] Status check_private_folder(const std::string& path);

// Makes the folder with mode 0700 from the first, and those above it as the umask says; checks one that exists.
// Errors: those of check_private_folder.
[[nodiscard]] Status make_private_folder(const std::string& path);

// Makes a new, empty folder of a random name in `parent`, mode 0700 from the first, and returns its path.
// Errors: not_found (no such parent), io, no_space.
[[nodiscard]] Result<std::string> make_private_folder_in(const std::string& parent);

}  // namespace fatctx
