// What all compilers look like from `fatctx compile`: one input for all targets, and one result for each target, which
// succeeds or fails by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/onnx/onnx_import.h"
#include "tools/pack/manifest.h"

namespace fatctx::tools {

// The model that is compiled. Lifetime: `onnx` belongs to the caller and outlives the driver.
struct CompileInput {
  std::string path;
  std::string name;                 // what records are named after, and their group
  const OnnxModel* onnx = nullptr;  // null: a model of another form
};

// What one target came to. Files lie in the cache and live as long as it.
struct CompiledTarget {
  std::vector<ManifestRecord> records;  // read back from what the compiler wrote, and checked
  std::vector<std::string> notes;       // what the compiler did without a word
  std::uint64_t size_bytes = 0;
  bool cached = false;
  double seconds = 0;
};

// Usage: begin(), then compile() for each target, then shared_records().
class CompileDriver {
 public:
  virtual ~CompileDriver() = default;

  [[nodiscard]] virtual std::string name() const = 0;  // "iree-compile 3.13.0": in logs and errors
  [[nodiscard]] virtual std::size_t target_count() const noexcept = 0;
  [[nodiscard]] virtual std::string label(std::size_t target) const = 0;  // for people; no two alike

  // What is done once for all targets. `log` gets what tools say.
  // Errors: serialise_failed, if a tool failed; others if it could not be started.
  [[nodiscard]] virtual Status begin(std::string& log) = 0;
  // Threads: from any number of threads at once.
  // Errors: serialise_failed (the compiler failed, or wrote something else than was asked for), others as above.
  [[nodiscard]] virtual Result<CompiledTarget> compile(std::size_t target, std::string& log) const = 0;
  // Records that belong to no target: weights that all of them use.
  [[nodiscard]] virtual Result<std::vector<ManifestRecord>> shared_records() const = 0;
};

}  // namespace fatctx::tools
