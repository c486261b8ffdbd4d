#include "tools/facts/htp_checks.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tools/facts/htp_config.h"
#include "tools/facts/quant_facts.h"

namespace fatctx::tools {

namespace {

constexpr std::string_view kCompilerOwner = "qnn";  // of facts that the compiler states about a graph
constexpr std::size_t kNamed = 3;                   // records that a note names

bool says_types(const std::vector<DescribedOption>& options) {
  return quant_fact(options, "activation_type") != nullptr || quant_fact(options, "weight_type") != nullptr;
}

// Returns true if the compiler's own files state scales of inputs or outputs: a DLC of each tensor, a context model
// with its conversions.
bool states_scales(const RecordDescription& record) {
  if (quant_fact(record.options, kIoQuant) != nullptr) return true;
  const auto scaled = [](const DescribedTensor& tensor) { return !tensor.scales.empty(); };
  return std::any_of(record.graphs.begin(), record.graphs.end(), [&](const DescribedGraph& graph) {
    return std::any_of(graph.inputs.begin(), graph.inputs.end(), scaled) ||
           std::any_of(graph.outputs.begin(), graph.outputs.end(), scaled);
  });
}

std::string names_text(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kNamed); ++i) {
    text += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", names[i]);
  }
  if (names.size() > kNamed) text += fmt::format(" and {} more", names.size() - kNamed);
  return text;
}

const std::string* common_arch_of(const PackRecord& record, const std::vector<DescribedOption>& of_all) {
  const std::string* own = quant_fact(record.description.options, "common_arch");
  return own != nullptr ? own : quant_fact(of_all, "common_arch");
}

}  // namespace

bool for_hexagon(const PackRecord& record) noexcept {
  return record.type == RecordType::kContextBinary && record.key.backend == "htp";
}

Status check_fixed_shapes(const PackRecord& record) {
  if (!for_hexagon(record)) return Done{};
  for (const DescribedGraph& graph : record.description.graphs) {
    const bool of_compiler = std::any_of(graph.options.begin(), graph.options.end(),
                                         [](const DescribedOption& option) { return option.owner == kCompilerOwner; });
    if (of_compiler) continue;  // as it was compiled
    for (const auto* const tensors : {&graph.inputs, &graph.outputs}) {
      for (const DescribedTensor& tensor : *tensors) {
        if (std::find(tensor.shape.begin(), tensor.shape.end(), -1) == tensor.shape.end()) continue;
        return Error{
            ErrorCode::kInvalidArgument,
            fmt::format("graph \"{}\": \"{}\" has a dimension that is not fixed, and binaries for htp have fixed "
                        "shapes; describe the graph as it was compiled, or allow it with --allow-dynamic",
                        graph.name, tensor.name)};
      }
    }
  }
  return Done{};
}

std::vector<std::string> quant_notes(const std::vector<PackRecord>& records,
                                     const std::vector<DescribedOption>& of_all) {
  std::vector<std::string> notes;
  std::vector<std::string_view> silent;
  std::map<std::string_view, const PackRecord*> lowest;  // by group
  for (const PackRecord& record : records) {
    if (!for_hexagon(record)) continue;
    const RecordDescription& said = record.description;
    if (!says_types(said.options) && !says_types(of_all) && !states_scales(said)) silent.push_back(record.name);
    const std::uint32_t number = arch_number(record.key.arch);
    if (number == 0) continue;
    const PackRecord*& least = lowest.emplace(record.key.group, &record).first->second;
    if (number < arch_number(least->key.arch)) least = &record;
  }
  if (!silent.empty()) {
    notes.push_back(fmt::format(
        "nothing says how {} for htp {} quantised: {}; say it with \"quant\" in a manifest, with --quant, or "
        "by naming the QDQ model that was compiled",
        silent.size() == 1 ? "a binary" : fmt::format("{} binaries", silent.size()),
        silent.size() == 1 ? "was" : "were", names_text(silent)));
  }
  // By group and by the architecture that its records call common.
  std::map<std::pair<std::string_view, std::string_view>, std::vector<std::string_view>> too_high;
  for (const PackRecord& record : records) {
    const auto least = lowest.find(record.key.group);
    if (!for_hexagon(record) || least == lowest.end()) continue;
    const std::string* common = common_arch_of(record, of_all);
    if (common == nullptr || arch_number(*common) <= arch_number(least->second->key.arch)) continue;
    too_high[{record.key.group, *common}].push_back(record.name);
  }
  for (const auto& [group_and_arch, names] : too_high) {
    const PackRecord& least = *lowest.at(group_and_arch.first);
    notes.push_back(fmt::format(
        "quantised for {} as the common architecture: {}; \"{}\" of the same group is for {}, which may lack "
        "what {} has; quantise for {}",
        group_and_arch.second, names_text(names), least.name, least.key.arch, group_and_arch.second, least.key.arch));
  }
  return notes;
}

}  // namespace fatctx::tools
