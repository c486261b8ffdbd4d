#include "tools/compile/model_warnings.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/compile/shape_sets.h"
#include "tools/facts/qnn_operators.h"

namespace fatctx::tools {

namespace {

std::vector<std::string> names_with_open_sizes(const DescribedGraph& graph) {
  std::vector<std::string> names;
  for (const auto* tensors : {&graph.inputs, &graph.outputs}) {
    for (const DescribedTensor& tensor : *tensors) {
      if (std::any_of(tensor.shape.begin(), tensor.shape.end(), [](std::int64_t size) { return size < 0; })) {
        names.push_back(tensor.name);
      }
    }
  }
  return names;
}

}  // namespace

std::vector<std::string> htp_model_warnings(const OnnxModel& model, const HtpConfig& config,
                                            const std::string& common_arch) {
  std::vector<std::string> warnings;
  const bool quantised = std::any_of(model.operators.begin(), model.operators.end(), [](const std::string& name) {
    return name.ends_with("QuantizeLinear") || name.ends_with("DequantizeLinear");  // including those of com.microsoft
  });
  if (!quantised) {
    warnings.emplace_back(
        "the model is not quantised (it has no QuantizeLinear and no DequantizeLinear): the HTP computes it in 16-bit "
        "floating point or not at all; quantise it with onnxruntime.quantization");
  }
  const std::vector<std::string> open = names_with_open_sizes(model.graph);
  if (!open.empty()) {
    const std::string flag = shape_flag_for(model.graph);
    warnings.push_back(fmt::format("sizes of {} are not fixed, and the HTP takes no dynamic shapes; {}",
                                   fmt::join(open, ", "),
                                   flag.empty() ? "they are known if the inputs decide them" : "fix them: " + flag));
  }
  for (std::string& line : beyond_qnn_operators(model.used, "htp")) warnings.push_back(std::move(line));
  const HtpTarget* lowest = nullptr;
  const HtpTarget* highest = nullptr;
  for (const HtpTarget& target : config.targets) {
    if (target.arch.empty()) continue;
    if (lowest == nullptr || arch_number(target.arch) < arch_number(lowest->arch)) lowest = &target;
    if (highest == nullptr || arch_number(target.arch) > arch_number(highest->arch)) highest = &target;
  }
  if (!quantised || lowest == nullptr) return warnings;
  if (common_arch.empty()) {
    if (lowest->arch != highest->arch) {
      warnings.push_back(
          fmt::format("the targets reach from {} to {}, and nothing says for which arch the model was quantised; it "
                      "must be {}, the lowest of them: --common-arch {} says that it is",
                      lowest->arch, highest->arch, lowest->arch, lowest->arch));
    }
  } else if (arch_number(common_arch) > arch_number(lowest->arch)) {
    warnings.push_back(
        fmt::format("the model is quantised for {}, which is above {} of {}: a model quantised for an arch "
                    "works from there on upwards; quantise it for {}",
                    common_arch, lowest->arch, target_name(*lowest), lowest->arch));
  }
  return warnings;
}

}  // namespace fatctx::tools
