#include "fatctx/info.h"

#include "base/json.h"
#include "container/format/description_json.h"
#include "fatctx/layout.h"
#include "fatctx/presence.h"
#include "fatctx/sharing.h"
#include "runtime/inspect/extents_json.h"
#include "runtime/inspect/sharing_json.h"

namespace fatctx {
namespace {

Json version_json(const Version& version) { return version.known() ? Json(to_text(version)) : Json(); }

// Leaves out empty and zero fields, which mean "not stated".
Json key_json(const SelectionKey& key) {
  Json json = Json::object();
  const auto add_text = [&](const char* name, std::string_view value) {
    if (!value.empty()) json.add(name, value);
  };
  add_text("group", key.group);
  add_text("unit", key.unit);
  add_text("backend", key.backend);
  if (key.qnn_soc != 0) json.add("qnn_soc", key.qnn_soc);
  add_text("part", key.part);
  add_text("arch", key.arch);
  add_text("features", key.features);
  if (key.vtcm_mb != 0) json.add("vtcm_mb", key.vtcm_mb);
  if (key.sdk.known()) json.add("sdk", version_json(key.sdk));
  add_text("variant", key.variant);
  if (key.api.known()) json.add("api", version_json(key.api));
  if (key.blob.known()) json.add("blob", version_json(key.blob));
  if (key.generic) json.add("generic", true);
  return json;
}

Json record_json(const RecordInfo& record, const Container& container, const SameBytes& same_bytes,
                 const RecordPresence& presence) {
  const auto path = container.access_path_of(record.id);  // none if the record has no view
  return {{"id", record.id},
          {"type", record_type_name(record.type)},
          {"name", record.name},
          {"size_bytes", record.size_bytes},
          {"stored_bytes", record.stored_bytes},
          {"needed_bytes", presence.needed_bytes},
          {"absent_bytes", presence.absent_bytes},
          {"codec", codec_name(record.codec)},
          {"slice_count", record.slice_count},
          {"recipe", record.recipe},
          {"access_path", path.ok() ? Json(access_path_name(path.value())) : Json(nullptr)},
          {"file_offset", record.file_offset},
          {"xxh3_128", to_hex(record.hash.bytes)},
          {"supported", record.supported},
          {"ignorable", record.ignorable},
          {"key", key_json(record.key)},
          {"weights", record.weights},
          {"same_bytes_as", same_bytes.others(record)}};
}

Json note_json(const EvidenceNote& note) {
  return {{"device", note.device},
          {"tool", note.tool},
          {"metric", note.metric},
          {"value", note.value},
          {"date", note.date}};
}

// Returns how a model was quantised, from the options that `pack` makes of "quant" in a manifest.
Json quant_json(const std::vector<DescribedOption>& options) {
  Json json = Json::object();
  for (const DescribedOption& option : options) {
    const bool repeated = json.find(option.key) != nullptr;  // foreign files may contain duplicates
    if (option.owner == "quant" && !repeated) json.add(option.key, option.value);
  }
  return json;
}

Json generations_json(const OpenReport& report) {
  Json array = Json::array();
  for (const GenerationInfo& one : report.earlier_generations) {
    array.push_back({{"number", one.number}, {"committed_end", one.committed_end}});
  }
  return array;
}

Result<Json> container_json(const Container& container, const ContainerDescription& description,
                            const PresenceReport& presence) {
  FATCTX_ASSIGN(const OpenReport report, container.report());
  FATCTX_ASSIGN(const auto all, container.records());
  const SameBytes same_bytes(all);
  Json records = Json::array();
  for (std::size_t i = 0; i < all.size(); ++i) {
    const RecordInfo& record = all[i];
    Json json = record_json(record, container, same_bytes, presence.records[i]);
    Json format;
    Json producer;
    Json graphs = Json::array();
    std::uint64_t spill_fill_bytes = 0;
    Json quant = Json::object();
    Json notes = Json::array();
    if (const RecordDescription* said = description.find(record.id)) {
      if (!said->format.empty()) format = said->format;
      if (!said->producer.empty()) producer = said->producer;
      for (const DescribedGraph& graph : said->graphs) graphs.push_back(graph.name);
      spill_fill_bytes = largest_spill_fill(*said);
      quant = quant_json(said->options);
      for (const EvidenceNote& note : said->notes) notes.push_back(note_json(note));
    }
    json.add("format", std::move(format));
    json.add("producer", std::move(producer));
    if (!graphs.items()->empty()) json.add("graphs", std::move(graphs));
    if (spill_fill_bytes != 0) json.add("spill_fill_bytes", spill_fill_bytes);
    if (!quant.members()->empty()) json.add("quant", std::move(quant));
    if (!notes.items()->empty()) json.add("notes", std::move(notes));
    records.push_back(std::move(json));
  }
  return Json({{"schema", "fatctx.info/1"},
               {"file", report.path},
               {"model", description.name},
               {"format", report.format_version},
               {"newer_features", report.newer_features.empty() ? Json(nullptr) : Json(report.newer_features)},
               {"writer", description.writer},
               {"uuid", report.uuid},
               {"generation", report.generation},
               {"newest_generation", report.newest_generation},
               {"earlier_generations", generations_json(report)},
               {"slot", std::string(1, report.slot)},
               {"sealed", report.sealed},
               {"signed", report.signed_file},
               {"key_id", report.key_id.empty() ? Json(nullptr) : Json(report.key_id)},
               {"signature_verified", report.signature_verified},
               {"toc_hash", to_hex(report.toc_hash.bytes)},
               {"file_size", report.file_size},
               {"committed_end", report.committed_end},
               {"tail_bytes", report.tail_bytes},
               {"dead_bytes", report.dead_bytes},
               {"absent_bytes", presence.absent_bytes},
               {"copied_records", report.copied_records},
               {"degraded", report.degraded},
               {"filesystem", report.filesystem},
               {"remote_filesystem", report.remote_filesystem},
               {"records", std::move(records)}});
}

Json graphs_json(const ContainerDescription& description) {
  Json array = Json::array();
  for (const RecordDescription& record : description.records) {
    for (const DescribedGraph& graph : record.graphs) {
      Json json = {{"record", record.record_id}};
      const Json facts = container::graph_json(graph);
      for (const auto& [key, value] : *facts.members()) json.add(key, value);
      array.push_back(std::move(json));
    }
  }
  return array;
}

Json options_json(const ContainerDescription& description) {
  Json records = Json::array();
  for (const RecordDescription& record : description.records) {
    if (record.options.empty()) continue;
    records.push_back({{"record", record.record_id}, {"options", container::options_json(record.options)}});
  }
  return {{"all", container::options_json(description.options)}, {"records", std::move(records)}};
}

Json tensors_json(const RecordInfo& weights, const TensorTable& table) {
  Json array = Json::array();
  for (std::size_t i = 0; i < table.size(); ++i) {
    const TensorInfo tensor = table.at(i);
    array.push_back({{"name", tensor.name},
                     {"dtype", dtype_name(tensor.dtype)},
                     {"shape", tensor.shape},
                     {"offset_in_blob", tensor.offset_in_blob},
                     {"size_bytes", tensor.size_bytes},
                     {"alias", tensor.alias}});
  }
  return {{"record", weights.id}, {"name", weights.name}, {"tensors", std::move(array)}};
}

}  // namespace

Result<std::string> info_json(const Container& container, const ContainerDescription& description,
                              const InfoParts& parts) {
  FATCTX_ASSIGN(PresenceReport presence, find_absent(container, {.read_payload = parts.present}));
  if (parts.metadata_alone) {
    presence.absent_bytes = 0;
    presence.absent.clear();
    for (RecordPresence& record : presence.records) record.absent_bytes = 0;
  }
  FATCTX_ASSIGN(Json json, container_json(container, description, presence));
  if (Json quant = quant_json(description.options); !quant.members()->empty()) json.add("quant", std::move(quant));
  if (parts.tensors_of) {
    FATCTX_ASSIGN(const RecordInfo weights, container.record(*parts.tensors_of));
    FATCTX_ASSIGN(const TensorTable table, container.tensors(weights.id));
    json.add("tensors", tensors_json(weights, table));
  }
  if (parts.graphs) json.add("graphs", graphs_json(description));
  if (parts.options) json.add("options", options_json(description));
  if (parts.extents) {
    FATCTX_ASSIGN(Json extents, extents_json(container, presence.absent));
    json.add("extents", std::move(extents));
  }
  if (parts.sharing) {
    FATCTX_ASSIGN(const SharingReport report, measure_sharing(container));
    FATCTX_ASSIGN(const auto records, container.records());
    json.add("sharing", sharing_json(report, records));
  }
  return write_json(json);
}

std::string layout_json() {
  Json tables = Json::array();
  for (const LayoutTable& layout : layout_tables()) {
    Json fields = Json::array();
    for (const LayoutField& field : layout.fields) {
      fields.push_back({{"name", field.name}, {"offset", field.offset}, {"size", field.size}});
    }
    tables.push_back({{"name", layout.name}, {"size", layout.size}, {"fields", std::move(fields)}});
  }
  return write_json({{"schema", "fatctx.layout/1"}, {"format", format_version()}, {"tables", std::move(tables)}});
}

}  // namespace fatctx
