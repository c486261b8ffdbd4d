// IREE's command-line compilers as steps with cached results: import a model once, compile it for each target.
#pragma once

#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/compile/compile_cache.h"
#include "tools/compile/targets_file.h"
#include "tools/onnx/onnx_import.h"

namespace fatctx::tools {

// The scope under which IREE looks for the parameters; stored as option "iree.parameter_scope" of the weight blob.
inline constexpr std::string_view kParameterScope = "model";

struct IreeTools {
  std::string import_onnx;  // absolute paths
  std::string compile;
  std::string version;  // "3.13.0"
};

// `folder` empty: the folders of PATH.
// Errors: backend_library_missing with what to install; io and others if the tool does not run.
[[nodiscard]] Result<IreeTools> find_iree(const std::string& folder);

struct StepResult {
  std::string folder;  // where the files of the step lie; belongs to the cache
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

  // The model as MLIR, its weights as a parameter archive of their own. A model without weights of note has no
  // archive: then the file is not there.
  [[nodiscard]] Result<StepResult> import_model(const std::string& path, const OnnxModel& model,
                                                const std::vector<std::string>& options, std::string& log) const;
  // Threads: from any number of threads.
  [[nodiscard]] Result<StepResult> compile(const StepResult& imported, const CompileTarget& target,
                                           std::string& log) const;

 private:
  IreeTools tools_;
  const CompileCache& cache_;
};

// Whether the bytes at `path` begin as an IREE module does. Errors: malformed, not_found.
[[nodiscard]] Status check_module(const std::string& path);

}  // namespace fatctx::tools
