#include "tools/inspect/dlc_container.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "fatctx/import_dlc.h"
#include "fatctx/private_folder.h"
#include "tools/cli/whole_container.h"
#include "tools/pack/pack_run.h"
#include "tools/pack/record_flags.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

// Makes a folder that is removed with its last owner.
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

}  // namespace

Result<OpenedOrPacked> open_or_pack(const std::string& path, const OpenOptions& options, const std::string& model) {
  const auto dlc = is_dlc(path);
  if (!dlc.ok() || !dlc.value()) {
    FATCTX_ASSIGN(Container container, open_whole(path, options));
    return OpenedOrPacked{std::move(container), nullptr};
  }
  FATCTX_ASSIGN(std::shared_ptr<std::string> folder, temporary_folder());
  RecordFlags flags;
  flags.name = model.empty() ? "dlc" : model;
  flags.dlcs = {path};
  PackRequest request;
  FATCTX_ASSIGN(request.manifest, manifest_of(flags));
  request.output = (fs::path(*folder) / "dlc.fatctx").string();
  FATCTX_ASSIGN(const PackSummary packed, pack_manifest(std::move(request)));
  FATCTX_ASSIGN(Container container, open_whole(packed.report.path, options));
  return OpenedOrPacked{std::move(container), std::move(folder)};
}

}  // namespace fatctx::tools
