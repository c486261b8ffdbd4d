#include "tools/onnx/model_folder.h"

#include <algorithm>

namespace fatctx::tools {

namespace fs = std::filesystem;

fs::path parent_of(const std::string& file) {
  const fs::path folder = fs::path(file).parent_path();
  return folder.empty() ? fs::path(".") : folder;
}

std::string path_beside(const std::string& file, const std::string& name) {
  return (fs::path(file).parent_path() / name).string();
}

bool leads_down(const fs::path& name) {
  // On Windows a name with a drive or a leading slash alone is relative, and leads out of the folder nevertheless.
  return !name.has_root_path() && std::none_of(name.begin(), name.end(), [](const auto& part) { return part == ".."; });
}

fs::path path_below(const fs::path& folder, const fs::path& file) {
  const fs::path relative = file.lexically_relative(folder);
  return relative.empty() || *relative.begin() == ".." ? fs::path() : relative;
}

}  // namespace fatctx::tools
