#include "tools/compile/iree_driver.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "fatctx/content_hash.h"
#include "fatctx/import_irpa.h"
#include "tools/cli/subprocess.h"
#include "tools/compile/compiler_tool.h"
#include "tools/facts/json_file.h"
#include "tools/onnx/model_folder.h"
#include "tools/onnx/onnx_shapes.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

constexpr const char* kUnknownVersion = "unknown";
constexpr const char* kNamedFile = "named.onnx";
constexpr std::int64_t kLeastWeight = 100;  // elements; the importer stores smaller tensors in the code

Error missing_tool(std::string_view name, const std::string& folder) {
  const std::string where =
      folder.empty() ? "neither in the active Python environment nor in PATH" : "not in " + folder;
  return Error{ErrorCode::kBackendLibraryMissing,
               fmt::format("{} is {}; install the Python package iree-base-compiler[onnx], and name the folder of its "
                           "programs with --iree-bin DIR if it is another one",
                           name, where)};
}

// Returns "3.13.0rc20261016" for "IREE compiler version 3.13.0rc20261016 @ 89ece8...".
std::string version_of(const std::string& text) {
  constexpr std::string_view kBefore = "compiler version ";
  const std::size_t at = text.find(kBefore);
  if (at == std::string::npos) return kUnknownVersion;
  std::string version = text.substr(at + kBefore.size());
  return version.substr(0, version.find_first_of(" \n\r"));
}

// Returns the words of a key: the step, the tool and its flags.
std::vector<std::string> key_words(std::string_view step, const IreeTools& tools,
                                   const std::vector<std::string>& flags) {
  std::vector<std::string> words = {std::string(step), "iree", tools.version};
  words.insert(words.end(), flags.begin(), flags.end());
  return words;
}

// Returns true if weights are in Constant nodes, to which the importer gives random names.
bool has_nameless_weights(const OnnxModel& model) {
  return std::any_of(model.initializers.begin(), model.initializers.end(), [](const OnnxInitializer& initializer) {
    std::uint64_t elements = 1;
    for (const std::uint64_t dim : initializer.shape) elements *= dim;
    return initializer.constant && elements >= std::uint64_t{kLeastWeight};
  });
}

}  // namespace

Status check_module(const std::string& path) {
  FATCTX_TRY(check_output(path, "iree-compile"));
  std::string head(8, '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  const bool flatbuffer = head.ends_with("IREE");       // file identifier after the root offset
  const bool archive = head.starts_with("PK\x03\x04");  // a module with its data beside it
  if (flatbuffer || archive) return Done{};
  return Error{ErrorCode::kMalformed,
               fmt::format("{}: does not begin like an IREE module", fs::path(path).filename().string())};
}

Result<IreeTools> find_iree(const std::string& folder) {
  IreeTools tools;
  const std::pair<const char*, std::string*> wanted[] = {{"iree-import-onnx", &tools.import_onnx},
                                                         {"iree-compile", &tools.compile}};
  for (const auto& [name, path] : wanted) {
    const auto found = folder.empty() ? find_in_environment(name) : find_program(name, folder);
    if (!found) return missing_tool(name, folder);
    *path = *found;
  }
  std::string log;
  auto ran = run_tool("iree-compile --version", {tools.compile, "--version"}, "", log);
  if (!ran.ok()) {
    Error error = std::move(ran).error();
    error.code = ErrorCode::kBackendLibraryMissing;
    return error;
  }
  tools.version = version_of(log);
  if (tools.version == kUnknownVersion) {
    // Two compilers of unknown version are told apart by their bytes.
    FATCTX_ASSIGN(const auto programs, hash_files({tools.import_onnx, tools.compile}));
    tools.version += fmt::format("-{:.8}", CompileCache::key_of(StepInputs{.words = {}, .files = programs}));
  }
  return tools;
}

Result<StepResult> IreeDriver::import_model(const CompileInput& input, const std::vector<std::string>& options,
                                            std::string& log) const {
  std::vector<std::string> flags = {"--externalize-params", "--params-scope", std::string(kParameterScope)};
  const bool own_opset = std::any_of(options.begin(), options.end(),
                                     [](const std::string& option) { return option.starts_with("--opset-version"); });
  // The importer raises older models to this version and does not change newer ones.
  if (!own_opset) flags.insert(flags.end(), {"--opset-version", "17"});
  flags.insert(flags.end(), options.begin(), options.end());
  const bool rename = has_nameless_weights(*input.onnx);

  StepInputs inputs{.words = key_words(rename ? "import with named constants" : "import", tools_, flags), .files = {}};
  FATCTX_TRY(store(hash_files(input.files()), inputs.files));
  if (const auto folder = cache_.find(inputs)) return StepResult{.folder = *folder, .cached = true, .seconds = 0};

  FATCTX_ASSIGN(WorkFolder work, cache_.begin());
  std::string model = fs::absolute(input.path).string();
  if (rename) {
    FATCTX_TRY(write_onnx_with_named_constants(model, kLeastWeight, work.file(kNamedFile)));
    model = kNamedFile;
  }
  // The output has a fixed, relative path: it becomes part of the module's debug information and so of its
  // bytes.
  std::vector<std::string> arguments = {tools_.import_onnx, model};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  if (!input.onnx->external_files.empty() && (rename || input.beside != input.path)) {
    arguments.insert(arguments.end(), {"--data-dir", fs::absolute(parent_of(input.beside)).string()});
  }
  arguments.insert(arguments.end(), {"-o", kMlirFile});
  FATCTX_ASSIGN(const double seconds, run_tool("iree-import-onnx", std::move(arguments), work.path(), log));
  FATCTX_TRY(check_output(work.file(kMlirFile), "iree-import-onnx"));
  std::vector<std::string> files = {kMlirFile};
  std::error_code error;
  if (fs::exists(work.file(kParameterFile), error)) {
    FATCTX_ASSIGN(const IrpaTensors tensors, tensors_from_irpa(work.file(kParameterFile)));
    if (!tensors.tensors.empty()) files.emplace_back(kParameterFile);
  }
  FATCTX_ASSIGN(std::string folder, cache_.publish(inputs, std::move(work), files));
  return StepResult{.folder = std::move(folder), .cached = false, .seconds = seconds};
}

Result<StepResult> IreeDriver::compile(const StepResult& imported, const CompileTarget& target,
                                       std::string& log) const {
  const std::vector<std::string> flags = compiler_flags(target);
  StepInputs inputs{.words = key_words("compile", tools_, flags), .files = {}};
  const fs::path mlir = fs::path(imported.folder) / kMlirFile;
  FATCTX_TRY(store(hash_files({mlir.string()}), inputs.files));
  if (const auto folder = cache_.find(inputs)) return StepResult{.folder = *folder, .cached = true, .seconds = 0};

  FATCTX_ASSIGN(WorkFolder work, cache_.begin());
  std::error_code error;
  fs::copy_file(mlir, work.file(kMlirFile), error);
  if (error) return Error{ErrorCode::kIo, fmt::format("{}: cannot be copied: {}", mlir.string(), error.message())};
  std::vector<std::string> arguments = {tools_.compile, kMlirFile};
  arguments.insert(arguments.end(), flags.begin(), flags.end());
  arguments.insert(arguments.end(), {"-o", kModuleFile});
  FATCTX_ASSIGN(const double seconds, run_tool("iree-compile", std::move(arguments), work.path(), log));
  FATCTX_TRY(check_module(work.file(kModuleFile)));
  FATCTX_ASSIGN(std::string folder, cache_.publish(inputs, std::move(work), {kModuleFile}));
  return StepResult{.folder = std::move(folder), .cached = false, .seconds = seconds};
}

}  // namespace fatctx::tools
