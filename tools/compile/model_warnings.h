// Reports known problems of a model on the HTP before a compiler runs.
#pragma once

#include <string>
#include <vector>

#include "tools/facts/htp_config.h"
#include "tools/onnx/onnx_import.h"

namespace fatctx::tools {

// Returns the warnings for a model that is not quantised, has sizes that are not fixed, uses operators that the
// provider does not list, or may be quantised for an arch above the lowest of the targets. `common_arch` is the arch
// that the model was quantised for
// ("v73"); empty: unknown.
[[nodiscard]] std::vector<std::string> htp_model_warnings(const OnnxModel& model, const HtpConfig& config,
                                                          const std::string& common_arch);

}  // namespace fatctx::tools
