// Reads and writes ONNX files as protobuf messages. Only the files that include this one use the onnx classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <onnx/onnx_pb.h>

#include "fatctx/base/result.h"

namespace fatctx::tools {

// Reads a model. Errors: not_found, not_regular_file, malformed (not an ONNX model), limit_exceeded (2 GiB).
[[nodiscard]] Result<onnx::ModelProto> load_onnx(const std::string& path);

// Parses a model. `name` is its name in errors. Errors: malformed, limit_exceeded.
[[nodiscard]] Result<onnx::ModelProto> parse_onnx(std::span<const std::byte> bytes, const std::string& name);

// Writes a model. Errors: io.
[[nodiscard]] Status save_onnx(const onnx::ModelProto& model, const std::string& path);

// Returns the name of an operator for people: "Conv", and with its domain if that is not ONNX's own,
// "com.microsoft:FusedMatMul".
[[nodiscard]] std::string operator_name(const std::string& domain, const std::string& type);

// Turns Constant nodes of the main graph into initializers of the same name, behind those of the file. ONNX Runtime
// does so as well. Leaves one that gives an output of the graph, and those of fewer than `min_elements`.
void constants_become_initializers(onnx::GraphProto& graph, std::int64_t min_elements = 0);

}  // namespace fatctx::tools
