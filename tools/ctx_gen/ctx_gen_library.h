// Where the libraries of execution providers are.
#pragma once

#include <string>

#include "fatctx/base/result.h"
#include "tools/ctx_gen/ctx_gen_options.h"

namespace fatctx::tools {

struct ProviderLibrary {
  std::string path;          // absolute
  std::string backend_path;  // QNN: of the HTP library; empty: the provider finds it
  std::string found_by;      // in words
};

// `named` is that of --library; without it our own is looked for beside the program, those of QNN and OpenVINO in the
// Python packages that FATCTX_QNN_PYTHON and FATCTX_OPENVINO_PYTHON (else python3) have.
// Errors: not_found (what --library names), backend_library_missing with what to do about it.
[[nodiscard]] Result<ProviderLibrary> find_provider_library(const CtxGenProvider& provider, const std::string& named);

}  // namespace fatctx::tools
