// Creates, without our execution provider, the session that the provider creates inside: an ordinary session
// over the graph and the weights of a mapped container. Its cost is the least that one more session of ours
// can cost.
#pragma once

#include <onnxruntime_cxx_api.h>

#include <string>
#include <vector>

#include "fatctx/container.h"

namespace fatctx::tools {

class InnerSessions {
 public:
  // Opens the container with one graph that the bench has compiled. Throws std::runtime_error.
  explicit InnerSessions(const std::string& container);

  // Creates a session that borrows from this object. Throws Ort::Exception.
  [[nodiscard]] Ort::Session session(const Ort::Env& env) const;

 private:
  struct Weights {
    std::string location;  // the name in the graph
    RecordView bytes;
  };
  Container container_;
  RecordView graph_;
  std::vector<Weights> weights_;
};

}  // namespace fatctx::tools
