// What an ONNX model says about its weights and its inputs and outputs. Two files know the onnx classes:
// onnx_import.cc, and onnx_wrapper.cc, which writes models around context binaries. Nothing here checks or runs the
// model.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/description.h"
#include "fatctx/packer.h"
#include "fatctx/record.h"

namespace fatctx::tools {

inline constexpr std::size_t kMaxTensorRank = 8;  // of a tensor table; docs/format.md section 6

struct OnnxExternal {    // bytes of an initializer outside of the model
  std::string location;  // a file, relative to the model
  std::uint64_t offset = 0;
  std::optional<std::uint64_t> size;
};

struct OnnxInitializer {
  std::string name;
  std::optional<DType> dtype;  // empty: a type that tensor tables do not have (strings, complex, 8-bit floats)
  std::string type;            // its word: "float32", "float8e4m3fn", "onnx type 99"
  std::uint32_t bits = 0;      // of an element; 0: not known
  std::vector<std::uint64_t> shape;
  std::optional<OnnxExternal> external;
};

// Bytes by type and shape; nothing if the type is not known or they do not fit 64 bits.
[[nodiscard]] std::optional<std::uint64_t> size_bytes(const OnnxInitializer& initializer);

// The number that ONNX gives to an element type.
[[nodiscard]] int onnx_element_type(DType dtype) noexcept;

// How numbers stand for others: value = scale * (stored - zero_point), the same for the whole tensor.
struct TensorQuantisation {
  double scale = 1;
  std::int64_t zero_point = 0;
  std::string outside =
      {};  // what the model calls the float32 tensor on the other side of the conversion; may be empty
  friend bool operator==(const TensorQuantisation&, const TensorQuantisation&) = default;
};

// An EPContext node: a graph that an execution provider has compiled.
struct OnnxEpContext {
  std::string name;
  std::string source;          // the execution provider, as it calls itself
  std::string cache;           // file with the binary, as the node names it; empty: the main node's, or inside the node
  std::string payload;         // of an embedded node: the binary itself
  std::string partition_name;  // of the graph in the binary
  std::string sdk_version;     // that made the binary; empty: not stated
  std::int64_t max_size = 0;   // 0: not stated
  std::string fatctx_group;    // of our own provider: docs/onnxruntime.md, "The node"; empty: not stated
  std::string fatctx_digest;
  bool main_context = true;
  bool embedded = true;
  // What the node takes and gives, named as in the binary, which io_name_overrides of the node may call otherwise than
  // the model. Of a tensor whose type the model does not say, `dtype` is empty.
  std::vector<DescribedTensor> inputs;
  std::vector<DescribedTensor> outputs;
  // Of those that QuantizeLinear makes for the node, or that DequantizeLinear takes from it: by the same names.
  std::map<std::string, TensorQuantisation> quantised;
};

// Whether the execution provider of this project takes it; upper and lower case are one, as there.
[[nodiscard]] bool is_own(const OnnxEpContext& node);

struct OnnxModel {
  DescribedGraph graph;  // without initializers among its inputs; -1 for a dimension that is not fixed
  std::vector<OnnxInitializer> initializers;  // of the main graph
  std::vector<OnnxInitializer> inner;         // all other tensors that lie outside of the model: those of inner graphs
  std::vector<std::string> external_files;    // where tensors lie outside of the model; relative, each once
  std::vector<OnnxEpContext> ep_contexts;
  std::map<std::string, std::string> metadata;  // what tools have noted, by key
  // What the model computes with, inner graphs and functions included: "Conv", "com.microsoft:Gelu".
  std::set<std::string> operators;
  // Element types that QuantizeLinear and DequantizeLinear nodes of the main graph give activations and initializers;
  // 32-bit biases do not count. Empty if there are no such nodes, or if one of them does not say its type.
  std::set<std::string> activation_types;
  std::set<std::string> weight_types;
};

// Errors: not_found, not_regular_file, malformed (not an ONNX model, negative dimensions), limit_exceeded (2 GiB).
// Cost: reads and parses the whole file into memory, once.
[[nodiscard]] Result<OnnxModel> read_onnx(const std::string& path);

// An initializer of the main graph whose bytes are inside of the model, as they would lie in external data: row-major,
// little-endian.
struct OnnxEmbedded {
  OnnxInitializer initializer;
  std::vector<std::byte> bytes;
};
// Those of at least `min_size` bytes, in the order of the model. Strings, and types whose size is not known, are left
// out. Errors: those of read_onnx; malformed (bytes of another size than type and shape have).
// Cost: reads and parses the whole file, and copies what it returns.
[[nodiscard]] Result<std::vector<OnnxEmbedded>> read_embedded(const std::string& path, std::uint64_t min_size);

// The paths of the model itself and of its external files.
[[nodiscard]] std::vector<std::string> files_of_model(const std::string& path, const OnnxModel& model);

// Gives tensors that are bytes so far the element type and shape of the initializer with their name. A tensor without
// such an initializer, or with one that a tensor table cannot describe, stays as it is. Returns how many stayed.
// `model_name` is what errors call the model.
// Errors: invalid_argument, if an initializer has another size than its tensor, with both sizes.
[[nodiscard]] Result<std::uint64_t> give_shapes(const OnnxModel& model, const std::string& model_name,
                                                std::vector<PackTensor>& tensors);

// Where an external file lies inside another file.
struct OnnxPlace {
  std::string file;  // the other one, relative to the new model
  std::uint64_t file_offset = 0;
  std::uint64_t size_bytes = 0;
};
struct OnnxPlaces {
  std::map<std::string, OnnxPlace> files;     // by location
  std::map<std::string, OnnxExternal> moved;  // initializers inside of the model, by name: where they are in `files`
};
struct PointedModel {
  std::string bytes;
  std::uint64_t tensors = 0;  // that were pointed elsewhere
};
// The model at `model_path` again, with every tensor that lies in a file of `places` taken from the
// other file instead, at the place of its bytes there, and moved initializers without their bytes; all else stays, but
// for checksums of the old file. A tensor that does not say its size gets that of its type and shape, because it no
// longer ends with its file.
// Errors: those of read_onnx; not_found (a location that is not in `places`), malformed (a tensor that leaves its
//         place), limit_exceeded (2 GiB, with what lies inside of it).
[[nodiscard]] Result<PointedModel> onnx_pointing_into(const std::string& model_path, const OnnxPlaces& places);

// Returns the largest `max_size` of the model's EPContext nodes, the spill-fill buffer that they ask for, in bytes; 0:
// none says one. Errors: those of read_onnx.
[[nodiscard]] Result<std::int64_t> largest_max_size(const std::string& model_path);

// Writes the model at `model_path` again to `output`, with `max_size` as that of every EPContext node that is a main
// one, so that sessions which share the buffer may start in any order. Returns how many were changed.
// Errors: those of read_onnx; io.
[[nodiscard]] Result<std::uint64_t> write_onnx_with_max_size(const std::string& model_path, std::int64_t max_size,
                                                             const std::string& output);

// Writes the model at `model_path` again to `output`, with `prefix` before the name of every EPContext node that does
// not begin with it yet: the names say which part of a larger model they are. Returns how many were changed.
// Errors: those of read_onnx; io.
[[nodiscard]] Result<std::uint64_t> write_onnx_with_node_prefix(const std::string& model_path,
                                                                const std::string& prefix, const std::string& output);

}  // namespace fatctx::tools
