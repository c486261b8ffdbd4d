// Imports context binaries through the ONNX model that names them: `<stem>_ctx.onnx` beside
// `<stem>_ctx_qnn.bin`.
//
// The binaries are opaque. Their files, graphs and targets come from the EPContext nodes and from the
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

// A target in the notation of the QNN execution provider; 0 means "not stated".
struct QnnTarget {
  std::uint32_t qnn_soc = 0;
  std::uint32_t arch = 0;
  std::uint32_t vtcm_mb = 0;
  Version sdk;
};

// Parses "v2:6:2.51.0:5.51.0:75,79:57,69:8,8:0": one target for each element of the three lists. Returns none
// for a text of another version than v2.
// Errors: malformed, with the found text.
[[nodiscard]] Result<std::vector<QnnTarget>> parse_qnn_compatibility(std::string_view text);

struct ImportedRecords {
  std::vector<ManifestRecord> records;
  std::vector<std::string> notes;  // things that a compiler did silently, such as DlcInfo::findings
};

// Returns a record for each binary that the EPContext nodes of the model at `path` name, with the graphs of
// those nodes. If the nodes name a multi-SoC DLC, returns its records. If the model has other nodes that `fatctx wrap`
// could not make anew, it is the last record (tools/onnx/onnx_whole.h), and the binaries name it by its hash.
//
// `flag` is the path alone or with words as in the other flags of pack,
// PATH[,name=...,unit=...,group=...,variant=...]. The default group is `model`. A name is that of the one
// binary, or a prefix of the names of several and of the entries of a DLC. `provider` is the assumed maker of
// a binary whose node names none, as old ones of QNN do not.
// Errors: those of read_onnx and of list_dlc; invalid_argument (a word that is not known, no EPContext node, a binary
// inside the model, one outside of the model's folder, several targets for one binary, several binaries of a
//         model that is to be kept).
[[nodiscard]] Result<ImportedRecords> records_from_ep_context(std::string_view flag, const std::string& model,
                                                              std::string_view provider = "QNNExecutionProvider");

// Sets the VTCM of a binary for whose SoC QNN's provider has noted none: nothing was asked for, and the compiler then
// uses the vendor's default. Does nothing to other records. Call it after facts from elsewhere are filled in.
void add_default_vtcm(PackRecord& record);

// Merges `made` into one of `records` if both are the same binary under the same name, from models that were
// compiled to share it, or if both are models of the same bytes. Returns true if so: that record then has the graphs of
// both, and the caller must drop `made`. Errors: malformed (the facts of inputs and outputs), invalid_argument (the
// models state different targets for it).
[[nodiscard]] Result<bool> joined_with(std::vector<ManifestRecord>& records, const ManifestRecord& made);

// Returns all entries of a DLC as records of a manifest. Errors: those of records_from_dlc.
[[nodiscard]] Result<ImportedRecords> manifest_records_from_dlc(const std::string& path, const DlcImport& import);

// Returns the format that the first bytes of a file tell: "irpa", "iree-vmfb", "ovep-bin", "dlc", or nothing.
[[nodiscard]] std::string format_of(const std::string& path);

}  // namespace fatctx::tools
