// Makes the artifacts of `push`: manifests of a container, of an update and of a block index, and their blobs.
#pragma once

#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/block_index.h"
#include "tools/source/byte_source.h"
#include "tools/source/http_request.h"
#include "tools/source/oci_manifest.h"
#include "tools/source/oci_registry.h"

namespace fatctx::tools {

struct PushedBlob {
  OciDescriptor descriptor;
  RequestBody body;
  bool sent = false;  // false: the registry has it already
};

struct Artifact {
  OciManifest manifest;  // without config and layers
  std::vector<PushedBlob> blobs;
};

// Checks every leaf of the container. `parts`: several blobs, by push_parts().
// Errors: those of Container::open, the first finding of verify(); changed (it was written to meanwhile), cancelled,
// io.
[[nodiscard]] Result<Artifact> container_artifact(const std::string& path, bool parts, const HttpOptions& http);
// Checks the update. `subject`: the container at `reference`, which it must make.
// Errors: those of read_update(); invalid_argument (it makes another one, or from several files), changed, cancelled.
[[nodiscard]] Result<Artifact> update_artifact(const std::string& path, const std::string& reference,
                                               const ManifestText& subject, const HttpOptions& http);
// `path`: where the index is now; `title`: the name that it gets. Errors: cancelled, io.
[[nodiscard]] Result<Artifact> index_artifact(const std::string& path, const std::string& title,
                                              const BlockIndexReport& report, const ManifestText& subject,
                                              const HttpOptions& http);

[[nodiscard]] std::string title_of_path(const std::string& path);

}  // namespace fatctx::tools
