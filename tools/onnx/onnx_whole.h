// Keeps a context model of which an execution provider took only parts: EPContext nodes, other nodes between them, and
// the weights of those. `fatctx wrap` can rebuild most models from the graphs of a binary, but not these.
//
// The kept form leaves out facts of one chip: names of binaries, versions of compilers and texts about
// devices. The records of the binaries have them. So models for several chips often have the same bytes.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/onnx/onnx_import.h"

namespace fatctx::tools {

struct KeptModel {
  std::string bytes;
  std::uint64_t partitions = 0;        // EPContext nodes
  std::uint64_t other_nodes = 0;       // all other nodes of the main graph
  std::vector<std::string> operators;  // of those, each once, sorted
};

// Returns the form to keep, or nothing if `fatctx wrap` can make the model anew: every node is an EPContext node or
// converts an input or output of the model with a known scale, and no EPContext node reads what another computes.
// `model` is what read_onnx() returned for the file.
// Errors: invalid_argument (such a model whose weights are in other files); malformed; io.
[[nodiscard]] Result<std::optional<KeptModel>> kept_model(const std::string& path, const OnnxModel& model);

// Does the same for comparing: takes a model with weights in other files, too. Errors: malformed; io.
[[nodiscard]] Result<std::optional<KeptModel>> kept_form(const std::string& path, const OnnxModel& model);

// The binary of one chip, as the EPContext nodes of the model shall name it.
struct NodeBinary {
  std::string cache;  // file with the binary, relative to the model; empty: `payload`
  std::string payload;
  std::string source;                                // the execution provider; empty: as the model says
  std::string sdk_version;                           // empty: not stated
  std::int64_t max_size = 0;                         // 0: not stated
  bool multi_soc = false;                            // the binary is a DLC
  std::map<std::string, std::string> metadata = {};  // more metadata of the model, by key
};

// Returns the bytes of the whole model around a binary. Equal arguments produce equal bytes.
// Errors: malformed (`kept` is not an ONNX model), limit_exceeded (2 GB).
[[nodiscard]] Result<std::string> whole_model_bytes(std::string_view kept, NodeBinary binary);

}  // namespace fatctx::tools
