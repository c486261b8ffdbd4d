// Explains in one line why IREE does not compile a model, and what to do. Its own words fill screens.
#pragma once

#include <string>

#include "fatctx/base/error.h"
#include "fatctx/base/result.h"
#include "tools/compile/compile_driver.h"

namespace fatctx::tools {

// Returns the command by which ONNX Runtime runs the model instead.
[[nodiscard]] std::string provider_takes_it(const CompileInput& input);
// Returns what to do about a model that does not compile, or wrongly: fix its open sizes, or run it by ONNX Runtime.
[[nodiscard]] std::string remedy_for(const CompileInput& input);

// Returns the error of a step of IREE in words about the model, if `log` says that the model is the reason. Otherwise
// returns it unchanged: a flag, or the machine.
[[nodiscard]] Error explained(Error error, const std::string& log, const CompileInput& input);

// Checks that a module refers to the weights that were imported for it. IREE may compile a model whose sizes are open
// to an empty program and report success.
// Errors: serialise_failed (it refers to less than a tenth of their bytes), those of reading the two files.
[[nodiscard]] Status check_uses_weights(const std::string& module, const std::string& parameters,
                                        const CompileInput& input);

}  // namespace fatctx::tools
