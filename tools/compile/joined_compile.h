// Several compilers as one: all their targets go into one container.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tools/compile/compile_driver.h"

namespace fatctx::tools {

class JoinedCompile : public CompileDriver {
 public:
  // Requires: at least one driver, none null.
  explicit JoinedCompile(std::vector<std::unique_ptr<CompileDriver>> drivers) : drivers_(std::move(drivers)) {}

  [[nodiscard]] std::string name() const override;  // each compiler once: "iree-compile 3.13.0, onnxruntime-qnn 2.7.0"
  [[nodiscard]] std::size_t target_count() const noexcept override;
  [[nodiscard]] std::string label(std::size_t target) const override;
  [[nodiscard]] std::string unit(std::size_t target) const override;
  [[nodiscard]] bool explains_its_log(std::size_t target) const override;
  [[nodiscard]] Status begin(std::string& log) override;
  [[nodiscard]] Result<CompiledTarget> compile(std::size_t target, std::string& log) const override;
  [[nodiscard]] Result<std::vector<ManifestRecord>> shared_records() const override;

 private:
  struct Place {
    const CompileDriver& driver;
    std::size_t target;  // its number in this driver
  };
  [[nodiscard]] Place place(std::size_t target) const;

  std::vector<std::unique_ptr<CompileDriver>> drivers_;
};

}  // namespace fatctx::tools
