// Lists what an ONNX model consists of: graphs with every node, weights by type, operator sets, and what the nodes
// cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"

namespace fatctx::tools {

// A model in a file, or one that a container stores.
struct OnnxSource {
  std::string path;                         // of the file, or a name for errors
  std::span<const std::byte> content = {};  // empty: read `path`
};

struct OnnxShape {
  std::string dtype;                               // empty: not known
  std::optional<std::vector<std::int64_t>> sizes;  // -1 for a size that is not fixed; nothing: not known
  friend bool operator==(const OnnxShape&, const OnnxShape&) = default;
};
// The tensors of each graph by name. The main graph is first, an inner graph follows the nodes before it.
using OnnxShapes = std::vector<std::map<std::string, OnnxShape>>;

struct OnnxNodeTensor {
  std::string name;  // empty: an input that the node leaves out
  OnnxShape shape;
  bool weight = false;                       // an initializer, or the output of a Constant node
  std::optional<DescribedScale> scale = {};  // of an input or output of a graph that is quantised as a whole
};

struct OnnxNode {
  std::uint64_t index = 0;  // in its graph
  std::string name;         // may be empty
  std::string op;           // operator_name()
  std::vector<OnnxNodeTensor> inputs;
  std::vector<OnnxNodeTensor> outputs;
  std::vector<std::pair<std::string, std::string>> parameters;  // attributes as text
  bool multiplies = false;                                      // one of the operators whose multiplications count
  std::optional<std::uint64_t> macs;                            // nothing: none of those, or a shape is not known
  std::optional<DescribedScale> scale = {};                     // of QuantizeLinear and DequantizeLinear, if stored
};

struct OnnxGraphLook {
  std::string name;  // of an inner graph with the node and the attribute that have it: "main/3 If then_branch"
  std::vector<OnnxNodeTensor> inputs;  // without weights
  std::vector<OnnxNodeTensor> outputs;
  std::vector<OnnxNode> nodes;  // without Constant nodes
};

struct OnnxWeight {
  std::string name;
  OnnxShape shape;
  std::optional<std::uint64_t> size_bytes;  // nothing: not known from the type
  std::string location;                     // the file of external data; empty: inside the model
  std::uint64_t offset = 0;                 // there
  // How DequantizeLinear reads it; empty: no such node, or its scales are not stored in the model itself.
  std::vector<double> scales;
  std::vector<std::int64_t> zero_points;  // one for each scale; empty: all 0
  std::optional<std::int64_t> axis;       // of several scales
  std::int64_t block_size = 0;            // of blocks along the axis; 0: none
};

struct OnnxWeightTotal {
  std::uint64_t tensors = 0;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
};

// The memory of the tensors between the nodes of the main graph, if the nodes run in the order of the file and each
// tensor is freed after its last use.
struct OnnxActivations {
  std::uint64_t peak_bytes = 0;
  std::uint64_t peak_node = 0;  // its index
  std::uint64_t unknown = 0;    // tensors that were left out because their size is not known
};

struct OnnxLook {
  std::int64_t ir_version = 0;
  std::string producer;  // with its version
  std::string domain;
  std::string graph;
  std::vector<std::pair<std::string, std::int64_t>> opsets;  // "ai.onnx" for ONNX's own
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<OnnxGraphLook> graphs;
  std::vector<OnnxWeight> weights;                    // of the main graph, with Constant nodes
  std::map<std::string, OnnxWeightTotal> parameters;  // by type, of all graphs
  std::uint64_t bytes_inside = 0;                     // of weights in the model
  std::uint64_t bytes_outside = 0;                    // of weights in other files
  OnnxActivations activations;
};

// Reads a model. A shape that the model does not state comes from `inferred`, if that has one.
// Errors: those of read_onnx.
// Cost: reads and parses the whole file into memory, once; an external file is not read.
[[nodiscard]] Result<OnnxLook> look_at_onnx(const OnnxSource& source, const OnnxShapes& inferred);

// Infers the shapes of the model's tensors with the library of ONNX, as far as that knows the operators.
// The library does not survive every damaged model: call this in a process of its own.
// Errors: those of read_onnx; unsupported, with the reason of the library.
[[nodiscard]] Result<OnnxShapes> infer_onnx_shapes(const OnnxSource& source);

// Returns the newest operator set of ONNX whose shapes the library infers.
[[nodiscard]] std::int64_t newest_inferred_opset();

}  // namespace fatctx::tools
