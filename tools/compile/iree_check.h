// Runs what IREE compiled once, with a generated input, and compares with ONNX Runtime: a compiler may write an empty
// program and report success.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/compile/compile_cache.h"
#include "tools/compile/compile_driver.h"
#include "tools/compile/iree_driver.h"

namespace fatctx::tools {

// A copy of iree_check.py, the Python program that runs and compares.
[[nodiscard]] std::string_view iree_check_script() noexcept;

enum class CheckWish : std::uint8_t {
  kIfPossible,  // where both run times are installed, and the model is small
  kAlways,
  kNever,
};

inline constexpr std::uint64_t kLargestCheckedModel = std::uint64_t{64} << 20;  // with kIfPossible; all files together

class IreeCheck {
 public:
  // Looks for a Python with both run times: that of the compiler's programs, else python3 of the environment. Prints
  // the reason if nothing is checked. Lifetime: borrows `cache`.
  // Errors with kAlways: backend_library_missing with what to install.
  [[nodiscard]] static Result<IreeCheck> create(CheckWish wish, const IreeTools& tools, const CompileInput& input,
                                                const CompileCache& cache);

  // Runs a module. `parameters` is the path of its parameter archive, or empty. Returns a text about the
  // check, empty if none was wished. A model that was found to agree is not run again while the cache knows it.
  // Threads: from any number of threads.
  // Errors: serialise_failed (the results differ, or it does not run); others if the check could not be started.
  [[nodiscard]] Result<std::string> check(const CompileInput& input, const CompileTarget& target,
                                          const std::string& module, const std::string& parameters) const;

 private:
  IreeCheck(CheckWish wish, const CompileCache& cache) : wish_(wish), cache_(&cache) {}

  CheckWish wish_;
  const CompileCache* cache_;
  std::string python_;    // empty: nothing is checked
  std::string versions_;  // the versions of IREE's and ONNX Runtime's run times
};

}  // namespace fatctx::tools
