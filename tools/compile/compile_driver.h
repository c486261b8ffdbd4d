// The interface of all compilers to `fatctx compile`: one input for all targets, and one result for each
// target, which succeeds or fails by itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/onnx/onnx_import.h"
#include "tools/pack/manifest.h"

namespace fatctx::tools {

// A model to compile. Lifetime: `onnx` belongs to the caller and outlives the driver.
struct CompileInput {
  std::string path;
  std::string name;                 // the prefix of the records' names
  std::string group = name;         // the group of the records
  std::string unit = {};            // the unit of the records; empty unless there are several sets of shapes
  std::string beside = path;        // the model whose folder has the external data: differs if `path` was made from it
  const OnnxModel* onnx = nullptr;  // null: a model of another form

  // Returns the paths of the model itself and of its external files. Requires: onnx is not null.
  [[nodiscard]] std::vector<std::string> files() const;
  // Copies all of them into `folder`, the model as `model_name`: ONNX Runtime refuses links that lead out of a folder,
  // and a copy protects the originals. Requires: onnx is not null. Errors: io.
  [[nodiscard]] Status copy_to(const std::string& folder, const std::string& model_name) const;
};

// A result for one target. Its files are in the cache and live as long as it.
struct CompiledTarget {
  std::vector<ManifestRecord> records;  // read back from the compiler's output, and checked
  std::vector<std::string> notes;       // things that the compiler did silently
  std::string check;                    // the result of running it once, or why it was not run; empty: nothing to say
  std::uint64_t size_bytes = 0;
  bool cached = false;
  double seconds = 0;
};

// Returns the name of a target and of its unit, for people: "SM8650 1x3x320x320".
[[nodiscard]] inline std::string target_title(const std::string& label, const std::string& unit) {
  return unit.empty() ? label : label + " " + unit;
}

// A compiler. Usage: begin(), then compile() for each target, then shared_records().
class CompileDriver {
 public:
  virtual ~CompileDriver() = default;

  [[nodiscard]] virtual std::string name() const = 0;  // "iree-compile 3.13.0": in logs and errors
  [[nodiscard]] virtual std::size_t target_count() const noexcept = 0;
  // Returns the name of a target for people, and the unit that is compiled for it. No two targets have both in common.
  [[nodiscard]] virtual std::string label(std::size_t target) const = 0;
  [[nodiscard]] virtual std::string unit(std::size_t target) const = 0;
  // Returns true if the error of this target says what its log says, so that people need the log only in a file.
  [[nodiscard]] virtual bool explains_its_log(std::size_t /*target*/) const { return false; }

  // Does the work that all targets share. `log` gets the output of the tools.
  // Errors: serialise_failed, if a tool failed; others if it could not be started.
  [[nodiscard]] virtual Status begin(std::string& log) = 0;
  // Compiles for one target. Threads: from any number of threads at once.
  // Errors: serialise_failed (the compiler failed, or its output does not match the request), others as above.
  [[nodiscard]] virtual Result<CompiledTarget> compile(std::size_t target, std::string& log) const = 0;
  // Returns the records that belong to no target: weights that all of them use.
  [[nodiscard]] virtual Result<std::vector<ManifestRecord>> shared_records() const = 0;
};

}  // namespace fatctx::tools
