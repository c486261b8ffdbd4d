// The compile side: turns a graph of ONNX Runtime into records of a container and an EPContext node.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "fatctx/container.h"
#include "mapping/file_identity.h"
#include "runtime/ort/ep/context_node.h"
#include "runtime/ort/ep/options.h"
#include "runtime/ort/ep/written.h"

namespace fatctx::ort {

// A graph to compile.
struct GraphToCompile {
  Ort::ConstGraph graph;
  Ort::ConstNode fused;  // represents it in the model
  std::string name;      // of the graph in the model
};

// The context model that ONNX Runtime will write, if it writes to a file.
struct ModelFile {
  std::string path;
  std::optional<mapping::FileIdentity> before;  // the file at this path before the compilation
};

struct Generated {
  Container container;
  ContextNode node;                // replaces the graph
  std::optional<Written> written;  // empty: the node contains the container
  ModelFile model;
  std::vector<std::string> warnings;
};

// Optimises the graph, packs it with its weights, and opens the container. With ep.share_ep_contexts=1, the graphs of
// several sessions are written to one container, up to the session with ep.stop_share_ep_contexts=1; equal weights are
// stored once. Writes everything or nothing. The caller must finally call take_back_unless_written().
// Errors: exists (the container exists, and this is not the Compile API), invalid_argument (no place to write to),
// unsupported (inputs or outputs that are not tensors, attributes that ONNX cannot express), those of Packer::publish
// and Appender::commit, malformed with the message of ONNX Runtime about the graph.
[[nodiscard]] Result<Generated> generate_context(const GraphToCompile& graph, const Options& options,
                                                 const Ort::Env& env);

// Takes back what a compilation wrote into a container, unless ONNX Runtime has written the context model. ONNX Runtime
// does not report that. `digest` is the one in the model; empty: no model will be written. `to_memory`: the model may
// be written to memory, so an untouched file is not a sign of failure.
// Errors: those of Written::take_back.
[[nodiscard]] Status take_back_unless_written(const Written& written, const ModelFile& model, const std::string& digest,
                                              bool to_memory);

}  // namespace fatctx::ort
