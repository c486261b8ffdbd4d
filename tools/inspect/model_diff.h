// Compares two models for `fatctx diff`: inputs, outputs, operators, and encodings of quantised tensors. A model is
// a file, or a source model in a container. Values of weights are not compared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "fatctx/base/result.h"
#include "fatctx/open_options.h"
#include "tools/onnx/onnx_look.h"

namespace fatctx::tools {

// One of the two that are compared.
struct DiffedModel {
  std::string path;
  std::string record;      // of a container; empty: the file is the model
  bool states_ops = true;  // false: graphs of a context binary, which have inputs and outputs alone
  OnnxLook look;
};

// A fact that differs; an empty text is one that does not exist.
struct ModelFact {
  std::string what;
  std::string before;
  std::string after;
};

struct ModelDifference {
  std::string change;  // "added", "removed" or "changed"
  std::string kind;    // "input", "output", "operator" or "weight"
  std::string graph;   // of an operator
  std::string name;
  std::string op;  // of an operator, the later one
  std::vector<ModelFact> facts;
};

struct ModelDiff {
  DiffedModel before;
  DiffedModel after;
  std::vector<ModelDifference> differences;
  std::uint64_t same_ops = 0;
  bool weights_compared = false;  // both state them
};

// Returns true if the file is a model of its own: ONNX, or the JSON of a converter for Snapdragon.
[[nodiscard]] bool is_model_file(const std::string& path);

// Compares two files, at least one of which is a model. The other may be a container or a DLC: then its source model in
// the form of ONNX is compared, or the graph of a binary if it has none.
// Errors: those of look_at_onnx, look_at_qnn_json and open_or_pack; unsupported, for a container with neither;
//         invalid_argument, for one with several source models of which none has the name of the other file.
[[nodiscard]] Result<ModelDiff> diff_models(const std::string& before, const std::string& after,
                                            const OpenOptions& options);

// Lines have at most `width` columns, as far as words allow.
[[nodiscard]] std::string model_diff_text(const ModelDiff& diff, std::size_t width);
[[nodiscard]] Json model_diff_json(const ModelDiff& diff);  // schema fatctx.model_diff/1

}  // namespace fatctx::tools
