// The grammar of a manifest (docs/manifest.md): JSON into data.
#pragma once

#include <set>
#include <string>
#include <string_view>

#include "fatctx/base/result.h"
#include "tools/pack/manifest.h"

namespace fatctx::tools {

// Parses a manifest. Pure: reads no file. Relative paths in the result start with `folder`, unless that is
// empty. Records may refer to weight blobs of the manifest and to `known_weights`, those of a container that
// is appended to.
// Errors: invalid_argument with file, JSON pointer, the found and the allowed values.
[[nodiscard]] Result<Manifest> parse_manifest(std::string_view text, const std::string& file, const std::string& folder,
                                              const std::set<std::string>& known_weights = {});

// Does the same for a file; paths are relative to its folder. Errors: also not_found, not_regular_file, io.
[[nodiscard]] Result<Manifest> read_manifest(const std::string& path, const std::set<std::string>& known_weights = {});

}  // namespace fatctx::tools
