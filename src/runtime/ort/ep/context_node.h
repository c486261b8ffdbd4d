// An EPContext node as an execution provider reads and writes it. docs/onnxruntime.md, "The node", lists the
// attributes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "runtime/ort/graph/api.h"

namespace fatctx::ort {

inline constexpr std::string_view kContextOperator = "EPContext";
inline constexpr const char* kCacheAttribute = "ep_cache_context";
inline constexpr const char* kDigestAttribute = "fatctx_digest";

struct ContextNode {
  std::string name;  // for errors
  bool main_context = true;
  bool embedded = true;   // `cache` is the container itself
  std::string cache;      // if not embedded: its file, relative to the model; empty where a main node names it
  std::string partition;  // the unit of the record; empty: the only one
  std::string group;      // our own attribute, "fatctx_group"; empty: the only one
  // Our own attribute, "fatctx_digest": the digest of the graph and its weights for which the model was written. Empty:
  // not stated.
  std::string digest;
};

[[nodiscard]] bool is_context_node(const Ort::ConstNode& node);
// Returns true if the node is meant for this provider.
[[nodiscard]] bool is_ours(const Ort::ConstNode& node);
// Reads the attributes. Requires: is_ours(). Errors: malformed (an attribute has another type, or a value that is not
// allowed).
[[nodiscard]] Result<ContextNode> read_context_node(const Ort::ConstNode& node);

// Makes the node that replaces `fused`, with its name, inputs and outputs. Errors: limit_exceeded (an embedded
// container above 2 GiB, which neither the interface nor protobuf supports).
[[nodiscard]] Result<Ort::Node> make_context_node(const Ort::ConstNode& fused, const ContextNode& node);

}  // namespace fatctx::ort
