// What is known to go wrong with a model on the HTP, said before a compiler runs.
#pragma once

#include <string>
#include <vector>

#include "tools/facts/htp_config.h"
#include "tools/onnx/onnx_import.h"

namespace fatctx::tools {

// Not quantised, sizes that are not fixed, quantised for an arch that is not the lowest of the targets. `common_arch`
// is the arch that the caller says it was quantised for ("v73"); empty: not said.
[[nodiscard]] std::vector<std::string> htp_model_warnings(const OnnxModel& model, const HtpConfig& config,
                                                          const std::string& common_arch);

}  // namespace fatctx::tools
