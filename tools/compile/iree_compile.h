// Drives IREE as the compiler of `fatctx compile`. Each model is imported once, so that every target's code refers to
// the same weights.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tools/compile/compile_cache.h"
#include "tools/compile/compile_driver.h"
#include "tools/compile/iree_check.h"
#include "tools/compile/iree_driver.h"
#include "tools/compile/targets_file.h"

namespace fatctx::tools {

class IreeCompile : public CompileDriver {
 public:
  // Compiles each input for each target. Lifetime: borrows `cache`, also for `check`.
  // Requires: at least one input; each has `onnx`, and a name and a unit of its own.
  IreeCompile(IreeTools tools, const CompileCache& cache, std::vector<CompileInput> inputs, TargetsFile wanted,
              IreeCheck check)
      : driver_(std::move(tools), cache),
        inputs_(std::move(inputs)),
        wanted_(std::move(wanted)),
        check_(std::move(check)) {}

  [[nodiscard]] std::string name() const override { return "iree-compile " + driver_.tools().version; }
  [[nodiscard]] std::size_t target_count() const noexcept override { return inputs_.size() * wanted_.targets.size(); }
  [[nodiscard]] std::string label(std::size_t target) const override { return target_label(target_at(target)); }
  [[nodiscard]] std::string unit(std::size_t target) const override { return inputs_[input_at(target)].unit; }
  [[nodiscard]] bool explains_its_log(std::size_t /*target*/) const override { return true; }

  [[nodiscard]] Status begin(std::string& log) override;
  [[nodiscard]] Result<CompiledTarget> compile(std::size_t target, std::string& log) const override;
  [[nodiscard]] Result<std::vector<ManifestRecord>> shared_records() const override;

 private:
  // The result of importing an input. Inputs that differ in shapes alone have the same weights, which are stored once.
  struct Imported {
    StepResult step;
    std::string weights_file;  // empty: the model has no weights of note
    std::string weights_name;  // the name of the record that holds them
  };

  [[nodiscard]] std::size_t input_at(std::size_t target) const { return target / wanted_.targets.size(); }
  [[nodiscard]] const CompileTarget& target_at(std::size_t target) const {
    return wanted_.targets[target % wanted_.targets.size()];
  }
  [[nodiscard]] Result<Imported> import(const CompileInput& input, std::string& log) const;
  [[nodiscard]] Status name_weights();

  IreeDriver driver_;
  std::vector<CompileInput> inputs_;
  TargetsFile wanted_;
  IreeCheck check_;
  std::vector<Imported> imported_;  // by input
};

}  // namespace fatctx::tools
