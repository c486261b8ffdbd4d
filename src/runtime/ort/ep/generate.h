// The compile side: a graph that ONNX Runtime hands over becomes records of a container, and an EPContext node.
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

// What is compiled.
struct GraphToCompile {
  Ort::ConstGraph graph;
  Ort::ConstNode fused;  // stands for it in the model
  std::string name;      // of the graph in the model
};

// The context model that ONNX Runtime is going to write, if it writes to a file.
struct ModelFile {
  std::string path;
  std::optional<mapping::FileIdentity> before;  // what was there
};

struct Generated {
  Container container;
  ContextNode node;                // that takes the place of the graph
  std::optional<Written> written;  // empty: the container is in the node
  ModelFile model;
  std::vector<std::string> warnings;
};

// Optimises the graph, packs it and its weights, and opens the container. With ep.share_ep_contexts=1 the graphs of
// several sessions come into one container, up to the one with ep.stop_share_ep_contexts=1; weights that are equal are
// stored once. Either everything is written or nothing; whoever goes on calls take_back_unless_written() in the end.
// Errors: exists (the container is there, and this is not the Compile API), invalid_argument (no place to write to),
//         unsupported (inputs or outputs that are no tensors, attributes that have no form in ONNX), those of
//         Packer::publish and Appender::commit; malformed with what ONNX Runtime says against the graph.
[[nodiscard]] Result<Generated> generate_context(const GraphToCompile& graph, const Options& options,
                                                 const Ort::Env& env);

// Takes back what a compilation wrote into a container, unless ONNX Runtime has written the context model, which it
// does not tell. `digest`: that the model states; empty: there is no model to come. `to_memory`: it may have written to
// memory; then a file that nobody touched is no sign of failure. Errors: those of Written::take_back.
[[nodiscard]] Status take_back_unless_written(const Written& written, const ModelFile& model, const std::string& digest,
                                              bool to_memory);

}  // namespace fatctx::ort
