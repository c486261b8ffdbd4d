// Looks into a container at a URL: the header, tables and description of it, without payload.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/container.h"
#include "fatctx/open_options.h"
#include "tools/source/byte_source.h"

namespace fatctx::tools {

struct RemoteContainer {
  Container container;           // its views find no payload
  std::shared_ptr<void> folder;  // of the file that stands for it; removed with its last owner
};

// Fetches the metadata of the container at `url`, with the tensor tables of the weight blobs `tensors_of`. It takes two
// or three requests, and at most 128 KiB and half the table more than it needs.
// Errors: those of open_url_source, of FetchPlan and of open_whole; invalid_argument, for an earlier generation.
[[nodiscard]] Result<RemoteContainer> open_remote(const std::string& url, const OpenOptions& options,
                                                  const std::vector<std::string>& tensors_of, const HttpOptions& http);

}  // namespace fatctx::tools
