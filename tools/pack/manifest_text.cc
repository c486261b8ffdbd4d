// Writes manifests; tests/tools/pack/manifest_test.cc checks that the parser understands them.
#include <algorithm>

#include "tools/pack/manifest.h"

namespace fatctx::tools {

namespace {

Json target_json(const PackKey& key) {
  Json target = {{"backend", key.backend}};
  if (!key.arch.empty()) target.add("arch", key.arch);
  if (!key.features.empty()) target.add("features", key.features);
  if (!key.part.empty()) target.add("part", key.part);
  if (key.qnn_soc != 0) target.add("qnn_soc", key.qnn_soc);
  if (key.vtcm_mb != 0) target.add("vtcm_mb", key.vtcm_mb);
  if (key.sdk.known()) target.add("sdk", to_text(key.sdk));
  if (key.api.known()) target.add("api", to_text(key.api));
  if (key.blob.known()) target.add("blob", to_text(key.blob));
  if (!key.variant.empty()) target.add("variant", key.variant);
  if (key.generic) target.add("generic", true);
  return target;
}

Json tensors_json(const std::vector<PackTensor>& tensors) {
  Json ranges = Json::array();
  for (const PackTensor& tensor : tensors) {
    Json range = {{"name", tensor.name},
                  {"dtype", dtype_name(tensor.dtype)},
                  {"shape", tensor.shape},
                  {"offset", tensor.offset_in_blob}};
    if (tensor.alias) range.add("alias", true);
    ranges.push_back(std::move(range));
  }
  return {{"format", "ranges"}, {"ranges", std::move(ranges)}};
}

Json graph_tensors_json(const std::vector<DescribedTensor>& tensors) {
  Json list = Json::array();
  for (const DescribedTensor& tensor : tensors) {
    list.push_back({{"name", tensor.name}, {"dtype", tensor.dtype}, {"shape", tensor.shape}});
  }
  return list;
}

Json graphs_json(const std::vector<DescribedGraph>& graphs) {
  Json list = Json::array();
  for (const DescribedGraph& graph : graphs) {
    Json json = {{"name", graph.name},
                 {"inputs", graph_tensors_json(graph.inputs)},
                 {"outputs", graph_tensors_json(graph.outputs)}};
    if (graph.spill_fill_bytes != 0) json.add("spill_fill_bytes", graph.spill_fill_bytes);
    list.push_back(std::move(json));
  }
  return list;
}

// Returns an object if that keeps the order, else a list.
Json options_json(const std::vector<DescribedOption>& options) {
  const bool by_key = std::adjacent_find(options.begin(), options.end(),
                                         [](const auto& a, const auto& b) { return a.key >= b.key; }) == options.end();
  Json json = by_key ? Json::object() : Json::array();
  for (const DescribedOption& option : options) {
    if (!by_key) {
      Json row = {{"key", option.key}, {"value", option.value}};
      if (!option.owner.empty()) row.add("owner", option.owner);
      json.push_back(std::move(row));
    } else if (option.owner.empty()) {
      json.add(option.key, option.value);
    } else {
      json.add(option.key, {{"value", option.value}, {"owner", option.owner}});
    }
  }
  return json;
}

Json ranges_json(const std::vector<PackRange>& ranges) {
  Json list = Json::array();
  for (const PackRange& range : ranges) {
    list.push_back({{"name", range.name}, {"offset", range.offset}, {"size", range.size_bytes}});
  }
  return list;
}

Json record_json(const PackRecord& record, const std::string& file, const std::string& model) {
  Json row = {{"type", record_type_name(record.type)}, {"name", record.name}, {"file", file}};
  if (!record.key.backend.empty()) row.add("target", target_json(record.key));
  if (!record.key.unit.empty()) row.add("unit", record.key.unit);
  if (!record.key.group.empty() && record.key.group != model) row.add("group", record.key.group);
  if (!record.weights.empty()) row.add("weights", record.weights);
  if (!record.tensors.empty()) row.add("tensors", tensors_json(record.tensors));
  if (!record.ranges.empty()) row.add("ranges", ranges_json(record.ranges));
  const RecordDescription& description = record.description;
  if (!description.graphs.empty()) row.add("graphs", graphs_json(description.graphs));
  if (!description.options.empty()) row.add("options", options_json(description.options));
  if (!description.format.empty()) row.add("format", description.format);
  if (!description.producer.empty()) row.add("producer", description.producer);
  if (record.codec != default_codec(record.type)) row.add("codec", codec_name(record.codec));
  return row;
}

}  // namespace

std::string manifest_text(const Manifest& manifest, const std::vector<PackRecord>& records,
                          const std::vector<std::string>& files) {
  Json json = {{"schema", kManifestSchema}, {"name", manifest.name}};
  if (!manifest.options.empty()) json.add("options", options_json(manifest.options));
  const SharingWish& wish = manifest.sharing;
  if (wish.sharing) json.add("sharing", sharing_name(*wish.sharing));
  if (wish.max_pieces) json.add("max_pieces", *wish.max_pieces);
  if (wish.granule_log2) json.add("granule", (1U << *wish.granule_log2) >> 10);
  Json rows = Json::array();
  for (std::size_t i = 0; i < records.size(); ++i) rows.push_back(record_json(records[i], files[i], manifest.name));
  json.add("records", std::move(rows));
  return write_json(json, {.ascii = false}) + "\n";
}

}  // namespace fatctx::tools
