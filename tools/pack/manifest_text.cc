// Writes manifests; tests/tools/pack/manifest_test.cc checks that the parser understands them.
#include <algorithm>

#include <nlohmann/json.hpp>

#include "tools/pack/manifest.h"

namespace fatctx::tools {

namespace {

using Json = nlohmann::ordered_json;

Json target_json(const PackKey& key) {
  Json target;
  target["backend"] = key.backend;
  if (!key.arch.empty()) target["arch"] = key.arch;
  if (!key.features.empty()) target["features"] = key.features;
  if (!key.part.empty()) target["part"] = key.part;
  if (key.qnn_soc != 0) target["qnn_soc"] = key.qnn_soc;
  if (key.vtcm_mb != 0) target["vtcm_mb"] = key.vtcm_mb;
  if (key.sdk.known()) target["sdk"] = to_text(key.sdk);
  if (key.api.known()) target["api"] = to_text(key.api);
  if (key.blob.known()) target["blob"] = to_text(key.blob);
  if (!key.variant.empty()) target["variant"] = key.variant;
  if (key.generic) target["generic"] = true;
  return target;
}

Json tensors_json(const std::vector<PackTensor>& tensors) {
  Json ranges = Json::array();
  for (const PackTensor& tensor : tensors) {
    Json range;
    range["name"] = tensor.name;
    range["dtype"] = dtype_name(tensor.dtype);
    range["shape"] = tensor.shape;
    range["offset"] = tensor.offset_in_blob;
    if (tensor.alias) range["alias"] = true;
    ranges.push_back(std::move(range));
  }
  Json json;
  json["format"] = "ranges";
  json["ranges"] = std::move(ranges);
  return json;
}

Json graph_tensors_json(const std::vector<DescribedTensor>& tensors) {
  Json list = Json::array();
  for (const DescribedTensor& tensor : tensors) {
    Json json;
    json["name"] = tensor.name;
    json["dtype"] = tensor.dtype;
    json["shape"] = tensor.shape;
    list.push_back(std::move(json));
  }
  return list;
}

Json graphs_json(const std::vector<DescribedGraph>& graphs) {
  Json list = Json::array();
  for (const DescribedGraph& graph : graphs) {
    Json json;
    json["name"] = graph.name;
    json["inputs"] = graph_tensors_json(graph.inputs);
    json["outputs"] = graph_tensors_json(graph.outputs);
    if (graph.spill_fill_bytes != 0) json["spill_fill_bytes"] = graph.spill_fill_bytes;
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
      if (!option.owner.empty()) row["owner"] = option.owner;
      json.push_back(std::move(row));
    } else if (option.owner.empty()) {
      json[option.key] = option.value;
    } else {
      json[option.key] = Json{{"value", option.value}, {"owner", option.owner}};
    }
  }
  return json;
}

}  // namespace

std::string manifest_text(const Manifest& manifest, const std::vector<PackRecord>& records,
                          const std::vector<std::string>& files) {
  const std::string& name = manifest.name;
  Json json;
  json["schema"] = kManifestSchema;
  json["name"] = name;
  if (!manifest.options.empty()) json["options"] = options_json(manifest.options);
  const SharingWish& wish = manifest.sharing;
  if (wish.sharing) json["sharing"] = sharing_name(*wish.sharing);
  if (wish.max_pieces) json["max_pieces"] = *wish.max_pieces;
  if (wish.granule_log2) json["granule"] = (1U << *wish.granule_log2) >> 10;
  json["records"] = Json::array();
  for (std::size_t i = 0; i < records.size(); ++i) {
    const PackRecord& record = records[i];
    Json row;
    row["type"] = record_type_name(record.type);
    row["name"] = record.name;
    row["file"] = files[i];
    if (!record.key.backend.empty()) row["target"] = target_json(record.key);
    if (!record.key.unit.empty()) row["unit"] = record.key.unit;
    if (!record.key.group.empty() && record.key.group != name) row["group"] = record.key.group;
    if (!record.weights.empty()) row["weights"] = record.weights;
    if (!record.tensors.empty()) row["tensors"] = tensors_json(record.tensors);
    for (const PackRange& range : record.ranges) {
      Json json_range;
      json_range["name"] = range.name;
      json_range["offset"] = range.offset;
      json_range["size"] = range.size_bytes;
      row["ranges"].push_back(std::move(json_range));
    }
    const RecordDescription& description = record.description;
    if (!description.graphs.empty()) row["graphs"] = graphs_json(description.graphs);
    if (!description.options.empty()) row["options"] = options_json(description.options);
    if (!description.format.empty()) row["format"] = description.format;
    if (!description.producer.empty()) row["producer"] = description.producer;
    if (record.codec != default_codec(record.type)) row["codec"] = codec_name(record.codec);
    json["records"].push_back(std::move(row));
  }
  return json.dump(2) + "\n";
}

}  // namespace fatctx::tools
