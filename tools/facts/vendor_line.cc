#include "tools/facts/vendor_line.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fatctx/base/nearest.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

struct LogLevel {
  const char* word;
  int severity;  // of ONNX Runtime
};
constexpr LogLevel kLogLevels[] = {{"error", 3}, {"warn", 2}, {"info", 1}, {"debug", 0}, {"verbose", 0}};
constexpr int kSeverityOfInfo = 1;

std::string file_name(const std::string& path) { return fs::path(path).filename().string(); }

Status take_backend(const std::string& backend, VendorMeaning& meaning, bool by_command) {
  if (by_command) {
    meaning.notes.push_back(fmt::format("--backend {}: not used, because --command compiles", backend));
    return Done{};
  }
  const std::string name = file_name(backend);
  if (name.find("QnnHtp") == std::string::npos) {
    return invalid_argument(
        fmt::format("--backend {}: only libQnnHtp.so (QnnHtp.dll) compiles context binaries ahead of time; name it, or "
                    "leave --backend out",
                    backend));
  }
  std::error_code error;
  if (!fs::is_regular_file(backend, error)) {
    return Error{ErrorCode::kNotFound,
                 fmt::format("--backend {}: there is no such file; leave --backend out to compile with the library of "
                             "the Python package onnxruntime-qnn",
                             backend)};
  }
  meaning.backend_path = fs::absolute(backend, error).string();
  meaning.notes.push_back(fmt::format("--backend {}: the QNN provider's backend_path", backend));
  return Done{};
}

Status take_model(const VendorLine& line, VendorMeaning& meaning, bool by_command) {
  const std::string given = meaning.model;
  if (!line.model.empty()) {
    const std::string name = file_name(line.model);
    if (name.ends_with(".onnx")) {
      if (!given.empty()) {
        return invalid_argument(fmt::format("--model {} and {}: two models; leave one of them out", line.model, given));
      }
      meaning.model = line.model;
    } else if (name.find("QnnModelDlc") != std::string::npos) {
      meaning.notes.push_back(
          fmt::format("--model {}: is how the vendor's generator reads a DLC; not needed here", line.model));
    } else {
      return invalid_argument(
          fmt::format("--model {}: a model library can be read by the vendor's generator alone; give the ONNX model it "
                      "was made from as MODEL, or run that generator with --command",
                      line.model));
    }
  }
  if (line.dlc_path.empty()) return Done{};
  if (!meaning.model.empty()) {
    meaning.notes.push_back(fmt::format("--dlc_path {}: is not read; {} is compiled", line.dlc_path, meaning.model));
    return Done{};
  }
  if (by_command) {
    meaning.model = line.dlc_path;
    meaning.notes.push_back(fmt::format("--dlc_path {}: the {{model}} of --command", line.dlc_path));
    return Done{};
  }
  return Error{
      ErrorCode::kBackendLibraryMissing,
      fmt::format("--dlc_path {}: what a converter wrote can be compiled by the vendor's generator alone; give "
                  "the ONNX model it was converted from as MODEL, or run that generator with --command",
                  line.dlc_path)};
}

Status take_output(const VendorLine& line, VendorMeaning& meaning) {
  if (!line.output_dlc.empty()) {
    if (!meaning.output.empty()) {
      return invalid_argument(fmt::format("--output_dlc {} and --output {}: two outputs; leave one of them out",
                                          line.output_dlc, meaning.output));
    }
    if (!line.output_dlc.ends_with(".dlc")) {
      return invalid_argument(
          fmt::format("--output_dlc {}: the name of a DLC ends with .dlc; for a container write -o {}", line.output_dlc,
                      line.output_dlc));
    }
    meaning.output = line.output_dlc;
    meaning.notes.push_back(fmt::format("--output_dlc {}: -o {}", line.output_dlc, line.output_dlc));
  }
  if (line.output_dir.empty()) return Done{};
  if (!meaning.output.empty()) {
    meaning.notes.push_back(
        fmt::format("--output_dir {}: stays empty; intermediate files are in the cache", line.output_dir));
    return Done{};
  }
  meaning.output = line.output_dir.ends_with('/') ? line.output_dir : line.output_dir + "/";
  meaning.notes.push_back(fmt::format("--output_dir {}: -o {}", line.output_dir, meaning.output));
  return Done{};
}

Status take_log_level(const std::string& word, VendorMeaning& meaning) {
  for (const LogLevel& level : kLogLevels) {
    if (word != level.word) continue;
    meaning.log_severity = level.severity;
    meaning.show_logs = level.severity <= kSeverityOfInfo;
    return Done{};
  }
  std::vector<std::string> words;
  for (const LogLevel& level : kLogLevels) words.emplace_back(level.word);
  const auto near = nearest(word, words);
  return invalid_argument(fmt::format("--log_level {}: {}allowed: {}", word,
                                      near ? fmt::format("did you mean {}? ", *near) : std::string(),
                                      fmt::join(words, ", ")));
}

}  // namespace

Result<VendorMeaning> meaning_of(const VendorLine& line, const std::string& model, const std::string& output,
                                 bool by_command) {
  VendorMeaning meaning;
  meaning.model = model;
  meaning.output = output;
  if (!line.backend.empty()) FATCTX_TRY(take_backend(line.backend, meaning, by_command));
  FATCTX_TRY(take_model(line, meaning, by_command));
  FATCTX_TRY(take_output(line, meaning));
  if (!line.log_level.empty()) FATCTX_TRY(take_log_level(line.log_level, meaning));
  if (meaning.model.empty()) return invalid_argument("MODEL is missing: give the ONNX model to compile");
  if (meaning.output.empty()) {
    return invalid_argument(
        "-o is missing: give -o OUT.fatctx for a container, -o OUT.dlc for a DLC, or -o DIR/ for the parts");
  }
  return meaning;
}

}  // namespace fatctx::tools
