// Compiles for all targets in parallel, reports each as it ends, and returns their outcomes.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "fatctx/base/error.h"
#include "tools/compile/compile_driver.h"

namespace fatctx::tools {

struct TargetOutcome {
  std::string label;
  std::string unit = {};
  std::optional<CompiledTarget> result;  // empty: failed
  std::optional<Error> error;
  std::string log;
  bool explains_its_log = false;

  // Returns the name of the target and of its unit, for people.
  [[nodiscard]] std::string title() const { return target_title(label, unit); }
};

// Returns the outcomes in the order of the targets. Prints a line for each on stderr. Once `stop` is set, no
// further target starts; the remaining ones are `cancelled`. Requires: begin() of the driver is done, jobs >=
// 1.
[[nodiscard]] std::vector<TargetOutcome> compile_targets(const CompileDriver& driver, unsigned jobs,
                                                         const std::atomic<bool>& stop);

[[nodiscard]] std::size_t failed_count(const std::vector<TargetOutcome>& outcomes);
[[nodiscard]] Json outcomes_json(const std::vector<TargetOutcome>& outcomes);

// Prints "TITLE:" and the first lines of a tool's output on stderr; nothing if the output is empty.
void print_log(std::string_view title, const std::string& log);

}  // namespace fatctx::tools
