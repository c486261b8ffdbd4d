#include "tools/compile/iree_refusal.h"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "fatctx/import_irpa.h"
#include "tools/cli/print.h"
#include "tools/compile/shape_sets.h"
#include "tools/facts/json_file.h"

namespace fatctx::tools {

namespace {

constexpr std::string_view kLoader = "io_parameters";  // the module of the run time that gives a program its weights
constexpr std::uint64_t kLeastShare = 10;              // a module uses at least a tenth of the weights
constexpr std::uint64_t kLargestSearched = kMaxJsonFileSize;  // a larger module is not an empty program
constexpr std::size_t kMaxRaised = 200;

// Returns "If" for an error line with `<{name = "onnx.If"}>`; empty if no operator is the reason.
std::string refused_operator(const std::string& log) {
  const std::size_t at = log.find("failed to legalize operation");
  if (at == std::string::npos) return {};
  const std::string line = log.substr(at, log.find('\n', at) - at);
  constexpr std::string_view kName = "\"onnx.";
  const std::size_t name = line.find(kName);
  if (name == std::string::npos) return {};
  const std::size_t begin = name + kName.size();
  return line.substr(begin, line.find('"', begin) - begin);
}

// Returns the last line of a Python program's complaint; empty if it has none.
std::string last_of_traceback(const std::string& log) {
  const std::size_t at = log.find("Traceback (most recent call last)");
  if (at == std::string::npos) return {};
  std::istringstream lines(log.substr(at));
  std::string raised;
  for (std::string line; std::getline(lines, line);) {
    if (raised.empty() && !line.empty() && line[0] != ' ' && line.find(':') != std::string::npos &&
        !line.starts_with("Traceback")) {
      raised = line;
    }
  }
  return raised.substr(0, kMaxRaised);
}

bool is_about_the_model(const std::string& log) {
  return log.find("model.mlir:") != std::string::npos || log.find("failed to legalize") != std::string::npos;
}

// Returns true if the compiler's own handler of crashes has spoken. The exit code is then any number.
bool has_crashed(const std::string& log) {
  return log.find("Please report issues") != std::string::npos || log.find("Stack dump") != std::string::npos;
}

// Returns true if the operator is one of another domain, such as com.microsoft. No sizes make IREE take it.
bool is_foreign(const std::string& name, const CompileInput& input) {
  return input.onnx != nullptr && std::ranges::any_of(input.onnx->operators, [&](const std::string& known) {
           return known.ends_with(":" + name);
         });
}

}  // namespace

std::string provider_takes_it(const CompileInput& input) {
  return fmt::format("fatctx ctx-gen -e reference {} takes it", input.beside);
}

std::string remedy_for(const CompileInput& input) {
  const std::string flag = input.onnx == nullptr ? "" : shape_flag_for(input.onnx->graph);
  std::string other = provider_takes_it(input);
  if (flag.empty()) return other;
  return fmt::format("fix the sizes that the model leaves open ({}), or {}", flag, other);
}

Error explained(Error error, const std::string& log, const CompileInput& input) {
  if (error.code != ErrorCode::kSerialiseFailed) return error;
  if (const std::string name = refused_operator(log); !name.empty()) {
    error.message = fmt::format("IREE does not compile the operator {} of this model; {}", name,
                                is_foreign(name, input) ? provider_takes_it(input) : remedy_for(input));
  } else if (const std::string raised = last_of_traceback(log); !raised.empty()) {
    error.message = fmt::format("IREE does not read this model: {}; {}", raised, remedy_for(input));
  } else if (has_crashed(log) || error.message.find("was ended by signal") != std::string::npos) {
    error.message = fmt::format("IREE crashes with this model; {}", remedy_for(input));
  } else if (is_about_the_model(log)) {
    error.message = fmt::format("IREE does not compile this model; {}", remedy_for(input));
  }
  return error;
}

Status check_uses_weights(const std::string& module, const std::string& parameters, const CompileInput& input) {
  std::error_code error;
  if (std::filesystem::file_size(module, error) > kLargestSearched) return Done{};
  FATCTX_ASSIGN(const IrpaTensors archive, tensors_from_irpa(parameters));
  FATCTX_ASSIGN(const std::string code, read_text_file(module));
  std::uint64_t whole = 0;
  for (const PackTensor& tensor : archive.tensors) whole += tensor.size_bytes;
  std::vector<const PackTensor*> largest_first;
  for (const PackTensor& tensor : archive.tensors) largest_first.push_back(&tensor);
  std::stable_sort(largest_first.begin(), largest_first.end(),
                   [](const auto* a, const auto* b) { return a->size_bytes > b->size_bytes; });
  std::uint64_t used = 0;
  std::size_t count = 0;
  // Without it the module loads no parameters, and a short name that is found is there by chance.
  const bool loads = code.find(kLoader) != std::string::npos;
  for (const PackTensor* tensor : largest_first) {
    if (!loads || code.find(tensor->name) == std::string::npos) continue;
    used += tensor->size_bytes;
    ++count;
    if (used * kLeastShare >= whole) return Done{};
  }
  if (used * kLeastShare >= whole) return Done{};
  return Error{
      ErrorCode::kSerialiseFailed,
      fmt::format("IREE reported success and wrote a program of {} that uses {} of {} weights ({} of {}), which "
                  "cannot be this model; {}",
                  short_size_text(code.size()), count, archive.tensors.size(), short_size_text(used),
                  short_size_text(whole), remedy_for(input))};
}

}  // namespace fatctx::tools
