// A file that another file names: it must be stored in a given folder or below it, whatever links the path contains.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "fatctx/base/result.h"
#include "mapping/os_file.h"

namespace fatctx::mapping {

// The path of `name` in `folder` ("" is the current one), without links in it.
// Errors: malformed (the name is empty, absolute, or leaves the folder: by dots or by a link), not_found,
// not_regular_file, io.
[[nodiscard]] Result<std::string> file_below(const std::string& folder, std::string_view name);

struct OpenedBelow {
  std::string path;
  std::unique_ptr<OsFile> file;  // held open: no other file can get its identity meanwhile
  FileIdentity identity;
};
// The same, opened. The way from the folder to the file is gone step by step, and no step follows a link: a link that
// somebody puts there after the name was resolved leads nowhere.
// Errors: those of file_below; malformed (a link is on the way by now).
[[nodiscard]] Result<OpenedBelow> open_file_below(const std::string& folder, std::string_view name);
// The last step of it: `relative` has neither links nor dots. Errors: malformed (a link), not_found, io.
[[nodiscard]] Result<std::unique_ptr<OsFile>> open_without_links(const std::string& folder,
                                                                 const std::string& relative);

// The folder of the file at `path`, as it is written (otherwise ""), and that of the file that it is a link to.
struct FoldersOfFile {
  std::string written;
  std::string real;  // the same as `written` unless a link leads elsewhere, or the file is not there
};
[[nodiscard]] FoldersOfFile folders_of(const std::string& path);

// `path` from the current folder on, without dots in it. Links stay, unless a ".." follows, which goes where the system
// goes: to the parent of what the link leads to.
[[nodiscard]] std::string absolute_path(const std::string& path);
// Returns `path` as seen from `folder`; both absolute. Empty if it is neither in the folder nor below it.
[[nodiscard]] std::string path_below(const std::string& path, const std::string& folder);

}  // namespace fatctx::mapping
