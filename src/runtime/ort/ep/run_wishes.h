// Keeps what applications ask for in the options of a run (OrtRunOptions). ONNX Runtime calls a provider when a run
// starts and ends, but does not say which run a node belongs to. So a wish counts while any run that made it is active.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "runtime/ort/graph/api.h"

namespace fatctx::ort {

// Threads: all of it, from any number of threads.
class RunWishes {
 public:
  // Takes the wishes of a run. Returns the entries that are for another provider and were not seen before, as text;
  // empty if there are none.
  [[nodiscard]] std::string begin(const OrtRunOptions& options);
  void end(const OrtRunOptions& options) noexcept;

  // Returns true while a run asks for its activations to be freed when it ends.
  [[nodiscard]] bool frees_memory() const noexcept { return freeing_ > 0; }

 private:
  static constexpr std::size_t kForeign = 5;
  std::atomic<std::int64_t> freeing_ = 0;
  std::array<std::atomic<bool>, kForeign> seen_ = {};
};

// Returns the options for a run of an inner session that has an arena. They free its memory when the run ends.
[[nodiscard]] Ort::RunOptions run_that_frees_memory();

}  // namespace fatctx::ort
