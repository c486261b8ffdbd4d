// Checks that an ONNX model with EPContext nodes fits a container: `fatctx verify FILE --onnx MODEL`.
//
// For a vendor's execution provider, the file of each main node must hold exactly the bytes of a record. The
// graphs, inputs and outputs must be those that the record describes. For our own provider (source "fatctx"),
// the node must name or carry this container. The node must also select a unit in it, of the group and with
// the digest that it states.
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
  std::string binary;  // the file that the node names; empty: the payload is in the node, or it has none of its own
  std::string record;  // the one with these bytes; empty: none
};

struct OnnxFit {
  std::vector<FittedNode> nodes;
  std::vector<VerifyFinding> findings;
  std::vector<std::string> notes;  // facts that could not be compared, because the record does not state them
  std::uint64_t checked_bytes = 0;
};

// Compares a model with a container. A mismatch is a finding, not an error.
// Errors: those of read_onnx; invalid_argument (no EPContext node).
// Cost: reads every file that nodes name, and each record of its size up to the first difference.
[[nodiscard]] Result<OnnxFit> fit_of_onnx(const Container& container, const std::string& model_path,
                                          const Progress& progress = {});

}  // namespace fatctx::tools
