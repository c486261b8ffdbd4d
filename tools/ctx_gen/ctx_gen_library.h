// Finds the libraries of execution providers.
#pragma once

#include <string>

#include "fatctx/base/result.h"
#include "tools/ctx_gen/ctx_gen_options.h"

namespace fatctx::tools {

struct ProviderLibrary {
  std::string path;          // absolute
  std::string backend_path;  // QNN only, of the HTP library; empty: the provider finds it
  std::string found_by;      // in words
};

// Finds a provider's library; `named` is the value of --library. If it is empty, our own is searched for near
// the program. Those of QNN and OpenVINO are searched for in the Python packages of FATCTX_QNN_PYTHON and
// FATCTX_OPENVINO_PYTHON (else python3).
// Errors: not_found (the file of --library), backend_library_missing with what to do about it.
[[nodiscard]] Result<ProviderLibrary> find_provider_library(const CtxGenProvider& provider, const std::string& named);

}  // namespace fatctx::tools
