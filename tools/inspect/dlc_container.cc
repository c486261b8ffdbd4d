#include "tools/inspect/dlc_container.h"

#include <filesystem>
#include <utility>

#include "fatctx/import_dlc.h"
#include "tools/cli/whole_container.h"
#include "tools/pack/pack_run.h"
#include "tools/pack/record_flags.h"
#include "tools/source/temporary_folder.h"

namespace fatctx::tools {

namespace fs = std::filesystem;

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
