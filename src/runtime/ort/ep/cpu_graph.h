// A graph of the backend ort-cpu: an inner session whose initializers lie in the mapped container.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/ort/ep/chosen_graph.h"
#include "runtime/ort/ep/options.h"
#include "runtime/ort/ep/shared_weights.h"

namespace fatctx::ort {

// Threads: run() from any number of threads.
class CpuGraph {
 public:
  // `node` is the EPContext node; its inputs and outputs are those of the graph, in the same order. `fused` stands for
  // it in the session: ONNX Runtime gives it the same names in an order of its own, without what nobody uses.
  // Errors: malformed (other inputs or outputs than the node's; what ONNX Runtime says against the graph).
  [[nodiscard]] static Result<std::unique_ptr<CpuGraph>> create(const Ort::Env& env, ChosenGraph graph,
                                                                const ProviderOptions& options,
                                                                const Ort::ConstNode& node,
                                                                const Ort::ConstNode& fused);
  // Throws Ort::Exception, with the record's name and the code of ONNX Runtime.
  void run(OrtKernelContext* kernel) const;

 private:
  struct Port {
    std::string name;
    std::vector<std::int64_t> shape;         // -1 for what is not fixed
    bool fixed = false;                      // the shape is known beforehand
    std::optional<std::size_t> kernel = {};  // its number at the fused node; nothing: nobody uses it
  };
  explicit CpuGraph(ChosenGraph graph) : graph_(std::move(graph)) {}
  [[nodiscard]] Status check_ports(const Ort::ConstNode& node, const Ort::ConstNode& fused);
  void run_session(OrtKernelContext* kernel) const;

  ChosenGraph graph_;                                    // outlives the session, which points into its views
  std::shared_ptr<const SharedWeights> shared_weights_;  // so does this
  Ort::Session session_{nullptr};
  std::vector<Port> inputs_;
  std::vector<Port> outputs_;
  std::vector<const char*> input_names_;  // of the above, as ONNX Runtime wants them
  std::vector<const char*> output_names_;
};

}  // namespace fatctx::ort
