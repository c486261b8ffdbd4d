// Reports that C++ gives as structs, as the JSON that C gives. docs/reports.md describes the schemas.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "fatctx/appender.h"
#include "fatctx/import_dlc.h"
#include "fatctx/import_tensors.h"
#include "fatctx/packer.h"
#include "fatctx/profile.h"
#include "fatctx/rewrite.h"
#include "fatctx/sharing.h"
#include "fatctx/stored_dlc.h"

namespace fatctx::capi {

// The tensors of a file with weights.
struct WeightFile {
  std::string format;  // "safetensors", "gguf", "irpa"
  ImportedTensors imported;
  std::uint64_t splat_count = 0;  // as IrpaTensors::splat_count
};

[[nodiscard]] std::string packed_json(const PackReport& report);
[[nodiscard]] std::string append_json(const AppendReport& report);
[[nodiscard]] std::string rewrite_json(const RewriteReport& report);
[[nodiscard]] std::string profile_json(const Profile& profile);
[[nodiscard]] std::string stored_dlcs_json(const std::string& file, const std::vector<StoredDlc>& stored);
[[nodiscard]] std::string tensors_json(const std::string& file, const WeightFile& weights);

}  // namespace fatctx::capi
