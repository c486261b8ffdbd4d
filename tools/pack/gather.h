// The records of a manifest, with the tensors and graphs that other files describe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/onnx/onnx_import.h"
#include "tools/pack/manifest.h"

namespace fatctx::tools {

// A result of gather_records(). Notes are remarks that are not errors: "140 tensors of model.weights, 2 of
// them without a shape".
struct GatheredRecords {
  std::vector<PackRecord> records;
  std::vector<std::string> notes;
};
using OnnxModels = std::map<std::string, OnnxModel>;  // by path as in the manifest

// Reads the tensors and graphs that the records ask for. Each ONNX model is read once; those in `models` are
// not read again. The notes include those of tools/facts/htp_checks.h.
// Errors: invalid_argument (a dimension that is not fixed in a binary for htp, unless that is allowed); those of the
// importers, of read_onnx and external_weights, and invalid_argument; each names its record.
[[nodiscard]] Result<GatheredRecords> gather_records(const Manifest& manifest, OnnxModels models = {});

}  // namespace fatctx::tools
