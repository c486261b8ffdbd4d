// Writes the output of `fatctx compile` once every target succeeded: a container, a folder with parts and a
// manifest, or the vendor's DLC.
#pragma once

#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/compile/compile_cache.h"
#include "tools/compile/compile_driver.h"
#include "tools/pack/gather.h"
#include "tools/pack/manifest.h"

namespace fatctx::tools {

inline constexpr const char* kManifestFile = "manifest.json";  // in a folder with parts

// Returns records of the original model and the files with its weights, so that it can be compiled again
// later.
[[nodiscard]] std::vector<ManifestRecord> source_records(const CompileInput& input);

// Writes parts and a manifest from which `fatctx pack` makes the same container; the manifest comes last.
// Returns the text to print. Errors: exists (without `force`, a file of that name), not_supported (a record
// that is a part of a file, such as those of a DLC), io, those of gather_records().
[[nodiscard]] Result<std::string> write_parts(const std::string& folder, const Manifest& manifest, OnnxModels models,
                                              bool force);

// Writes the DLC of one pass of the vendor's compiler, whole or not at all. Errors: exists (without `force`),
// those of reading and writing archives.
[[nodiscard]] Status write_dlc(const CompileCache& cache, const std::string& compiled, const std::string& output,
                               bool force);

}  // namespace fatctx::tools
