// Whether an ONNX model with EPContext nodes fits a container: `fatctx verify FILE --onnx MODEL`.
//
// Of an execution provider of a vendor: what each main node names holds exactly the bytes of a record, and graphs,
// inputs and outputs are those that the record describes. Of our own provider (source "fatctx"): the node names
// or carries this container, and means a unit in it, of the group and with the digest that it states.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/container.h"

namespace fatctx::tools {

inline constexpr std::string_view kOwnBackend = "ort-cpu";  // of the records that our own provider runs

struct FittedNode {
  std::string node;
  std::string source;
  std::string binary;  // the file that it names; empty: the payload is in the node, or it has none of its own
  std::string record;  // that the bytes are; empty: none
};

struct OnnxFit {
  std::vector<FittedNode> nodes;
  std::vector<VerifyFinding> findings;
  std::vector<std::string> notes;  // what could not be compared, because the record does not say it
  std::uint64_t checked_bytes = 0;
};

// Errors: those of read_onnx; invalid_argument (no EPContext node). What does not fit is a finding.
// Cost: reads every file that nodes name, and each record of its size up to the first difference.
[[nodiscard]] Result<OnnxFit> fit_of_onnx(const Container& container, const std::string& model_path,
                                          const Progress& progress = {});

}  // namespace fatctx::tools
