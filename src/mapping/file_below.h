// Opens a file that another file names. It must be stored in a given folder or below it, whatever links the path
// contains.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::mapping {

// Returns the path of `name` in `folder` ("" is the current one), without links in it.
// Errors: malformed (the name is empty, absolute, or leaves the folder: by dots or by a link), not_found,
// not_regular_file, io.
[[nodiscard]] Result<std::string> file_below(const std::string& folder, std::string_view name);

struct OpenedBelow {
  std::string path;
  std::unique_ptr<OsFile> file;  // held open: no other file can get its identity meanwhile
  FileIdentity identity;
};
// Resolves the name in the same way and opens the file. Walks from the folder to the file step by step and follows no
// link: a link that is created after the name was resolved leads nowhere.
// Errors: those of file_below; malformed (a link is on the way by now).
[[nodiscard]] Result<OpenedBelow> open_file_below(const std::string& folder, std::string_view name);
// Opens `relative`, which has neither links nor dots, below the folder. Errors: malformed (a link), not_found, io.
[[nodiscard]] Result<std::unique_ptr<OsFile>> open_without_links(const std::string& folder,
                                                                 const std::string& relative);

// The folder of a path as written ("" if it names none), and the folder of the file to which links lead.
struct FoldersOfFile {
  std::string written;
  std::string real;  // the same as `written` unless a link leads elsewhere, or if the file does not exist
};
[[nodiscard]] FoldersOfFile folders_of(const std::string& path);

// Returns `path` as an absolute path without dots. Links stay, except in front of a "..": as in the system, that means
// the parent of the link's target.
[[nodiscard]] std::string absolute_path(const std::string& path);
// Returns `path` relative to `folder`; both must be absolute. Returns "" if it is neither in the folder nor below it.
[[nodiscard]] std::string path_below(const std::string& path, const std::string& folder);

}  // namespace fatctx::mapping
