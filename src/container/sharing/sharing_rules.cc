#include "container/sharing/sharing_rules.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace fatctx::container {
namespace {

constexpr std::string_view kOwner = "htp";

bool is_true(std::string_view value) { return value == "true" || value == "1"; }

// The compile options of a context binary, as far as its description has them.
struct Compiled {
  bool dlbc = false;
  bool lora = false;
  bool reference_sharing = false;
  std::uint32_t cores = 1;
  std::optional<bool> extended_udma;
};

Compiled compiled_of(const SharingCandidate& candidate) {
  Compiled compiled;
  if (candidate.type != RecordType::kContextBinary || candidate.description == nullptr) return compiled;
  for (const DescribedOption& option : candidate.description->options) {
    if (option.owner != kOwner) continue;
    const bool on = is_true(option.value);
    if (option.key == "graphs.dlbc") compiled.dlbc = compiled.dlbc || on;
    if (option.key == "context.lora_weight_sharing_enabled") compiled.lora = on;
    if (option.key == "context.reference_weight_sharing_enabled") compiled.reference_sharing = on;
    if (option.key == "context.extended_udma") compiled.extended_udma = on;
    if (option.key != "graphs.num_cores") continue;
    std::uint32_t cores = 0;
    const char* const end = option.value.data() + option.value.size();
    if (std::from_chars(option.value.data(), end, cores).ptr == end) compiled.cores = std::max(compiled.cores, cores);
  }
  return compiled;
}

// Returns why it may not share, such as "is for 4 cores"; empty if it may.
std::string why_alone(const Compiled& compiled) {
  if (compiled.cores > 1) return fmt::format("is for {} cores", compiled.cores);
  return compiled.dlbc ? "has bandwidth compression (dlbc) on" : "";
}

class Judge {
 public:
  explicit Judge(const std::vector<SharingCandidate>& candidates) : candidates_(candidates) {
    rules_.alone.resize(candidates.size());
    for (const SharingCandidate& candidate : candidates) compiled_.push_back(compiled_of(candidate));
  }

  SharingRules judge() {
    refuse_what_excludes_each_other();
    leave_alone();
    leave_weights_alone();
    std::map<std::pair<std::string_view, std::string_view>, std::vector<std::size_t>> targets;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (candidates_[i].type == RecordType::kContextBinary) {
        targets[{candidates_[i].group, candidates_[i].unit}].push_back(i);
      }
    }
    for (const auto& [of, members] : targets) {
      const std::string where = fmt::format("group \"{}\", unit \"{}\"", of.first, of.second);
      compare_graphs(where, members);
      compare_dma(where, members);
    }
    return std::move(rules_);
  }

 private:
  void warn(std::string text, std::vector<std::size_t> records, bool counts_bytes = false) {
    rules_.warnings.push_back({std::move(text), std::move(records), counts_bytes});
  }

  void refuse_what_excludes_each_other() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (!compiled_[i].lora || !compiled_[i].reference_sharing) continue;
      rules_.refusal = Error{ErrorCode::kUnsupported,
                             fmt::format("record \"{}\": weight sharing of LoRA and reference weight sharing exclude "
                                         "each other; compile it with one of them",
                                         candidates_[i].name)};
      return;
    }
  }

  void leave_alone() {
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      const std::string why = why_alone(compiled_[i]);
      if (why.empty()) continue;
      rules_.alone[i] = true;
      warn(fmt::format("record \"{}\" {} and shares no bytes with others", candidates_[i].name, why), {i});
    }
  }

  // Keeps the weight blobs of a binary that does not share for that binary alone. A blob that others refer to as well
  // stays shared: the vendor's tools do not make that, so the caller has asked for it by name.
  void leave_weights_alone() {
    std::map<std::string_view, std::vector<std::size_t>> users;
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      for (const std::string& weights : candidates_[i].weights) {
        if (candidates_[i].type == RecordType::kContextBinary) users[weights].push_back(i);
      }
    }
    for (std::size_t i = 0; i < candidates_.size(); ++i) {
      if (candidates_[i].type != RecordType::kWeightBlob) continue;
      const auto found = users.find(candidates_[i].name);
      if (found == users.end()) continue;
      const std::vector<std::size_t>& of = found->second;
      const auto lonely = std::find_if(of.begin(), of.end(), [&](std::size_t user) { return rules_.alone[user]; });
      if (lonely == of.end()) continue;
      if (of.size() == 1) {
        rules_.alone[i] = true;
        continue;
      }
      std::vector<std::size_t> about = of;
      about.push_back(i);
      warn(fmt::format("weights \"{}\" are referred to by {} records, and \"{}\" of them {}, which excludes sharing; "
                       "give it weights of its own",
                       candidates_[i].name, of.size(), candidates_[*lonely].name, why_alone(compiled_[*lonely])),
           std::move(about));
    }
  }

  [[nodiscard]] std::set<std::string> graphs_of(std::size_t index) const {
    std::set<std::string> graphs;
    if (candidates_[index].description == nullptr) return graphs;
    for (const DescribedGraph& graph : candidates_[index].description->graphs) graphs.insert(graph.name);
    return graphs;
  }

  // Reports each difference from the first target once.
  void compare_graphs(const std::string& where, const std::vector<std::size_t>& members) {
    std::optional<std::size_t> first;
    std::set<std::set<std::string>> told;
    for (const std::size_t member : members) {
      const std::set<std::string> graphs = graphs_of(member);
      if (graphs.empty()) continue;
      if (!first) {
        first = member;
        told.insert(graphs);
        continue;
      }
      if (!told.insert(graphs).second) continue;
      const std::set<std::string> of_first = graphs_of(*first);
      std::vector<std::string> lacking;
      std::vector<std::string> more;
      std::set_difference(of_first.begin(), of_first.end(), graphs.begin(), graphs.end(), std::back_inserter(lacking));
      std::set_difference(graphs.begin(), graphs.end(), of_first.begin(), of_first.end(), std::back_inserter(more));
      std::string difference;
      if (!lacking.empty()) difference += fmt::format("lacks \"{}\"", fmt::join(lacking, "\", \""));
      if (!more.empty()) {
        difference +=
            fmt::format("{}has \"{}\" in addition", lacking.empty() ? "" : " and ", fmt::join(more, "\", \""));
      }
      warn(fmt::format("{}: the graphs of \"{}\" are not those of \"{}\": it {}; the same graphs for all targets share "
                       "most",
                       where, candidates_[member].name, candidates_[*first].name, difference),
           {*first, member});
    }
  }

  void compare_dma(const std::string& where, const std::vector<std::size_t>& members) {
    std::vector<std::size_t> known;
    std::optional<std::size_t> with;
    std::optional<std::size_t> without;
    for (const std::size_t member : members) {
      if (!compiled_[member].extended_udma || rules_.alone[member]) continue;
      known.push_back(member);
      std::optional<std::size_t>& kind = *compiled_[member].extended_udma ? with : without;
      if (!kind) kind = member;
    }
    if (!with || !without) return;
    warn(fmt::format("{}: \"{}\" is compiled with extended UDMA and \"{}\" without, so that they share less", where,
                     candidates_[*with].name, candidates_[*without].name),
         std::move(known), true);
  }

  const std::vector<SharingCandidate>& candidates_;
  std::vector<Compiled> compiled_;
  SharingRules rules_;
};

}  // namespace

SharingRules sharing_rules(const std::vector<SharingCandidate>& candidates) { return Judge(candidates).judge(); }

}  // namespace fatctx::container
