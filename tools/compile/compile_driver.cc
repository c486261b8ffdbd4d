#include "tools/compile/compile_driver.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "tools/onnx/model_folder.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

Status copy_one(const fs::path& from, const fs::path& to) {
  std::error_code error;
  fs::create_directories(to.parent_path(), error);
  fs::copy_file(from, to, error);
  if (error) return Error{ErrorCode::kIo, fmt::format("{}: cannot be copied: {}", from.string(), error.message())};
  return Done{};
}

}  // namespace

std::vector<std::string> CompileInput::files() const {
  std::vector<std::string> files = {path};
  for (const std::string& file : onnx->external_files) files.push_back(path_beside(beside, file));
  return files;
}

Status CompileInput::copy_to(const std::string& folder, const std::string& model_name) const {
  FATCTX_TRY(copy_one(path, fs::path(folder) / model_name));
  for (const std::string& file : onnx->external_files) {
    FATCTX_TRY(copy_one(path_beside(beside, file), fs::path(folder) / file));
  }
  return Done{};
}

}  // namespace fatctx::tools
