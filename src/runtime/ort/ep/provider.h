// The execution provider of one session. It claims our EPContext nodes, or a whole graph that will be compiled.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/ort/ep/generate.h"
#include "runtime/ort/ep/options.h"
#include "runtime/ort/ep/run_wishes.h"
#include "runtime/ort/ep/status.h"

namespace fatctx::ort {

class Provider : public OrtEp {
 public:
  // `logger` belongs to the session. `at_end` is a logger that outlives the session; if null, messages of the
  // destructor are dropped.
  Provider(const OrtSessionOptions& options, const OrtLogger& logger, const OrtLogger* at_end);
  ~Provider();
  Provider(const Provider&) = delete;
  Provider& operator=(const Provider&) = delete;

 private:
  static const char* ORT_API_CALL name(const OrtEp* ep) noexcept;
  static OrtStatus* ORT_API_CALL capability(OrtEp* ep, const OrtGraph* graph, OrtEpGraphSupportInfo* info) noexcept;
  static OrtStatus* ORT_API_CALL compile(OrtEp* ep, const OrtGraph** graphs, const OrtNode** nodes, std::size_t count,
                                         OrtNodeComputeInfo** computes, OrtNode** context_nodes) noexcept;
  static void ORT_API_CALL release(OrtEp* ep, OrtNodeComputeInfo** computes, std::size_t count) noexcept;
  static const char* ORT_API_CALL compatibility(OrtEp* ep, const OrtGraph* graph) noexcept;

  static OrtStatus* ORT_API_CALL run_begins(OrtEp* ep, const OrtRunOptions* options) noexcept;
  static OrtStatus* ORT_API_CALL run_ends(OrtEp* ep, const OrtRunOptions* options, bool synchronise) noexcept;

  struct Work;
  [[nodiscard]] Status claim_whole(std::vector<Ort::ConstNode> nodes, OrtEpGraphSupportInfo* info);
  [[nodiscard]] Status compile_all(const Work& work);
  [[nodiscard]] Status load(const Work& work);
  [[nodiscard]] Status generate(const Work& work);
  [[nodiscard]] Status take_generated(const Work& work, Generated& generated);
  // Takes back what the compilation wrote. Requires: unsettled_. `to_memory`: as in take_back_unless_written().
  void take_back(bool to_memory, const std::optional<Ort::Logger>& logger) noexcept;

  Result<Options> options_;
  Ort::Logger logger_;
  std::optional<Ort::Logger> at_end_;  // ONNX Runtime releases the logger of a session before its providers
  // ONNX Runtime counts the owners of the environment; a session has one already, so this is the same one.
  Ort::Env env_;
  std::string compatibility_;
  std::shared_ptr<RunWishes> wishes_ = std::make_shared<RunWishes>();  // shared with the compiled graphs
  // The files that a compilation has written, until the session is known to have succeeded.
  struct Unsettled {
    Written written;
    ModelFile model;
    std::string digest;
  };
  std::optional<Unsettled> unsettled_;
  std::shared_ptr<std::atomic<bool>> has_state_;  // of the compiled graph
  std::string left_out_;                          // why the model is not claimed as a whole
  std::string graph_name_;  // as in the model; in compile() graphs have other names, made from the model's path
};

}  // namespace fatctx::ort
