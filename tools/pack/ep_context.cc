#include "tools/pack/ep_context.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "fatctx/content_hash.h"
#include "tools/facts/io_quant.h"
#include "tools/facts/quant_facts.h"
#include "tools/facts/spill_fill.h"
#include "tools/onnx/ep_context_facts.h"
#include "tools/onnx/model_folder.h"
#include "tools/onnx/onnx_import.h"
#include "tools/onnx/onnx_whole.h"
#include "tools/pack/manifest_flags.h"

namespace fatctx::tools {

namespace {

constexpr std::string_view kCompatibilityKey = "ep_compatibility_info.QNNExecutionProvider";
constexpr std::string_view kQnnFormat = "qnn-context-binary";
// The metadata of DLCs says so for each SoC for which nothing else was asked (seen with onnxruntime-qnn 2.7.0).
constexpr std::uint32_t kVtcmUnlessAskedMb = 4;
constexpr std::size_t kFields = 8;  // version, backend, SDK, backend API, archs, SoCs, VTCM sizes, kind of driver

std::vector<std::string_view> split(std::string_view text, char at) {
  std::vector<std::string_view> parts;
  for (std::size_t from = 0;;) {
    const std::size_t to = std::min(text.find(at, from), text.size());
    parts.push_back(text.substr(from, to - from));
    if (to == text.size()) return parts;
    from = to + 1;
  }
}

std::optional<std::uint32_t> number_of(std::string_view text) {
  if (text.empty() || text.size() > 9) return std::nullopt;
  std::uint32_t number = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    number = number * 10 + static_cast<std::uint32_t>(c - '0');
  }
  return number;
}

// Returns the path of a file that a model names. The name must not lead out of the model's folder. Links are
// followed, because the owner of the files made them: the snapshots of model hubs consist of links.
Result<std::string> beside(const std::string& model, const std::string& name) {
  if (name.empty() || !leads_down(name)) {
    return invalid_argument(
        fmt::format("{}: names the binary \"{}\"; only a file in the model's own folder is read", model, name));
  }
  return path_beside(model, name);
}

// Returns a graph with the node's inputs and outputs. The model itself may hold more nodes, and conversions
// around them.
DescribedGraph graph_of(const OnnxModel& model, const OnnxEpContext& node) {
  const auto typed = [](const DescribedTensor& tensor) { return !tensor.dtype.empty(); };
  const bool known = !node.outputs.empty() && std::all_of(node.inputs.begin(), node.inputs.end(), typed) &&
                     std::all_of(node.outputs.begin(), node.outputs.end(), typed);
  if (!known) return model.graph;  // the closest description
  return {.name = {}, .inputs = node.inputs, .outputs = node.outputs};
}

const std::string& graph_name_of(const OnnxEpContext& node) {
  return node.partition_name.empty() ? node.name : node.partition_name;
}

void add_graph(PackRecord& record, const OnnxModel& model, const OnnxEpContext& node, IoQuantisation& io) {
  DescribedGraph graph = graph_of(model, node);
  graph.name = graph_name_of(node);
  auto& graphs = record.description.graphs;
  const bool there = std::any_of(graphs.begin(), graphs.end(), [&](const auto& g) { return g.name == graph.name; });
  if (there || graph.name.empty()) return;
  for (const auto& [name, quantisation] : node.quantised) io[graph.name].emplace(name, quantisation);
  graphs.push_back(std::move(graph));
}

// The records that a file of EPContext nodes has become.
struct FileRecords {
  std::size_t first = 0;
  std::size_t count = 1;
  bool dlc = false;
  std::vector<std::size_t> open = {};  // the context binaries whose graphs the metadata of the DLC does not list
};

// Adds the graph of a node that names a DLC. The metadata of the DLC is the better source: it knows for each SoC which
// graphs were compiled. So a graph goes only to binaries without such a list. Returns false if the lists of all
// binaries contradict the node.
bool add_graph_of_dlc(std::vector<ManifestRecord>& records, const FileRecords& dlc, const OnnxModel& model,
                      const OnnxEpContext& node, std::map<std::size_t, IoQuantisation>& io) {
  for (const std::size_t at : dlc.open) add_graph(records[at].record, model, node, io[at]);
  if (!dlc.open.empty()) return true;
  const std::string& name = graph_name_of(node);
  return std::any_of(
      records.begin() + static_cast<std::ptrdiff_t>(dlc.first),
      records.begin() + static_cast<std::ptrdiff_t>(dlc.first + dlc.count), [&](const ManifestRecord& there) {
        const auto& graphs = there.record.description.graphs;
        // The provider takes the only graph of a binary, whatever the node is called.
        return graphs.size() == 1 || std::ranges::find(graphs, name, &DescribedGraph::name) != graphs.end();
      });
}

// Copies the provider's facts about the binary, word for word.
void add_facts(const OnnxModel& model, const OnnxEpContext& node, PackRecord& record) {
  const auto add = [&record](std::string_view key, std::string value) {
    if (!value.empty()) {
      record.description.options.push_back({std::string(key), std::move(value), std::string(kEpContextOwner)});
    }
  };
  add(kSourceFact, node.source);
  add(kSdkVersionFact, node.sdk_version);
  if (node.max_size != 0) add(kMaxSizeFact, fmt::format("{}", node.max_size));
  for (const auto& [key, value] : model.metadata) {
    if (key.starts_with(kCompatibilityPrefix)) add(key, value);
  }
}

// Sets the target from the notes of QNN's provider.
Status set_qnn_target(const std::string& path, const OnnxModel& model, PackRecord& record) {
  const auto text = model.metadata.find(std::string(kCompatibilityKey));
  record.key.backend = "htp";
  record.description.format = kQnnFormat;
  if (text == model.metadata.end()) return Done{};
  auto targets = parse_qnn_compatibility(text->second);
  if (!targets.ok()) return in_context(std::move(targets).error(), path);
  if (targets.value().empty()) return Done{};
  if (targets.value().size() > 1) {
    return invalid_argument(fmt::format("{}: {} targets for the one binary {}; pack it with --binary and its target",
                                        path, targets.value().size(), record.source.path));
  }
  const QnnTarget& target = targets.value().front();
  record.key.qnn_soc = target.qnn_soc;
  if (target.arch != 0) record.key.arch = fmt::format("v{}", target.arch);
  record.key.vtcm_mb = target.vtcm_mb;
  record.key.sdk = target.sdk;
  return Done{};
}

// Sets the target of a binary. `provider` is its maker if the node does not name one.
Status set_target(const std::string& path, const OnnxModel& model, const OnnxEpContext& node, std::string_view provider,
                  ImportedRecords& imported, PackRecord& record) {
  if (format_of(record.source.path) == "ovep-bin") {
    record.key.backend = "openvino";
    record.description.format = "ovep-bin";
    return Done{};
  }
  const std::string_view source = node.source.empty() ? provider : node.source;
  if (is_qnn(source)) return set_qnn_target(path, model, record);
  record.key.backend = backend_of_source(source);
  imported.notes.push_back(fmt::format(
      "{}: nothing says which devices the binary {} of {} is for, so only those get it whose backend is said "
      "to be \"{}\"; pack it with --binary FILE@BACKEND:ARCH if you know",
      path, record.name, source, record.key.backend));
  return Done{};
}

// Checks that both state the same target: one binary is for one device, whichever of its models names it.
Status check_same_target(const ManifestRecord& there, const ManifestRecord& added) {
  const PackKey& a = there.record.key;
  const PackKey& b = added.record.key;
  const auto differ = [&](std::string_view fact, std::string x, std::string y) -> Status {
    if (x.empty() || y.empty() || x == y) return Done{};
    return invalid_argument(
        fmt::format("{} and {} name the binary {} and say that its {} is {}, and {}: compile them for one target",
                    there.where, added.where, added.record.source.path, fact, x, y));
  };
  const auto text = [](std::uint32_t number) { return number == 0 ? std::string() : std::to_string(number); };
  FATCTX_TRY(differ("backend", a.backend, b.backend));
  FATCTX_TRY(differ("SoC", text(a.qnn_soc), text(b.qnn_soc)));
  FATCTX_TRY(differ("part", a.part, b.part));
  FATCTX_TRY(differ("arch", a.arch, b.arch));
  return differ("vtcm_mb", text(a.vtcm_mb), text(b.vtcm_mb));
}

// Makes the record of a model with nodes between, and lets its binaries refer to it.
Status add_whole_model(const std::string& path, const OnnxModel& model, KeptModel kept, const std::string& name,
                       std::size_t files, std::vector<ManifestRecord>& records) {
  if (files != 1) {
    return invalid_argument(fmt::format(
        "{}: {} nodes stay on the CPU ({}), and the others name {} binaries; such a model is kept around one "
        "binary only: compile it again so that all of its EPContext nodes share one, or pack each with "
        "--binary FILE@TARGET and keep the model yourself",
        path, kept.other_nodes, fmt::join(kept.operators, ", "), files));
  }
  const ByteView bytes = std::as_bytes(std::span(kept.bytes));
  const std::string hash = to_hex(content_hash(bytes).bytes);
  ManifestRecord made;
  made.where = path;
  made.record.type = RecordType::kWrapperModel;
  made.record.name = name;
  made.record.key.group = records.front().record.key.group;
  made.record.key.unit = records.front().record.key.unit;
  made.record.key.variant = name;  // keys are unique, and a group may have several such models
  made.record.source.bytes.assign(bytes.begin(), bytes.end());
  made.record.description.format = "onnx";
  made.record.description.graphs.push_back(model.graph);
  made.record.description.options = {
      {std::string(kPartitionsFact), fmt::format("{}", kept.partitions), std::string(kEpContextOwner)},
      {"operators", fmt::format("{}", fmt::join(kept.operators, ", ")), "onnx"}};
  for (ManifestRecord& there : records) {
    if (there.record.type != RecordType::kContextBinary) continue;
    there.record.description.options.push_back({std::string(kWholeModelFact), hash, std::string(kEpContextOwner)});
  }
  records.push_back(std::move(made));
  return Done{};
}

// Merges equal models for several chips: one of the two names stays, whatever the order.
bool joined_with_equal_model(std::vector<ManifestRecord>& records, const PackRecord& added) {
  for (ManifestRecord& there : records) {
    PackRecord& record = there.record;
    if (record.type != RecordType::kWrapperModel || record.source.bytes != added.source.bytes ||
        record.key.group != added.key.group || record.key.unit != added.key.unit) {
      continue;
    }
    record.name = std::min(record.name, added.name);
    record.key.variant = record.name;
    return true;
  }
  return false;
}

// Keeps the larger size of two models of one binary: the provider knows all of its graphs only when it writes
// the last model.
void keep_larger_max_size(const RecordDescription& said, RecordDescription& kept) {
  const auto size = [](const RecordDescription& description) {
    const auto found = spill_fill_of(description);
    return found.ok() ? found.value() : 0;
  };
  if (size(said) <= size(kept)) return;
  std::erase_if(kept.options, [](const DescribedOption& option) {
    return option.owner == kEpContextOwner && option.key == kMaxSizeFact;
  });
  kept.options.push_back({std::string(kMaxSizeFact), fmt::format("{}", size(said)), std::string(kEpContextOwner)});
}

}  // namespace

Result<std::vector<QnnTarget>> parse_qnn_compatibility(std::string_view text) {
  const auto malformed = [&](std::string_view what) {
    return Error{ErrorCode::kMalformed,
                 fmt::format("the compatibility text \"{}\" of the QNN provider: {}", text.substr(0, 80), what)};
  };
  const auto fields = split(text, ':');
  if (fields.front() != "v2") return std::vector<QnnTarget>{};
  if (fields.size() != kFields) return malformed(fmt::format("{} fields, not {}", fields.size(), kFields));
  const auto archs = split(fields[4], ',');
  const auto socs = split(fields[5], ',');
  const auto vtcms = split(fields[6], ',');
  if (archs.size() != socs.size() || socs.size() != vtcms.size()) {
    return malformed("its lists of archs, SoCs and VTCM sizes differ in length");
  }
  const auto sdk = parse_version(fields[2]);
  std::vector<QnnTarget> targets;
  for (std::size_t i = 0; i < socs.size(); ++i) {
    const auto arch = number_of(archs[i]);
    const auto soc = number_of(socs[i]);
    const auto vtcm = number_of(vtcms[i]);
    if (!arch || !soc || !vtcm) return malformed("an arch, SoC or VTCM size is not a number");
    targets.push_back({*soc, *arch, *vtcm, sdk.ok() ? sdk.value() : Version{}});
  }
  return targets;
}

Result<ImportedRecords> records_from_ep_context(std::string_view flag, const std::string& model_name,
                                                std::string_view provider) {
  FATCTX_ASSIGN(FileFlag given, parse_file_flag("--ep-context", flag, {"name", "unit", "group", "variant"}));
  const std::string& path = given.path;
  auto& words = given.words;
  const std::string group = words.contains("group") ? words["group"] : model_name;
  FATCTX_ASSIGN(const OnnxModel model, read_onnx(path));
  if (model.ep_contexts.empty()) {
    return invalid_argument(
        fmt::format("{}: no EPContext node in it; give the model that was written with ep.context_enable=1", path));
  }
  ImportedRecords imported;
  std::vector<ManifestRecord>& records = imported.records;
  std::map<std::string, FileRecords> by_file;
  std::vector<std::size_t> binaries;  // without the entries of DLCs
  std::map<std::size_t, IoQuantisation> io;
  std::vector<const OnnxEpContext*> followers;
  const auto add_to_dlc = [&](const std::string& file, const FileRecords& dlc, const OnnxEpContext& node) {
    if (add_graph_of_dlc(records, dlc, model, node, io)) return;
    imported.notes.push_back(fmt::format("{}: no context binary of {} lists the graph \"{}\" of node \"{}\"", path,
                                         file, graph_name_of(node), node.name));
  };
  for (const OnnxEpContext& node : model.ep_contexts) {
    if (!node.main_context && node.cache.empty()) {  // its binary is that of the main node
      followers.push_back(&node);
      continue;
    }
    if (is_own(node)) {
      return invalid_argument(fmt::format(
          "{}: node \"{}\" is of the provider of fatctx, which has written a container already; give that to "
          "`fatctx append` or `fatctx merge`",
          path, node.name));
    }
    if (node.embedded) {
      return invalid_argument(
          fmt::format("{}: the binary of node \"{}\" is inside the model; compile with "
                      "ep.context_embed_mode=0",
                      path, node.name));
    }
    FATCTX_ASSIGN(const std::string file, beside(path, node.cache));
    const auto [place, fresh] = by_file.emplace(file, FileRecords{.first = records.size()});
    FileRecords& known = place->second;
    if (!fresh && known.dlc) {
      add_to_dlc(file, known, node);
      continue;
    }
    if (!fresh) {
      add_graph(records[known.first].record, model, node, io[known.first]);
      continue;
    }
    if (format_of(file) == "dlc") {
      known.dlc = true;
      const std::string prefix = words["name"].empty() ? std::string() : fmt::format("{}.", words["name"]);
      FATCTX_ASSIGN(auto inside,
                    manifest_records_from_dlc(file, {.group = group, .unit = words["unit"], .prefix = prefix}));
      std::move(inside.records.begin(), inside.records.end(), std::back_inserter(records));
      std::move(inside.notes.begin(), inside.notes.end(), std::back_inserter(imported.notes));
      known.count = records.size() - known.first;
      for (std::size_t at = known.first; at < records.size(); ++at) {
        const PackRecord& entry = records[at].record;
        if (entry.type == RecordType::kContextBinary && entry.description.graphs.empty()) known.open.push_back(at);
      }
      add_to_dlc(file, known, node);
      continue;
    }
    ManifestRecord record;
    record.where = path;
    record.record.type = RecordType::kContextBinary;
    record.record.name = std::filesystem::path(file).filename().string();
    record.record.source.path = file;
    record.record.key.group = group;
    record.record.key.unit = words["unit"];
    record.record.key.variant = words["variant"];
    FATCTX_TRY(set_target(path, model, node, provider, imported, record.record));
    add_facts(model, node, record.record);
    add_graph(record.record, model, node, io[records.size()]);
    binaries.push_back(records.size());
    records.push_back(std::move(record));
  }
  if (records.empty()) return invalid_argument(fmt::format("{}: no EPContext node of it names a binary", path));
  for (const OnnxEpContext* node : followers) {
    if (by_file.size() != 1) break;  // its owner is unknown
    const auto& only = *by_file.begin();
    if (only.second.dlc) {
      add_to_dlc(only.first, only.second, *node);
    } else {
      add_graph(records[binaries[0]].record, model, *node, io[binaries[0]]);
    }
  }
  for (const auto& [index, tensors] : io) {
    if (tensors.empty()) continue;
    records[index].record.description.options.push_back(
        {std::string(kIoQuant), io_quant_text(tensors), std::string(kQuantOwner)});
  }
  FATCTX_ASSIGN(std::optional<KeptModel> kept, kept_model(path, model));
  if (!words["name"].empty()) {
    for (const std::size_t at : binaries) {
      std::string& name = records[at].record.name;
      name = binaries.size() == 1 ? words["name"] : fmt::format("{}.{}", words["name"], name);
    }
  }
  if (kept) {
    const std::string name =
        words["name"].empty() ? std::filesystem::path(path).filename().string() : fmt::format("{}.onnx", words["name"]);
    FATCTX_TRY(add_whole_model(path, model, std::move(*kept), name, by_file.size(), records));
  }
  return imported;
}

void add_default_vtcm(PackRecord& record) {
  if (record.description.format != kQnnFormat || record.key.qnn_soc == 0 || record.key.vtcm_mb != 0) return;
  record.key.vtcm_mb = kVtcmUnlessAskedMb;
}

Result<bool> joined_with(std::vector<ManifestRecord>& records, const ManifestRecord& made) {
  const PackRecord& added = made.record;
  if (added.type == RecordType::kWrapperModel) return joined_with_equal_model(records, added);
  const auto same = [&added](const ManifestRecord& other) {
    const PackRecord& there = other.record;
    if (there.type != added.type || there.name != added.name || there.key.unit != added.key.unit ||
        there.key.group != added.key.group || there.key.variant != added.key.variant) {
      return false;
    }
    // The layout of a DLC has no file of its own.
    if (there.source.path.empty()) return added.source.path.empty() && there.source.bytes == added.source.bytes;
    std::error_code unknown;
    return std::filesystem::equivalent(there.source.path, added.source.path, unknown);
  };
  const auto found = std::find_if(records.begin(), records.end(), same);
  if (found == records.end()) return false;
  FATCTX_TRY(check_same_target(*found, made));
  RecordDescription& description = found->record.description;
  for (const DescribedGraph& graph : added.description.graphs) {
    const bool known = std::any_of(description.graphs.begin(), description.graphs.end(),
                                   [&](const DescribedGraph& other) { return other.name == graph.name; });
    if (!known) description.graphs.push_back(graph);
  }
  keep_larger_max_size(added.description, description);
  for (const DescribedOption& option : added.description.options) {
    const bool whole = option.owner == kEpContextOwner && option.key == kWholeModelFact;
    const bool known = std::any_of(description.options.begin(), description.options.end(), [&](const auto& other) {
      return other.owner == option.owner && other.key == option.key && other.value == option.value;
    });
    if (whole && !known) description.options.push_back(option);
  }
  FATCTX_ASSIGN(IoQuantisation io, io_quant_of(description.options));
  FATCTX_ASSIGN(IoQuantisation more, io_quant_of(added.description.options));
  io.merge(more);
  std::erase_if(description.options, [](const auto& o) { return o.owner == kQuantOwner && o.key == kIoQuant; });
  if (!io.empty()) description.options.push_back({std::string(kIoQuant), io_quant_text(io), std::string(kQuantOwner)});
  return true;
}

Result<ImportedRecords> manifest_records_from_dlc(const std::string& path, const DlcImport& import) {
  FATCTX_ASSIGN(auto found, records_from_dlc(path, import));
  FATCTX_ASSIGN(const DlcInfo info, list_dlc(path));
  ImportedRecords imported;
  for (const std::string& finding : info.findings) imported.notes.push_back(fmt::format("{}: {}", path, finding));
  for (PackRecord& record : found) {
    ManifestRecord made;
    made.record = std::move(record);
    made.where = path;
    imported.records.push_back(std::move(made));
  }
  return imported;
}

std::string format_of(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) return {};  // opening a pipe would block until a writer opens it
  std::string head(8, '\0');
  std::ifstream in(path, std::ios::binary);
  in.read(head.data(), static_cast<std::streamsize>(head.size()));
  if (head.starts_with("IRPA")) return "irpa";
  if (head.starts_with("GGUF")) return "gguf";
  if (head == "OVEP_BIN") return "ovep-bin";
  const auto dlc = is_dlc(path);
  if (dlc.ok() && dlc.value()) return "dlc";
  if (head.ends_with("IREE") || (head.starts_with("PK\x03\x04") && path.ends_with(".vmfb"))) return "iree-vmfb";
  return {};
}

}  // namespace fatctx::tools
