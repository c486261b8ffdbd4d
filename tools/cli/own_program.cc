#include "tools/cli/own_program.h"

#include <filesystem>
#include <optional>
#include <system_error>

#include <fmt/format.h>

#include "tools/cli/subprocess.h"

namespace fatctx::tools {

namespace fs = std::filesystem;

namespace {

constexpr const char* kProviderFile = "libfatctx_ort.so";

}  // namespace

Result<std::string> find_onnxruntime_program(const std::string& name) {
  const std::string folder = own_program_folder();
  auto program = folder.empty() ? std::nullopt : find_program(name, folder);
  if (!program) program = find_program(name);
  if (program) return *program;
  return Error{ErrorCode::kBackendLibraryMissing,
               fmt::format("there is no program {} beside fatctx, nor in PATH: this build has no ONNX Runtime; run "
                           "scripts/ort_setup.sh, or name an installation in ONNXRUNTIME_ROOT, and build again with "
                           "FATCTX_ONNXRUNTIME=ON",
                           name)};
}

Result<std::string> find_provider_beside_program() {
  const std::string folder = own_program_folder();
  for (const char* const place : {"../src", "../lib", "../lib64", "..", "."}) {
    std::error_code error;
    if (folder.empty()) break;
    const fs::path path = fs::canonical(fs::path(folder) / place / kProviderFile, error);
    if (!error && fs::is_regular_file(path, error)) return path.string();
  }
  return Error{ErrorCode::kNotFound, fmt::format("there is no {} beside the program", kProviderFile)};
}

}  // namespace fatctx::tools
