// Translates the flags of the vendor's generator, so that its command line works after `fatctx compile`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"

namespace fatctx::tools {

// Values as on the command line; empty: not passed.
struct VendorLine {
  std::string backend;     // --backend libQnnHtp.so
  std::string model;       // --model libQnnModelDlc.so
  std::string dlc_path;    // --dlc_path
  std::string output_dlc;  // --output_dlc
  std::string output_dir;  // --output_dir
  std::string log_level;   // --log_level
  [[nodiscard]] bool asks_for_htp() const noexcept { return !backend.empty() || !output_dlc.empty(); }
};

// The flags' meaning. A member that they do not set keeps the value of the command's own flags.
struct VendorMeaning {
  std::string model;               // path of the model to compile
  std::string output;              // OUT, OUT.dlc or OUT/
  std::string backend_path;        // of the HTP library, if one was named
  int log_severity = 2;            // of ONNX Runtime: 0 verbose ... 3 errors
  bool show_logs = false;          // also of compilers that succeed
  std::vector<std::string> notes;  // a line for each flag: what it maps to
};

// Translates the flags. `model` and `output` are the command's own arguments. `by_command` says that the
// compiler is the user's own, which may read a DLC.
// Errors: invalid_argument, saying why a flag has no counterpart and what to do instead; backend_library_missing, for a
//         DLC that only the vendor's generator reads.
[[nodiscard]] Result<VendorMeaning> meaning_of(const VendorLine& line, const std::string& model,
                                               const std::string& output, bool by_command);

}  // namespace fatctx::tools
