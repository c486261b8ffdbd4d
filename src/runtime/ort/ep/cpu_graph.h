// A graph of the backend ort-cpu: an inner session whose initializers are read from the mapped container.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/ort/ep/chosen_graph.h"
#include "runtime/ort/ep/options.h"
#include "runtime/ort/ep/shared_weights.h"

namespace fatctx::ort {

// A message for the log about the layout of convolutions.
struct LayoutNote {
  bool failed = false;
  std::string text;
};

// A graph that an inner session executes. Threads: run() from any number of threads.
class CpuGraph {
 public:
  // Creates the inner session. `node` is the EPContext node; its inputs and outputs are those of the graph, in the same
  // order. `fused` represents it in the outer session: ONNX Runtime gives it the same names in another order, without
  // those that are not used.
  // Errors: malformed (inputs or outputs differ from those of the node; errors of ONNX Runtime about the graph).
  [[nodiscard]] static Result<std::unique_ptr<CpuGraph>> create(const Ort::Env& env, ChosenGraph graph,
                                                                const ProviderOptions& options,
                                                                const Ort::ConstNode& node,
                                                                const Ort::ConstNode& fused);
  // Waits until all that the graph reads is checked. Errors: those of Container::await_checks.
  [[nodiscard]] Status await_checks() const { return graph_.await_checks(); }
  // Runs the graph. `frees_memory`: memory other than the outputs is freed when the run ends. Throws
  // Ort::Exception, with the record's name and the code of ONNX Runtime.
  void run(OrtKernelContext* kernel, bool frees_memory) const;
  // Returns nothing if the graph runs in its portable form on purpose.
  [[nodiscard]] std::optional<LayoutNote> layout_note() const;

 private:
  struct Port {
    std::string name;
    std::vector<std::int64_t> shape;         // -1 for a dimension that is not fixed
    bool fixed = false;                      // the shape is known before the run
    std::optional<std::size_t> kernel = {};  // its index at the fused node; nothing: not used
  };
  explicit CpuGraph(ChosenGraph graph) : graph_(std::move(graph)) {}
  [[nodiscard]] Status check_ports(const Ort::ConstNode& node, const Ort::ConstNode& fused);
  void run_session(OrtKernelContext* kernel, bool frees_memory) const;

  ChosenGraph graph_;                                    // outlives the session, which points into its views
  std::shared_ptr<const SharedWeights> shared_weights_;  // outlives the session, too
  bool made_weights_ = false;                            // this session has made what others share
  Ort::Session session_{nullptr};
  bool has_arena_ = false;  // the session's; a run of a session without an arena frees its memory
  std::vector<Port> inputs_;
  std::vector<Port> outputs_;
  std::vector<const char*> input_names_;  // pointers to the names above, for ONNX Runtime
  std::vector<const char*> output_names_;
};

}  // namespace fatctx::ort
