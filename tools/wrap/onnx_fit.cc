#include "tools/wrap/onnx_fit.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fatctx/content_hash.h"
#include "tools/cli/same_bytes.h"
#include "tools/cli/whole_container.h"
#include "tools/onnx/ep_context_facts.h"
#include "tools/onnx/model_folder.h"
#include "tools/onnx/onnx_import.h"
#include "tools/onnx/onnx_whole.h"
#include "tools/pack/ep_context.h"
#include "tools/wrap/thin_payload.h"

namespace fatctx::tools {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view kOtherCompilation =
    "the model and the container are from different compilations. Put back the container that belongs to the model, or "
    "compile the model again";

// Returns the execution provider's name of the graph: the node's, if it has no partition_name.
const std::string& graph_of(const OnnxEpContext& node) {
  return node.partition_name.empty() ? node.name : node.partition_name;
}

std::string shape_text(const std::vector<std::int64_t>& shape) { return fmt::format("[{}]", fmt::join(shape, ",")); }

bool shapes_agree(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](std::int64_t left, std::int64_t right) { return left == right || left < 0 || right < 0; });
}

// A collector of the findings about one model, node by node.
class Fitting {
 public:
  Fitting(const Container& container, const ContainerDescription& description, const std::string& model_path,
          const Progress& progress)
      : container_(container), description_(description), model_path_(model_path), progress_(progress) {}

  void add(const OnnxModel& model) {
    for (const OnnxEpContext& node : model.ep_contexts) {
      if (is_own(node)) {
        add_own(node);
      } else if (has_binary(node)) {
        add_main(node);
      }
    }
    for (const OnnxEpContext& node : model.ep_contexts) {
      if (!is_own(node) && !has_binary(node)) add_follower(node);
    }
  }

  // Compares the nodes between the EPContext nodes: together with them they must be a wrapper model of the container.
  Status add_whole(const OnnxModel& model) {
    if (std::any_of(model.ep_contexts.begin(), model.ep_contexts.end(), is_own)) return Done{};
    FATCTX_ASSIGN(const std::optional<KeptModel> kept, kept_form(model_path_, model));
    if (!kept) return Done{};
    const Hash128 hash = content_hash(std::as_bytes(std::span(kept->bytes)));
    const auto same = [&](const RecordInfo& record) {
      return record.type == RecordType::kWrapperModel && record.hash == hash;
    };
    if (std::any_of(all_records(container_).begin(), all_records(container_).end(), same)) return Done{};
    const auto is_whole = [](const DescribedOption& option) {
      return option.owner == kEpContextOwner && option.key == kWholeModelFact;
    };
    const bool any = std::any_of(mains_found_.begin(), mains_found_.end(), [&](const RecordInfo& record) {
      const RecordDescription* said = description_.find(record.id);
      return said != nullptr && std::any_of(said->options.begin(), said->options.end(), is_whole);
    });
    const std::string nodes = fmt::format("{}", fmt::join(kept->operators, ", "));
    if (!any) {
      fit.notes.push_back(fmt::format(
          "the container has no wrapper model, so the other nodes of {} ({}) are not compared", model_path_, nodes));
      return Done{};
    }
    Error error{ErrorCode::kBadReference,
                fmt::format("{}: its other nodes ({}), their weights or connections differ from those of the wrapper "
                            "model of its binary",
                            model_path_, nodes)};
    fit.findings.push_back({std::move(error)});
    return Done{};
  }

  OnnxFit fit;

 private:
  // Returns true for a main node. Another node may carry a path, but readers ignore it and take the main
  // node's binary.
  static bool has_binary(const OnnxEpContext& node) { return node.main_context; }

  void find(ErrorCode code, const std::string& node, std::string message, const RecordInfo* record = nullptr) {
    Error error{code, fmt::format("{}: node \"{}\": {}", model_path_, node, message)};
    if (record != nullptr) error.where.record_id = record->id;
    fit.findings.push_back({std::move(error)});
  }

  // Returns the file that the node names, if a runtime would read it.
  std::optional<std::string> file_of(const OnnxEpContext& node) {
    if (node.cache.empty()) {
      find(ErrorCode::kMalformed, node.name, "names no file, and embed_mode is 0");
      return std::nullopt;
    }
    if (!leads_down(node.cache)) {
      find(ErrorCode::kMalformed, node.name,
           fmt::format("names \"{}\"; only a file in or below the model's own folder is read", node.cache));
      return std::nullopt;
    }
    const std::string file = path_beside(model_path_, node.cache);
    std::error_code problem;
    if (!fs::is_regular_file(file, problem)) {
      find(ErrorCode::kNotFound, node.name, fmt::format("names \"{}\", which does not exist", node.cache));
      return std::nullopt;
    }
    // If the model is a link, the folder of its real file counts too: the snapshots of model hubs consist of
    // links.
    const fs::path real = fs::canonical(file, problem);
    const fs::path model = fs::canonical(model_path_, problem).parent_path();
    const fs::path here = fs::canonical(parent_of(model_path_), problem);
    if (!path_below(here, real).empty() || !path_below(model, real).empty()) return file;
    find(ErrorCode::kMalformed, node.name,
         fmt::format("names \"{}\", a link out of the model's folder, which runtimes refuse", node.cache));
    return std::nullopt;
  }

  // Returns the reason why no record has the bytes, as far as it is known.
  std::string why_none(std::uint64_t size, const std::string& file, const RecordInfo* nearest,
                       std::uint64_t difference) const {
    if (nearest != nullptr) {
      return fmt::format("is none of the context binaries; \"{}\" has as many bytes ({}) and differs at byte {:#x}",
                         nearest->name, size, difference);
    }
    if (!file.empty() && format_of(file) == "dlc") {
      return "is a multi-SoC DLC, and no record; compare it with what `fatctx export --dlc` writes";
    }
    std::vector<std::string> sizes;
    for (const RecordInfo& record : all_records(container_)) {
      if (record.type == RecordType::kContextBinary) sizes.push_back(fmt::format("{}", record.size_bytes));
    }
    return fmt::format("has {} bytes, and no context binary has that many ({})", size,
                       sizes.empty() ? "there is none" : fmt::format("{}", fmt::join(sizes, ", ")));
  }

  // Returns the records with these bytes; several if a binary is stored for several targets.
  template <typename Compare>
  std::vector<RecordInfo> records_with(const OnnxEpContext& node, const std::string& file, std::uint64_t size,
                                       const Compare& compare) {
    std::vector<RecordInfo> found;
    const RecordInfo* nearest = nullptr;
    std::uint64_t farthest = 0;
    bool failed = false;
    bool compared = false;
    for (const RecordInfo& record : all_records(container_)) {
      if (record.type != RecordType::kContextBinary || !record.supported || record.size_bytes != size) continue;
      const auto difference = compare(record);
      compared = true;
      if (!difference.ok()) {
        Error error = difference.error();
        if (!error.where.record_id) error.where.record_id = record.id;
        fit.findings.push_back({std::move(error)});
        failed = true;
      } else if (!difference.value()) {
        found.push_back(record);
      } else if (nearest == nullptr || *difference.value() > farthest) {
        nearest = &record;
        farthest = *difference.value();
      }
    }
    if (compared) fit.checked_bytes += size;
    if (found.empty() && !failed) {
      const std::string subject = file.empty() ? "its payload" : fmt::format("\"{}\"", node.cache);
      find(ErrorCode::kBadReference, node.name, fmt::format("{} {}", subject, why_none(size, file, nearest, farthest)));
    }
    return found;
  }

  // Returns the records whose thin DLC, with the shared weights that they refer to, has these bytes.
  template <typename Compare>
  std::vector<RecordInfo> records_in_dlc(std::uint64_t size, const Compare& differs) {
    std::vector<RecordInfo> found;
    for (const RecordInfo& record : all_records(container_)) {
      if (record.type != RecordType::kContextBinary || !record.supported || record.weights.empty()) continue;
      const auto thin = thin_payload(container_, record);
      if (!thin.ok() || thin.value().size_bytes() != size) continue;  // a DLC that cannot be made equals none
      fit.checked_bytes += size;
      if (!differs(thin.value().bytes())) found.push_back(record);
    }
    return found;
  }

  std::vector<RecordInfo> records_of(const OnnxEpContext& node) {
    if (node.embedded && node.multi_soc) {
      auto found = records_in_dlc(node.payload.size(), [&](ByteView bytes) {
        const ByteView payload = std::as_bytes(std::span(node.payload));
        return !std::equal(bytes.begin(), bytes.end(), payload.begin(), payload.end());
      });
      if (!found.empty()) return found;
    }
    if (node.embedded) {
      return records_with(node, {}, node.payload.size(), [&](const RecordInfo& record) {
        return first_difference_in(container_, record, node.payload);
      });
    }
    const auto file = file_of(node);
    if (!file) return {};
    const auto known = by_file_.find(*file);
    if (known != by_file_.end()) return known->second;
    std::error_code problem;
    const std::uint64_t size = fs::file_size(*file, problem);
    if (node.multi_soc) {
      auto of_dlc = records_in_dlc(size, [&](ByteView bytes) {
        const auto difference = first_difference(bytes, *file);
        return !difference.ok() || difference.value();
      });
      if (!of_dlc.empty()) return by_file_.emplace(*file, std::move(of_dlc)).first->second;
    }
    auto found = records_with(node, *file, size, [&](const RecordInfo& record) {
      return first_difference(container_, record, *file, progress_);
    });
    by_file_.emplace(*file, found);
    return found;
  }

  void add_main(const OnnxEpContext& node) {
    std::vector<RecordInfo> found = records_of(node);
    const RecordInfo* record = choose(found, node);
    fit.nodes.push_back({.node = node.name,
                         .source = node.source,
                         .binary = node.embedded ? std::string() : node.cache,
                         .record = record == nullptr ? std::string() : std::string(record->name)});
    ++mains_;
    mains_found_.insert(mains_found_.end(), found.begin(), found.end());
    if (record != nullptr) check_graph(node, *record);
  }

  void add_follower(const OnnxEpContext& node) {
    if (mains_ == 0) {
      find(ErrorCode::kMalformed, node.name,
           "takes its graph from a main node's binary, and no node has main_context=1");
    }
    const RecordInfo* record = choose(mains_found_, node);
    fit.nodes.push_back({.node = node.name,
                         .source = node.source,
                         .binary = {},
                         .record = record == nullptr ? std::string() : std::string(record->name)});
    if (record != nullptr) check_graph(node, *record);
  }

  const DescribedGraph* graph_in(const RecordInfo& record, const std::string& name) const {
    const RecordDescription* said = description_.find(record.id);
    if (said == nullptr) return nullptr;
    const auto found =
        std::find_if(said->graphs.begin(), said->graphs.end(), [&](const auto& graph) { return graph.name == name; });
    return found == said->graphs.end() ? nullptr : &*found;
  }

  // Chooses, among equal records, the one that describes the node's graph.
  const RecordInfo* choose(const std::vector<RecordInfo>& records, const OnnxEpContext& node) const {
    const auto found = std::find_if(records.begin(), records.end(), [&](const RecordInfo& record) {
      return graph_in(record, graph_of(node)) != nullptr;
    });
    if (found != records.end()) return &*found;
    return records.empty() ? nullptr : &records.front();
  }

  void check_graph(const OnnxEpContext& node, const RecordInfo& record) {
    const RecordDescription* said = description_.find(record.id);
    if (said == nullptr || said->graphs.empty()) {
      fit.notes.push_back(
          fmt::format("record \"{}\" describes no graphs: names, inputs and outputs are not compared", record.name));
      return;
    }
    const DescribedGraph* graph = graph_in(record, graph_of(node));
    if (graph == nullptr) {
      std::vector<std::string_view> names;
      for (const DescribedGraph& one : said->graphs) names.push_back(one.name);
      find(ErrorCode::kBadReference, node.name,
           fmt::format("record \"{}\" has no graph \"{}\"; its graphs: {}", record.name, graph_of(node),
                       fmt::join(names, ", ")),
           &record);
      return;
    }
    if (graph->outputs.empty()) {
      fit.notes.push_back(
          fmt::format("record \"{}\" does not describe inputs and outputs of graph \"{}\"", record.name, graph->name));
      return;
    }
    check_tensors(node, record, "input", node.inputs, graph->inputs);
    check_tensors(node, record, "output", node.outputs, graph->outputs);
  }

  // Compares by name, as execution providers find them.
  void check_tensors(const OnnxEpContext& node, const RecordInfo& record, std::string_view role,
                     const std::vector<DescribedTensor>& of_node, const std::vector<DescribedTensor>& of_record) {
    std::map<std::string_view, const DescribedTensor*> wanted;
    for (const DescribedTensor& tensor : of_record) wanted.emplace(tensor.name, &tensor);
    for (const DescribedTensor& tensor : of_node) {
      const auto found = wanted.find(tensor.name);
      if (found == wanted.end()) {
        find(ErrorCode::kBadReference, node.name,
             fmt::format("its {} \"{}\" is none of record \"{}\"", role, tensor.name, record.name), &record);
        continue;
      }
      const DescribedTensor& described = *found->second;
      wanted.erase(found);
      if (tensor.dtype.empty()) continue;  // the model does not state it
      if (tensor.dtype == described.dtype && shapes_agree(tensor.shape, described.shape)) continue;
      find(ErrorCode::kBadReference, node.name,
           fmt::format("its {} \"{}\" is {}{}, in record \"{}\" {}{}", role, tensor.name, tensor.dtype,
                       shape_text(tensor.shape), record.name, described.dtype, shape_text(described.shape)),
           &record);
    }
    for (const auto& [name, tensor] : wanted) {
      find(ErrorCode::kBadReference, node.name,
           fmt::format("lacks the {} \"{}\" of record \"{}\"", role, name, record.name), &record);
    }
  }

  // Returns true for the same file, or a copy of it: the table of contents identifies a container.
  bool is_this(const Container& other) const {
    const OpenReport here = open_report(container_);
    const OpenReport there = open_report(other);
    return there.uuid == here.uuid && there.generation == here.generation && there.toc_hash == here.toc_hash;
  }

  // Checks that the container that the node names, or carries, is this one.
  void check_container(const OnnxEpContext& node) {
    if (node.embedded) {
      const auto inside = open_whole(Source::of_memory(std::as_bytes(std::span(node.payload))));
      if (inside.ok() && is_this(inside.value())) return;
      find(ErrorCode::kBadReference, node.name,
           inside.ok() ? "carries another container" : fmt::format("carries no container: {}", inside.error().message));
      return;
    }
    const auto file = file_of(node);
    if (!file) return;
    const auto named = open_whole(*file);
    if (named.ok() && is_this(named.value())) return;
    find(ErrorCode::kBadReference, node.name,
         named.ok() ? fmt::format("names \"{}\", which is another container", node.cache)
                    : fmt::format("names \"{}\", which is not a container: {}", node.cache, named.error().message));
  }

  // Checks a node of our provider. The unit is that of partition_name, or else that of the node's name, or
  // the only one.
  void add_own(const OnnxEpContext& node) {
    if (node.main_context) check_container(node);
    FittedNode made{.node = node.name,
                    .source = node.source,
                    .binary = node.embedded || !node.main_context ? std::string() : node.cache,
                    .record = {}};
    const auto units = own_units(node);
    const auto found = units.find(graph_of(node));
    if (found != units.end()) {
      made.record = compiled_for(node, found->second);
    } else if (node.partition_name.empty() && units.size() == 1) {
      made.record = compiled_for(node, units.begin()->second);
    } else if (!units.empty()) {
      std::vector<std::string_view> names;
      names.reserve(units.size());
      for (const auto& [unit, records] : units) names.push_back(unit);
      find(ErrorCode::kBadReference, node.name,
           fmt::format("\"{}\" is not a unit of the container; its units: {}", graph_of(node), fmt::join(names, ", ")));
    }
    fit.nodes.push_back(std::move(made));
  }

  // Returns our provider's records in the group of the node, by unit; several of one unit are for several
  // versions of ONNX Runtime. If there are none, adds a finding and returns an empty map.
  std::map<std::string_view, std::vector<RecordInfo>> own_units(const OnnxEpContext& node) {
    std::map<std::string_view, std::vector<RecordInfo>> units;
    std::set<std::string_view> groups;
    for (const RecordInfo& record : all_records(container_)) {
      if (record.type != RecordType::kContextBinary || record.key.backend != kOwnBackend) continue;
      groups.insert(record.key.group);
      if (node.fatctx_group.empty() || record.key.group == node.fatctx_group) units[record.key.unit].push_back(record);
    }
    if (groups.empty()) {
      find(ErrorCode::kBadReference, node.name,
           fmt::format("the container has no context binary for \"{}\"", kOwnBackend));
    } else if (units.empty()) {
      find(ErrorCode::kBadReference, node.name,
           fmt::format("its fatctx_group is \"{}\", and {} has no context binary for \"{}\" in that group, only in: "
                       "\"{}\" (a session may name one in the provider option \"group\"); {}",
                       node.fatctx_group, container_.path(), kOwnBackend, fmt::join(groups, "\", \""),
                       kOtherCompilation));
    }
    return units;
  }

  // Returns the name of the record that the node was written for. If the node has no digest, that is the
  // first. The record that a session takes depends on its ONNX Runtime, so any one that has the digest will
  // do.
  std::string_view compiled_for(const OnnxEpContext& node, const std::vector<RecordInfo>& records) {
    if (node.fatctx_digest.empty()) return records.front().name;
    std::vector<std::string> theirs;
    for (const RecordInfo& record : records) {
      const auto hash = content_hash_with_weights(container_, record);
      if (!hash.ok()) {
        Error error = hash.error();
        error.where.record_id = record.id;
        fit.findings.push_back({std::move(error)});
        return record.name;
      }
      theirs.push_back(to_hex(hash.value().bytes));
      if (theirs.back() == node.fatctx_digest) return record.name;
    }
    find(ErrorCode::kBadReference, node.name,
         fmt::format("its fatctx_digest is {}, and graph \"{}\" of {} has {}: {}", node.fatctx_digest,
                     records.front().key.unit, container_.path(), fmt::join(theirs, ", "), kOtherCompilation),
         &records.front());
    return {};
  }

  const Container& container_;
  const ContainerDescription& description_;
  const std::string& model_path_;
  const Progress& progress_;
  std::map<std::string, std::vector<RecordInfo>> by_file_;
  std::vector<RecordInfo> mains_found_;
  std::size_t mains_ = 0;
};

}  // namespace

Result<OnnxFit> fit_of_onnx(const Container& container, const std::string& model_path, const Progress& progress) {
  FATCTX_ASSIGN(const OnnxModel model, read_onnx(model_path));
  if (model.ep_contexts.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: no EPContext node in it; it refers to no container", model_path)};
  }
  FATCTX_ASSIGN(const ContainerDescription description, container.describe());
  Fitting fitting(container, description, model_path, progress);
  fitting.add(model);
  FATCTX_TRY(fitting.add_whole(model));
  return std::move(fitting.fit);
}

}  // namespace fatctx::tools
