#include "tools/source/temporary_folder.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "fatctx/private_folder.h"

namespace fatctx::tools {

namespace fs = std::filesystem;

Result<std::shared_ptr<std::string>> temporary_folder() {
  std::error_code none;
  const fs::path parent = fs::temp_directory_path(none);
  if (none) return Error{ErrorCode::kIo, "there is no folder for temporary files; name one in TMPDIR"};
  FATCTX_ASSIGN(std::string path, make_private_folder_in(parent.string()));
  return std::shared_ptr<std::string>(new std::string(std::move(path)), [](const std::string* made) {
    std::error_code ignored;
    fs::remove_all(*made, ignored);
    delete made;
  });
}

}  // namespace fatctx::tools
