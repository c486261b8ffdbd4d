// Writes the contents of a DLC as JSON (schema "fatctx.dlc/1"; docs/reports.md).
#include <utility>

#include "base/json.h"
#include "container/format/description_json.h"
#include "fatctx/import_dlc.h"

namespace fatctx {
namespace {

// Leaves out facts that the metadata does not state.
Json soc_json(const DlcSoc& soc, const DlcInfo& info) {
  Json shared = Json::array();
  for (const std::size_t entry : soc.shared) shared.push_back(info.entries[entry].name);
  Json json = {{"entry", info.entries[soc.entry].name}};
  if (soc.qnn_soc != 0) json.add("qnn_soc", soc.qnn_soc);
  if (!soc.arch.empty()) json.add("arch", soc.arch);
  if (soc.vtcm_mb != 0) json.add("vtcm_mb", soc.vtcm_mb);
  if (!soc.build_id.empty()) json.add("build_id", soc.build_id);
  if (soc.sdk.known()) json.add("sdk", to_text(soc.sdk));
  if (soc.api.known()) json.add("api", to_text(soc.api));
  if (soc.blob.known()) json.add("blob", to_text(soc.blob));
  Json names = Json::array();
  Json graphs = Json::array();
  for (const DescribedGraph& graph : soc.graphs) {
    names.push_back(graph.name);
    graphs.push_back(container::graph_json(graph));
  }
  json.add("graphs", std::move(names));
  json.add("graph_facts", std::move(graphs));
  if (!soc.facts.empty()) json.add("options", container::options_json(soc.facts));
  json.add("shared", std::move(shared));
  return json;
}

}  // namespace

std::string to_json(const std::string& file, const DlcInfo& info) {
  Json entries = Json::array();
  for (const DlcEntry& entry : info.entries) {
    entries.push_back({{"name", entry.name},
                       {"kind", dlc_entry_kind_name(entry.kind)},
                       {"offset", entry.data.offset},
                       {"size_bytes", entry.data.size}});
  }
  Json socs = Json::array();
  for (const DlcSoc& soc : info.socs) socs.push_back(soc_json(soc, info));
  return write_json({{"schema", "fatctx.dlc/1"},
                     {"file", file},
                     {"size_bytes", info.file_size},
                     {"written_at", info.written_at.empty() ? Json() : Json(info.written_at)},
                     {"options", container::options_json(info.facts)},
                     {"entries", std::move(entries)},
                     {"context_binaries", std::move(socs)},
                     {"findings", info.findings}});
}

}  // namespace fatctx
