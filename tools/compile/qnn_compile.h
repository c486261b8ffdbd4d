// Compiles for Snapdragon's HTP with the vendor's compiler, driven through ONNX Runtime's QNN provider in a
// Python that has it. It is never needed to build, and nothing of it is linked or loaded here.
//
// Each SoC is compiled separately, so a failure for one does not stop the others, and the container shares
// equal bytes. compile_dlc() compiles all of them in one pass, as the vendor's generator does.
// docs/decisions/0017 has the reasons.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/compile/compile_cache.h"
#include "tools/compile/compile_driver.h"
#include "tools/compile/compile_run.h"
#include "tools/facts/htp_config.h"

namespace fatctx::tools {

struct QnnTools {
  std::string python;   // absolute path
  std::string version;  // "2.7.0", of onnxruntime-qnn
  std::string runtime;  // "1.31.1", of onnxruntime
};

// Finds a Python with the packages: `python`, or if it is empty FATCTX_QNN_PYTHON of the environment, else
// python3 as find_in_environment() finds it.
// Errors: backend_library_missing with what to install.
[[nodiscard]] Result<QnnTools> find_qnn(const std::string& python);

struct QnnRequest {
  HtpConfig config;
  std::string backend_path;  // of the vendor's HTP library; empty: the package's
  int log_severity = 2;      // of ONNX Runtime: 0 (everything) to 4
  bool allow_cpu = false;    // operators that the NPU does not take may stay on the CPU
};

// Returns one line for each setting of the files that has no effect, because the QNN provider has no option
// for it.
[[nodiscard]] std::vector<std::string> settings_without_effect(const HtpConfig& config, SharingForm form);

// Checks that the provider takes the values of all settings that it has options for.
// Errors: invalid_argument.
[[nodiscard]] Status check_settings(const HtpConfig& config);

// Returns `config` without the settings that have no effect. This is what gets compiled.
[[nodiscard]] HtpConfig with_effect(HtpConfig config);

// Checks that all targets can be compiled in one pass. Errors: invalid_argument (settings that differ).
[[nodiscard]] Status check_one_pass(const HtpConfig& config);

class QnnCompile : public CompileDriver {
 public:
  // Lifetime: borrows `cache`. Requires: input.onnx is not null, request.config has targets.
  QnnCompile(QnnTools tools, const CompileCache& cache, CompileInput input, QnnRequest request)
      : tools_(std::move(tools)), cache_(&cache), input_(std::move(input)), request_(std::move(request)) {}

  [[nodiscard]] std::string name() const override { return "onnxruntime-qnn " + tools_.version; }
  [[nodiscard]] std::size_t target_count() const noexcept override { return request_.config.targets.size(); }
  [[nodiscard]] std::string label(std::size_t target) const override {
    return target_name(request_.config.targets[target]);
  }
  [[nodiscard]] std::string unit(std::size_t /*target*/) const override { return input_.unit; }
  [[nodiscard]] Status begin(std::string& log) override;
  [[nodiscard]] Result<CompiledTarget> compile(std::size_t target, std::string& log) const override;
  [[nodiscard]] Result<std::vector<ManifestRecord>> shared_records() const override;

  struct Together {
    std::string file;                     // a multi-SoC DLC, in the cache
    std::vector<TargetOutcome> outcomes;  // by target, from the archive's own metadata
    std::optional<Error> error;           // of the whole pass; then no target has an outcome
    std::vector<std::string> findings;    // things that the compiler did silently
    std::string log;
  };
  // Compiles all targets in one pass, with the weights of the first as the reference. A model with operators for the
  // CPU fails, because a DLC holds the NPU's parts only. Requires: at least two targets, begin() is done. Errors: io
  // and others of the cache and of starting a program; errors of the compiler are in the outcomes.
  [[nodiscard]] Result<Together> compile_dlc() const;

 private:
  struct Step {
    std::string folder;
    bool cached = false;
    double seconds = 0;
  };
  using Targets = std::vector<const HtpTarget*>;
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> options_for(const Targets& targets) const;
  // Runs the compiler for these targets, unless the cache has the result. `check` inspects the folder before
  // it is cached.
  template <typename Check>
  [[nodiscard]] Result<Step> run(const Targets& targets, std::string& log, const Check& check) const;
  [[nodiscard]] Result<std::vector<ManifestRecord>> read_back(const HtpTarget& target, const std::string& folder) const;

  QnnTools tools_;
  const CompileCache* cache_;
  CompileInput input_;
  QnnRequest request_;
  std::vector<HashedFile> files_;  // the model, the files with its weights, and the backend
};

}  // namespace fatctx::tools
