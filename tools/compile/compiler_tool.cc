#include "tools/compile/compiler_tool.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "tools/cli/own_program.h"
#include "tools/cli/subprocess.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxReason = 300;  // of a tool's output, in a one-line error

// Returns the line of a log that tells the reason: the first with "error", else the first that is not empty.
std::string reason_in(const std::string& log) {
  std::istringstream lines(log);
  std::string reason;
  for (std::string line; std::getline(lines, line);) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    std::string lower = line;
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    const bool names_an_error = lower.find("error") != std::string::npos;
    if (reason.empty() || names_an_error) reason = line;
    if (names_an_error) break;
  }
  if (reason.empty()) return "it said nothing";
  return reason.size() > kMaxReason ? reason.substr(0, kMaxReason) + "..." : reason;
}

// Removes the escape sequences with which tools colour their output: "\x1b[0;93m".
std::string without_colours(const std::string& text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] != '\x1b' || at + 1 >= text.size() || text[at + 1] != '[') {
      plain += text[at];
      continue;
    }
    at = std::min(text.find_first_not_of("0123456789;", at + 2), text.size());
  }
  return plain;
}

}  // namespace

std::optional<std::string> find_in_environment(const std::string& name) {
  for (const char* const variable : {"VIRTUAL_ENV", "CONDA_PREFIX"}) {
    const char* const folder = std::getenv(variable);
    if (folder == nullptr || *folder == '\0') continue;
    if (auto found = find_program(name, (fs::path(folder) / "bin").string())) return found;
  }
  if (auto found = find_program(name, "")) return found;
  const std::string beside = own_program_folder();
  return beside.empty() ? std::nullopt : find_program(name, beside);
}

Result<double> run_tool(std::string_view name, std::vector<std::string> arguments, const std::string& folder,
                        std::string& log) {
  FATCTX_ASSIGN(const ProcessResult result, run_process({.arguments = std::move(arguments), .working_folder = folder}));
  log = without_colours(result.error_output + result.output);
  if (result.succeeded()) return result.seconds;
  const std::string how = result.signal != 0 ? fmt::format("was ended by signal {}", result.signal)
                                             : fmt::format("failed with exit code {}", result.exit_code);
  return Error{ErrorCode::kSerialiseFailed, fmt::format("{} {}: {}", name, how, reason_in(log))};
}

Status check_output(const std::string& path, std::string_view tool) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  if (error)
    return Error{ErrorCode::kSerialiseFailed,
                 fmt::format("{} reported success but wrote no {}", tool, fs::path(path).filename().string())};
  if (size == 0)
    return Error{ErrorCode::kSerialiseFailed,
                 fmt::format("{} wrote an empty {}", tool, fs::path(path).filename().string())};
  return Done{};
}

}  // namespace fatctx::tools
