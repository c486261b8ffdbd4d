// Runs IREE's command-line compilers as steps with cached results: imports a model once, compiles it for each
// target.
#pragma once

#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/compile/compile_cache.h"
#include "tools/compile/compile_driver.h"
#include "tools/compile/targets_file.h"

namespace fatctx::tools {

// The scope in which IREE looks for the parameters; stored as option "iree.parameter_scope" of the weight
// blob.
inline constexpr std::string_view kParameterScope = "model";

struct IreeTools {
  std::string import_onnx;  // absolute paths
  std::string compile;
  std::string version;  // "3.13.0"
};

// Finds the tools in `folder`; if it is empty, as find_in_environment() does.
// Errors: backend_library_missing with what to install; io and others if the tool does not run.
[[nodiscard]] Result<IreeTools> find_iree(const std::string& folder);

struct StepResult {
  std::string folder;  // holds the files of the step; belongs to the cache
  bool cached = false;
  double seconds = 0;
};

inline constexpr const char* kMlirFile = "model.mlir";
inline constexpr const char* kParameterFile = "model_params.irpa";
inline constexpr const char* kModuleFile = "module.vmfb";

class IreeDriver {
 public:
  // Lifetime: borrows the cache.
  IreeDriver(IreeTools tools, const CompileCache& cache) : tools_(std::move(tools)), cache_(cache) {}
  [[nodiscard]] const IreeTools& tools() const noexcept { return tools_; }

  // Imports the model as MLIR, its weights as a separate parameter archive. Weights in Constant nodes are called as
  // the graph calls them. A model without large weights has no archive; then that file does not exist.
  // Requires: input.onnx is not null.
  [[nodiscard]] Result<StepResult> import_model(const CompileInput& input, const std::vector<std::string>& options,
                                                std::string& log) const;
  // Compiles an imported model for one target. Threads: from any number of threads.
  [[nodiscard]] Result<StepResult> compile(const StepResult& imported, const CompileTarget& target,
                                           std::string& log) const;

 private:
  IreeTools tools_;
  const CompileCache& cache_;
};

// Checks that the file at `path` begins like an IREE module. Errors: malformed, not_found.
[[nodiscard]] Status check_module(const std::string& path);

}  // namespace fatctx::tools
