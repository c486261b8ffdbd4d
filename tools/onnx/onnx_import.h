// Reads the weights, inputs and outputs of an ONNX model. Few files use the onnx classes: onnx_file.h, onnx_hoist.h,
// onnx_import.cc, onnx_operators.cc, onnx_infer.cc and onnx_look.cc with onnx_walk.h, which list nodes and shapes,
// onnx_shapes.cc, which writes models with fixed sizes, and onnx_whole.cc and onnx_wrapper.cc, which write models
// around context binaries. Nothing here checks or runs the model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "fatctx/packer.h"
#include "fatctx/record.h"
#include "tools/onnx/onnx_operators.h"

namespace fatctx::tools {

inline constexpr std::size_t kMaxTensorRank = 8;  // of a tensor table; docs/format.md section 6

struct OnnxExternal {    // bytes of an initializer outside the model
  std::string location;  // a file, relative to the model
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> size;
};

struct OnnxInitializer {
  std::string name;
  std::optional<DType> dtype;  // empty: a type that tensor tables do not have (strings, complex, 8-bit floats)
  std::string type;            // its name: "float32", "float8e4m3fn", "onnx type 99"
  std::uint32_t bits = 0;      // of an element; 0: not known
  std::vector<std::uint64_t> shape;
  std::optional<OnnxExternal> external;
  bool constant = false;  // a Constant node in the file
  bool movable = false;   // hoist_weights() can move it out of its inner graph or function
};

// Returns bytes by type and shape; nothing if the type is not known or they do not fit 64 bits.
[[nodiscard]] std::optional<std::uint64_t> size_bytes(const OnnxInitializer& initializer);

// Returns the name of an element type by ONNX's number: "uint8".
[[nodiscard]] std::string element_type_name(int onnx);

// Returns the bits of an element of the type with this name; 0: not known, or no fixed size.
[[nodiscard]] std::uint32_t element_type_bits(std::string_view name) noexcept;

// Returns ONNX's number of an element type.
[[nodiscard]] int onnx_element_type(DType dtype) noexcept;

// A quantisation of a whole tensor: value = scale * (stored - zero_point).
struct TensorQuantisation {
  double scale = 1;
  std::int64_t zero_point = 0;
  std::string outside = {};  // the model's name of the float32 tensor on the other side of the conversion; may be empty
  friend bool operator==(const TensorQuantisation&, const TensorQuantisation&) = default;
};

// An EPContext node: a graph that an execution provider has compiled.
struct OnnxEpContext {
  std::string name;
  std::string source;          // the execution provider, by its own name
  std::string cache;           // file with the binary, as the node names it; empty: the main node's, or inside the node
  std::string payload;         // of an embedded node: the binary itself
  std::string partition_name;  // of the graph in the binary
  std::string sdk_version;     // of the compiler of the binary; empty: not stated
  std::int64_t max_size = 0;   // 0: not stated
  std::string fatctx_group;    // for our own provider: docs/onnxruntime.md, "The node"; empty: not stated
  std::string fatctx_digest;
  bool main_context = true;
  bool embedded = true;
  bool multi_soc = false;  // the binary is a DLC
  // The node's inputs and outputs, with the names in the binary. io_name_overrides of the node may map them
  // to other names in the model. If the model does not tell the type of a tensor, its `dtype` is empty.
  std::vector<DescribedTensor> inputs;
  std::vector<DescribedTensor> outputs;
  // The quantisation of tensors that QuantizeLinear makes for the node, or that DequantizeLinear takes from
  // it; same names.
  std::map<std::string, TensorQuantisation> quantised;
};

// Returns true if the execution provider of this project takes it. Ignores case, as the provider does.
[[nodiscard]] bool is_own(const OnnxEpContext& node);

struct OnnxModel {
  DescribedGraph graph;  // without initializers among its inputs; -1 for a dimension that is not fixed
  std::vector<OnnxInitializer> initializers;  // of the main graph, with its Constant nodes by the name of their output
  // All other tensors outside the model. Those that hoist_weights() can move have their name in the main graph.
  std::vector<OnnxInitializer> inner;
  std::vector<std::string> external_files;  // the files with tensors outside the model; relative, each once
  std::vector<OnnxEpContext> ep_contexts;
  std::map<std::string, std::string> metadata;  // the metadata of tools, by key
  // The operators of the model, inner graphs and functions included: "Conv", "com.microsoft:Gelu".
  std::set<std::string> operators;
  OperatorUse used;  // how often
  // Element types that QuantizeLinear and DequantizeLinear nodes of the main graph give activations and
  // initializers; 32-bit biases do not count. Empty if there are no such nodes, or if one of them leaves its
  // type open.
  std::set<std::string> activation_types;
  std::set<std::string> weight_types;
};

// Reads a model.
// Errors: not_found, not_regular_file, malformed (not an ONNX model, negative dimensions), limit_exceeded (2 GiB).
// Cost: reads and parses the whole file into memory, once.
[[nodiscard]] Result<OnnxModel> read_onnx(const std::string& path);

// A weight whose bytes are inside the model, laid out as external data: row-major, little-endian. It is an initializer
// or a Constant node of the main graph, or one that hoist_weights() can move there, with its name there.
struct OnnxEmbedded {
  OnnxInitializer initializer;
  std::vector<std::byte> bytes;
};
// Returns those of at least `min_size` bytes, in the order of the model. Leaves out strings, and types of
// unknown size.
// Errors: those of read_onnx; malformed (bytes of another size than type and shape have).
// Cost: reads and parses the whole file, and copies what it returns.
[[nodiscard]] Result<std::vector<OnnxEmbedded>> read_embedded(const std::string& path, std::uint64_t min_size);

// Returns the paths of the model itself and of its external files.
[[nodiscard]] std::vector<std::string> files_of_model(const std::string& path, const OnnxModel& model);

// Gives untyped tensors the element type and shape of the initializer with their name. A tensor without such
// an initializer, or with one that a tensor table cannot describe, does not change. Returns how many did not
// change. `model_name` is the model's name in errors.
// Errors: invalid_argument, if an initializer has another size than its tensor, with both sizes.
[[nodiscard]] Result<std::uint64_t> give_shapes(const OnnxModel& model, const std::string& model_name,
                                                std::vector<PackTensor>& tensors);

// A position of an external file inside another file.
struct OnnxPlace {
  std::string file;  // the other one, relative to the new model
  std::uint64_t file_offset = 0;
  std::uint64_t size_bytes = 0;
};
struct OnnxPlaces {
  std::map<std::string, OnnxPlace> files;  // by location
  std::map<std::string, OnnxExternal>
      moved;             // weights inside the model, by OnnxEmbedded's name: their place in `files`
  bool hoisted = false;  // external data of inner graphs and functions moves to the main graph, too
};
struct PointedModel {
  std::string bytes;
  std::uint64_t tensors = 0;  // number of redirected tensors
};
// Rewrites the model at `model_path`. Every tensor in a file of `places` refers to the other file instead, at
// the offset of its bytes there, and moved initializers lose their bytes and are in the main graph. All else stays, but
// for checksums of the old file. A tensor that states no size gets that of its type and shape, because it no longer
// ends with its file. Errors: those of read_onnx; not_found (a location that is not in `places`), malformed (a tensor
// that leaves its
//         place), limit_exceeded (2 GiB, with the data inside it).
[[nodiscard]] Result<PointedModel> onnx_pointing_into(const std::string& model_path, const OnnxPlaces& places);

// Returns the largest `max_size` of the model's EPContext nodes, the spill-fill buffer that they ask for, in bytes; 0:
// none says one. Errors: those of read_onnx.
[[nodiscard]] Result<std::int64_t> largest_max_size(const std::string& model_path);

// Writes the model at `model_path` again to `output`, with `max_size` as that of every EPContext node that is a main
// one, so that sessions which share the buffer may start in any order. Returns how many were changed.
// Errors: those of read_onnx; io.
[[nodiscard]] Result<std::uint64_t> write_onnx_with_max_size(const std::string& model_path, std::int64_t max_size,
                                                             const std::string& output);

// Writes the context model at `model_path` again to `output`, with the version of ONNX and the operator sets that its
// nodes and `source`, the model it was compiled from, need. ONNX Runtime writes its own newest ones, and an older one
// then refuses the model before a provider can say why it does not fit. Errors: those of read_onnx; io.
[[nodiscard]] Status write_onnx_with_versions_of(const std::string& source, const std::string& model_path,
                                                 const std::string& output);

// Writes the model at `model_path` again to `output`, with `prefix` before the name of every EPContext node that does
// not begin with it yet: the names say which part of a larger model they are. Returns how many were changed.
// Errors: those of read_onnx; io.
[[nodiscard]] Result<std::uint64_t> write_onnx_with_node_prefix(const std::string& model_path,
                                                                const std::string& prefix, const std::string& output);

}  // namespace fatctx::tools
