// Snapdragon's HTP as a target of `fatctx compile`: the vendor's compiler, driven through ONNX Runtime's QNN provider
// in a Python that has it. It is never needed to build, and nothing of it is linked or loaded here.
//
// Each SoC is compiled by itself, so that one that fails stops no other, and the container shares what is equal;
// compile_dlc() compiles all of them in one pass, as the vendor's generator does. docs/decisions/0017 has the reasons.
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

// `python` empty: FATCTX_QNN_PYTHON of the environment, else python3 in PATH.
// Errors: backend_library_missing with what to install.
[[nodiscard]] Result<QnnTools> find_qnn(const std::string& python);

struct QnnRequest {
  HtpConfig config;
  std::string backend_path;  // of the vendor's HTP library; empty: that of the package
  int log_severity = 2;      // of ONNX Runtime: 0 (everything) to 4
};

// What the compiler of the QNN provider cannot be told: a line for each setting of the files that stays without effect.
[[nodiscard]] std::vector<std::string> settings_without_effect(const HtpConfig& config, SharingForm form);

// Whether the provider takes the values of the settings that it has options for. Errors: invalid_argument.
[[nodiscard]] Status check_settings(const HtpConfig& config);

// The same without them: what is compiled.
[[nodiscard]] HtpConfig with_effect(HtpConfig config);

// Whether all targets can be compiled in one pass. Errors: invalid_argument (settings that differ).
[[nodiscard]] Status check_one_pass(const HtpConfig& config);

class QnnCompile : public CompileDriver {
 public:
  // Lifetime: borrows `cache`. Requires: input.onnx is there, request.config has targets.
  QnnCompile(QnnTools tools, const CompileCache& cache, CompileInput input, QnnRequest request)
      : tools_(std::move(tools)), cache_(&cache), input_(std::move(input)), request_(std::move(request)) {}

  [[nodiscard]] std::string name() const override { return "onnxruntime-qnn " + tools_.version; }
  [[nodiscard]] std::size_t target_count() const noexcept override { return request_.config.targets.size(); }
  [[nodiscard]] std::string label(std::size_t target) const override {
    return target_name(request_.config.targets[target]);
  }
  [[nodiscard]] Status begin(std::string& log) override;
  [[nodiscard]] Result<CompiledTarget> compile(std::size_t target, std::string& log) const override;
  [[nodiscard]] Result<std::vector<ManifestRecord>> shared_records() const override;

  struct Together {
    std::string file;                     // a multi-SoC DLC, in the cache
    std::vector<TargetOutcome> outcomes;  // by target: what the archive's own metadata says it is
    std::optional<Error> error;           // of the pass as a whole, which then says nothing of any target
    std::vector<std::string> findings;    // what the compiler did without a word
    std::string log;
  };
  // All targets in one pass of the compiler, with the weights of the first as the reference.
  // Requires: at least two targets, begin() is done. Errors: io and others of the cache and of starting a program; what
  // the compiler does wrong stands in the outcomes.
  [[nodiscard]] Result<Together> compile_dlc() const;

 private:
  struct Step {
    std::string folder;
    bool cached = false;
    double seconds = 0;
  };
  using Targets = std::vector<const HtpTarget*>;
  [[nodiscard]] std::vector<std::pair<std::string, std::string>> options_for(const Targets& targets) const;
  // Runs the compiler for these, unless the cache has it. `check` sees the folder before it is kept.
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
