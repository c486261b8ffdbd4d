// An EPContext node as an execution provider reads and writes it. The attributes: docs/onnxruntime.md, "The node".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "runtime/ort/ep/api.h"

namespace fatctx::ort {

inline constexpr std::string_view kContextOperator = "EPContext";
inline constexpr const char* kCacheAttribute = "ep_cache_context";
inline constexpr const char* kDigestAttribute = "fatctx_digest";

struct ContextNode {
  std::string name;  // for errors
  bool main_context = true;
  bool embedded = true;   // `cache` is the container itself
  std::string cache;      // else its file, relative to the model; empty where a main node names it
  std::string partition;  // the unit of the record; empty: the only one
  std::string group;      // an attribute of our own, "fatctx_group"; empty: the only one
  // Also our own, "fatctx_digest": of the graph and its weights that the model was written for. Empty: not said.
  std::string digest;
};

[[nodiscard]] bool is_context_node(const Ort::ConstNode& node);
// Whether this provider is the one that the node is for.
[[nodiscard]] bool is_ours(const Ort::ConstNode& node);
// Requires: is_ours(). Errors: malformed (an attribute of another type, or none of the allowed values).
[[nodiscard]] Result<ContextNode> read_context_node(const Ort::ConstNode& node);

// The node that takes the place of `fused`, with its name, inputs and outputs. Errors: limit_exceeded (an embedded
// container above 2 GiB, which neither the interface nor protobuf can hold).
[[nodiscard]] Result<Ort::Node> make_context_node(const Ort::ConstNode& fused, const ContextNode& node);

}  // namespace fatctx::ort
