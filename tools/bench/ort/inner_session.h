// What our execution provider makes inside of itself, made without it: an ordinary session over the graph and the
// weights of a mapped container. What one costs is what no further session of ours can be cheaper than.
#pragma once

#include <onnxruntime_cxx_api.h>

#include <string>
#include <vector>

#include "fatctx/container.h"

namespace fatctx::tools {

class InnerSessions {
 public:
  // Of the container with one graph that the bench has compiled. Throws std::runtime_error.
  explicit InnerSessions(const std::string& container);

  // Borrows from this object. Throws Ort::Exception.
  [[nodiscard]] Ort::Session session(const Ort::Env& env) const;

 private:
  struct Weights {
    std::string location;  // what the graph calls it
    RecordView bytes;
  };
  Container container_;
  RecordView graph_;
  std::vector<Weights> weights_;
};

}  // namespace fatctx::tools
