// Drives IREE as the compiler of `fatctx compile`. The model is imported once, so that every target's code
// refers to the same weights.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/compile/compile_cache.h"
#include "tools/compile/compile_driver.h"
#include "tools/compile/iree_driver.h"
#include "tools/compile/targets_file.h"

namespace fatctx::tools {

class IreeCompile : public CompileDriver {
 public:
  // Lifetime: borrows `cache`. Requires: input.onnx is not null.
  IreeCompile(IreeTools tools, const CompileCache& cache, CompileInput input, TargetsFile wanted)
      : driver_(std::move(tools), cache), input_(std::move(input)), wanted_(std::move(wanted)) {}

  [[nodiscard]] std::string name() const override { return "iree-compile " + driver_.tools().version; }
  [[nodiscard]] std::size_t target_count() const noexcept override { return wanted_.targets.size(); }
  [[nodiscard]] std::string label(std::size_t target) const override { return target_label(wanted_.targets[target]); }

  [[nodiscard]] Status begin(std::string& log) override;
  [[nodiscard]] Result<CompiledTarget> compile(std::size_t target, std::string& log) const override;
  [[nodiscard]] Result<std::vector<ManifestRecord>> shared_records() const override;

 private:
  [[nodiscard]] std::string weights_name() const { return input_.name + ".weights"; }

  IreeDriver driver_;
  CompileInput input_;
  TargetsFile wanted_;
  StepResult imported_;
  bool has_weights_ = false;
};

}  // namespace fatctx::tools
