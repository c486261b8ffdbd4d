#include "tools/ctx_gen/ctx_gen_library.h"

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <system_error>
#include <vector>

#include <fmt/format.h>

#include "tools/cli/own_program.h"
#include "tools/cli/subprocess.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

constexpr const char* kHtpLibrary = "libQnnHtp.so";

constexpr const char* kFindQnn =
    "import onnxruntime_qnn as q; print(q.get_library_path()); print(q.get_qnn_htp_path())";
constexpr const char* kFindOpenVino = "import onnxruntime_ep_openvino as q; print(q.get_library_path())";

struct Package {
  const char* variable;
  const char* package;
  const char* program;
};
constexpr Package kQnnPackage = {"FATCTX_QNN_PYTHON", "onnxruntime-qnn", kFindQnn};
constexpr Package kOpenVinoPackage = {"FATCTX_OPENVINO_PYTHON", "onnxruntime-ep-openvino", kFindOpenVino};

Error missing(const CtxGenProvider& provider, std::string_view why) {
  return {ErrorCode::kBackendLibraryMissing,
          fmt::format("-e {}: the library of {} was not found: {}", provider.word, provider.name, why)};
}

std::string real_path(const fs::path& path) {
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(path, error);
  return error ? fs::absolute(path).string() : whole.string();
}

Result<ProviderLibrary> find_own(const CtxGenProvider& provider) {
  auto path = find_provider_beside_program();
  if (path.ok()) {
    return ProviderLibrary{.path = std::move(path).value(), .backend_path = {}, .found_by = "beside the program"};
  }
  return missing(provider,
                 path.error().message + "; build the target fatctx_ort, or name the library with --library PATH");
}

Result<ProviderLibrary> find_in_package(const CtxGenProvider& provider, const Package& package) {
  const char* const variable = std::getenv(package.variable);
  const std::string python = variable != nullptr && *variable != '\0' ? variable : "python3";
  const std::string remedy =
      fmt::format("install the Python package {} and name its Python in {}, or name the library with --library PATH",
                  package.package, package.variable);
  const auto program = find_program(python);
  if (!program) return missing(provider, fmt::format("there is no program {}; {}", python, remedy));
  const auto ran = run_process({.arguments = {*program, "-c", package.program}, .working_folder = {}});
  if (!ran.ok() || !ran.value().succeeded()) {
    return missing(provider, fmt::format("{} does not have the package {}; {}", python, package.package, remedy));
  }
  std::istringstream lines(ran.value().output);
  ProviderLibrary library;
  std::getline(lines, library.path);
  std::getline(lines, library.backend_path);
  std::error_code error;
  if (!fs::is_regular_file(library.path, error)) {
    return missing(provider, fmt::format("the package {} of {} names no file; {}", package.package, python, remedy));
  }
  library.path = real_path(library.path);
  library.found_by = fmt::format("the Python package {}", package.package);
  return library;
}

}  // namespace

Result<ProviderLibrary> find_provider_library(const CtxGenProvider& provider, const std::string& named) {
  if (named.empty()) {
    if (provider.is_reference()) return find_own(provider);
    if (provider.is_qnn()) return find_in_package(provider, kQnnPackage);
    if (provider.word == "openvino") return find_in_package(provider, kOpenVinoPackage);
    return missing(provider,
                   fmt::format("none comes with fatctx; install the plugin library of {} (ONNX Runtime 1.23 or "
                               "newer loads such libraries) and name it with --library PATH",
                               provider.title));
  }
  std::error_code error;
  if (!fs::is_regular_file(named, error)) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("--library {}: there is no such file; name the library of {}", named, provider.name)};
  }
  ProviderLibrary library{.path = real_path(named), .backend_path = {}, .found_by = "--library"};
  const fs::path htp = fs::path(library.path).parent_path() / kHtpLibrary;
  if (provider.is_qnn() && fs::is_regular_file(htp, error)) library.backend_path = htp.string();
  return library;
}

}  // namespace fatctx::tools
