// Resolves files that a model or another file names: they must be in its own folder or below it.
#pragma once

#include <filesystem>
#include <string>

namespace fatctx::tools {

// Returns the folder of a file; "." if the path is only a name.
[[nodiscard]] std::filesystem::path parent_of(const std::string& file);

// Returns the path of the file that `file` calls `name`.
[[nodiscard]] std::string path_beside(const std::string& file, const std::string& name);

// Returns true if a name is relative and has no "..", so that it cannot leave the folder, links aside.
[[nodiscard]] bool leads_down(const std::filesystem::path& name);

// Returns `file` relative to `folder`; empty if it is neither in it nor below it. Requires: both without
// links and "..", as std::filesystem::canonical() returns them.
[[nodiscard]] std::filesystem::path path_below(const std::filesystem::path& folder, const std::filesystem::path& file);

}  // namespace fatctx::tools
