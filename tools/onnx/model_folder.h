// Files that a model or another file names: they lie in its own folder or below it.
#pragma once

#include <filesystem>
#include <string>

namespace fatctx::tools {

// The folder of a file; "." if the path is a name alone.
[[nodiscard]] std::filesystem::path parent_of(const std::string& file);

// The path of what `file` calls `name`.
[[nodiscard]] std::string path_beside(const std::string& file, const std::string& name);

// Whether a name leads nowhere but down, as far as it says: it is relative and has no "..".
[[nodiscard]] bool leads_down(const std::filesystem::path& name);

// `file` as seen from `folder`; empty if it lies neither in it nor below it. Requires: both without links and "..", as
// std::filesystem::canonical() says them.
[[nodiscard]] std::filesystem::path path_below(const std::filesystem::path& folder, const std::filesystem::path& file);

}  // namespace fatctx::tools
