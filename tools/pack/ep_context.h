// Context binaries by way of the ONNX model that names them: `<stem>_ctx.onnx` beside `<stem>_ctx_qnn.bin`.
//
// The binaries are opaque. Which file, which graphs and for which target comes from the EPContext nodes and from the
// compatibility text that the execution provider has left in the model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/import_dlc.h"
#include "fatctx/packer.h"
#include "tools/pack/manifest.h"

namespace fatctx::tools {

// A target as the QNN execution provider writes it down; 0 means "not stated".
struct QnnTarget {
  std::uint32_t qnn_soc = 0;
  std::uint32_t arch = 0;
  std::uint32_t vtcm_mb = 0;
  Version sdk;
};

// "v2:6:2.51.0:5.51.0:75,79:57,69:8,8:0": one target for each element of the three lists.
// Errors: malformed, with what was found. A text of another version than v2 gives none.
[[nodiscard]] Result<std::vector<QnnTarget>> parse_qnn_compatibility(std::string_view text);

struct ImportedRecords {
  std::vector<ManifestRecord> records;
  std::vector<std::string> notes;  // what a compiler did without a word, such as DlcInfo::findings
};

// A record for each binary that the EPContext nodes of the model at `path` name, with the graphs of those nodes; or the
// records of a multi-SoC DLC, if that is what they name. `flag` is the path alone or with words as in the other flags
// of pack, PATH[,name=...,unit=...,group=...,variant=...]; the group is `model` unless it is there. `provider` is taken
// for the one that made the binary where a node does not say, as old ones of QNN do not. A name is that of
// the one binary, or what the names of several and of the entries of a DLC begin with.
// Errors: those of read_onnx and of list_dlc; invalid_argument (a word that is not known, no EPContext node, a binary
// inside the model, one outside of the model's folder, several targets for one binary).
[[nodiscard]] Result<ImportedRecords> records_from_ep_context(std::string_view flag, const std::string& model,
                                                              std::string_view provider = "QNNExecutionProvider");

// Whether one of `records` is the same binary under the same name, named by another model that was compiled to share
// it: then that one has the graphs of both from now on, and `made` is to be dropped. Errors: malformed (what is said of
// inputs and outputs), invalid_argument (the models say different targets for it).
[[nodiscard]] Result<bool> joined_with(std::vector<ManifestRecord>& records, const ManifestRecord& made);

// All entries of a DLC as records of a manifest. Errors: those of records_from_dlc.
[[nodiscard]] Result<ImportedRecords> manifest_records_from_dlc(const std::string& path, const DlcImport& import);

// What the first bytes of a file say it is: "irpa", "iree-vmfb", "ovep-bin", "dlc", or nothing.
[[nodiscard]] std::string format_of(const std::string& path);

}  // namespace fatctx::tools
