// Opens a container, or a DLC as the container that `pack --dlc` would make of it.
#pragma once

#include <memory>
#include <string>

#include "fatctx/base/result.h"
#include "fatctx/container.h"
#include "fatctx/open_options.h"

namespace fatctx::tools {

struct OpenedOrPacked {
  Container container;
  std::shared_ptr<void> folder;  // of the container that was made of a DLC; removed with its last owner
};

// Opens the file at `path`. A DLC is packed into a temporary folder first, under the name `model`.
// Errors: those of open_whole; those of list_dlc and pack_manifest.
// Cost: of a DLC, reading it and writing its records once.
[[nodiscard]] Result<OpenedOrPacked> open_or_pack(const std::string& path, const OpenOptions& options,
                                                  const std::string& model);

}  // namespace fatctx::tools
