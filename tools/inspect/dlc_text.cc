#include "tools/inspect/dlc_text.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/json.h"
#include "tools/cli/print.h"
#include "tools/facts/json_file.h"
#include "tools/inspect/csv_text.h"
#include "tools/inspect/graph_facts.h"
#include "tools/inspect/info_filter.h"
#include "tools/inspect/info_text.h"

namespace fatctx::tools {

namespace {

std::string or_unknown(std::string text) { return text.empty() ? "?" : text; }
std::string or_unknown(std::uint32_t number) { return number == 0 ? "?" : fmt::format("{}", number); }
std::string or_unknown(const Version& version) { return version.known() ? to_text(version) : "?"; }

std::uint64_t shared_weights(const DlcSoc& soc, const DlcInfo& info) {
  std::uint64_t bytes = 0;
  for (const std::size_t entry : soc.shared) {
    if (info.entries[entry].kind == DlcEntryKind::kSharedWeights) bytes += info.entries[entry].data.size;
  }
  return bytes;
}

std::uint64_t spill_fill(const DlcSoc& soc) {
  std::uint64_t largest = 0;
  for (const DescribedGraph& graph : soc.graphs) largest = std::max(largest, graph.spill_fill_bytes);
  return largest;
}

// The rows of a view, as indexes.
struct DlcRows {
  std::vector<std::size_t> entries;
  std::vector<std::size_t> socs;
};

std::string target_of(const DlcSoc& soc) {
  return target_text({.type = RecordType::kContextBinary,
                      .backend = "htp",
                      .qnn_soc = soc.qnn_soc,
                      .arch = soc.arch,
                      .vtcm_mb = soc.vtcm_mb,
                      .sdk = soc.sdk});
}

DlcRows chosen_rows(const DlcInfo& info, const ViewFilter& filter) {
  std::map<std::size_t, std::size_t> socs;  // by their entries
  for (std::size_t i = 0; i < info.socs.size(); ++i) socs.emplace(info.socs[i].entry, i);
  DlcRows rows;
  for (std::size_t i = 0; i < info.entries.size(); ++i) {
    const DlcEntry& entry = info.entries[i];
    const auto soc = socs.find(i);
    const std::string target = soc == socs.end() ? std::string() : target_of(info.socs[soc->second]);
    if (fits_pattern(filter.record, entry.name) && fits_pattern(filter.type, dlc_entry_kind_name(entry.kind)) &&
        (filter.target.empty() || target_fits(filter.target, target))) {
      rows.entries.push_back(i);
    }
  }
  if (filter.by_size) {
    std::stable_sort(rows.entries.begin(), rows.entries.end(), [&](std::size_t a, std::size_t b) {
      return info.entries[a].data.size > info.entries[b].data.size;
    });
  }
  for (const std::size_t entry : rows.entries) {
    if (const auto soc = socs.find(entry); soc != socs.end()) rows.socs.push_back(soc->second);
  }
  return rows;
}

std::vector<OpRange> ops_of(const DlcInfo& info, const ViewFilter& filter) {
  std::vector<OpRange> ranges;
  for (const std::size_t i : chosen_rows(info, filter).socs) {
    for (const DescribedGraph& graph : info.socs[i].graphs) {
      if (!fits_pattern(filter.graph, graph.name)) continue;
      auto range = op_range(info.entries[info.socs[i].entry].name, graph);
      if (range) ranges.push_back(*std::move(range));
    }
  }
  return ranges;
}

// Returns the graphs of a binary that fit, without the others.
Json fitting_soc(const Json& soc, const ViewFilter& filter) {
  Json kept = Json::object();
  for (const auto& [key, value] : *soc.members()) {
    if (value.items() == nullptr || (key != "graphs" && key != "graph_facts")) {
      kept.add(key, value);
      continue;
    }
    Json graphs = Json::array();
    for (const Json& graph : *value.items()) {
      const Json* const name = key == "graphs" ? &graph : graph.find("name");
      if (name != nullptr && name->text() != nullptr && fits_pattern(filter.graph, *name->text())) {
        graphs.push_back(graph);
      }
    }
    kept.add(key, std::move(graphs));
  }
  return kept;
}

}  // namespace

std::string dlc_text(const std::string& path, const DlcInfo& info, const ViewFilter& filter, std::size_t width) {
  const DlcRows rows = chosen_rows(info, filter);
  std::string out = escaped(fmt::format("{}: {}, {} {}, {} context {}", path, size_text(info.file_size),
                                        info.entries.size(), info.entries.size() == 1 ? "entry" : "entries",
                                        info.socs.size(), info.socs.size() == 1 ? "binary" : "binaries")) +
                    "\n";
  if (!info.written_at.empty()) out += "written: " + escaped(info.written_at) + "\n";
  out += said_facts_text(info.facts, width);
  out += "\n";
  if (rows.entries.empty() && !info.entries.empty()) return out + "no entry fits\n";
  Table entries({{"entry"}, {"kind"}, {"offset", Table::Align::kRight}, {"bytes", Table::Align::kRight}});
  for (const std::size_t i : rows.entries) {
    const DlcEntry& entry = info.entries[i];
    entries.add_row({entry.name, std::string(dlc_entry_kind_name(entry.kind)), offset_text(entry.data.offset),
                     grouped(entry.data.size)});
  }
  out += entries.text("", width);
  if (rows.socs.empty()) return out;
  // The table of entries has the bytes as well, and 80 columns have no room for them here.
  const bool bytes = width == 0;
  std::vector<Table::Column> columns = {{"context binary"},
                                        {"soc", Table::Align::kRight},
                                        {"arch"},
                                        {"vtcm", Table::Align::kRight},
                                        {"sdk"},
                                        {"api"},
                                        {"blob"}};
  if (bytes) columns.push_back({"bytes", Table::Align::kRight});
  for (const char* const title : {"shared", "graphs", "spill-fill"}) columns.push_back({title, Table::Align::kRight});
  Table socs(std::move(columns));
  for (const std::size_t i : rows.socs) {
    const DlcSoc& soc = info.socs[i];
    std::vector<std::string> cells = {info.entries[soc.entry].name, or_unknown(soc.qnn_soc), or_unknown(soc.arch),
                                      or_unknown(soc.vtcm_mb),      or_unknown(soc.sdk),     or_unknown(soc.api),
                                      or_unknown(soc.blob)};
    if (bytes) cells.push_back(grouped(info.entries[soc.entry].data.size));
    cells.push_back(grouped(shared_weights(soc, info)));
    cells.push_back(fmt::format("{}", soc.graphs.size()));
    cells.push_back(grouped(spill_fill(soc)));
    socs.add_row(std::move(cells));
  }
  return out + "\n" + socs.text("", width);
}

std::string dlc_graphs_text(const DlcInfo& info, const ViewFilter& filter, std::size_t width) {
  std::string out;
  for (const std::size_t i : chosen_rows(info, filter).socs) {
    const DlcSoc& soc = info.socs[i];
    std::string graphs;
    for (const DescribedGraph& graph : soc.graphs) {
      if (fits_pattern(filter.graph, graph.name)) graphs += graph_text(graph, width);
    }
    if (graphs.empty()) continue;
    out += escaped(info.entries[soc.entry].name) + "\n" + producer_text(soc.build_id, soc.facts, width) + graphs;
  }
  return out.empty() ? "the metadata describes no such graph\n" : out;
}

std::string dlc_ops_text(const DlcInfo& info, const ViewFilter& filter, std::size_t width) {
  const std::vector<OpRange> ranges = ops_of(info, filter);
  return ranges.empty() ? "the metadata states no operators of such a graph\n" : op_ranges_text(ranges, width);
}

std::string dlc_ops_csv(const DlcInfo& info, const ViewFilter& filter) {
  return op_ranges_csv(ops_of(info, filter), "entry");
}

std::string dlc_json(const std::string& path, const DlcInfo& info, const ViewFilter& filter, bool ops) {
  const std::string whole = to_json(path, info);
  if (!filter.any_of_records() && filter.graph.empty() && !filter.by_size && !ops) return whole + '\n';
  const auto parsed = parse_json(whole, path);
  if (!parsed.ok()) return whole + '\n';  // a document of ours parses
  const DlcRows rows = chosen_rows(info, filter);
  Json result = Json::object();
  for (const auto& [key, value] : *parsed.value().members()) {
    Json chosen = Json::array();
    if (key == "entries") {
      for (const std::size_t i : rows.entries) chosen.push_back((*value.items())[i]);
    } else if (key == "context_binaries") {
      for (const std::size_t i : rows.socs) chosen.push_back(fitting_soc((*value.items())[i], filter));
    } else {
      chosen = value;
    }
    result.add(key, std::move(chosen));
  }
  if (ops) result.add("ops", op_ranges_json(ops_of(info, filter)));
  return json_text(result);
}

std::string dlc_csv(const DlcInfo& info, const ViewFilter& filter) {
  const DlcRows rows = chosen_rows(info, filter);
  std::map<std::size_t, const DlcSoc*> socs;
  for (const std::size_t i : rows.socs) socs.emplace(info.socs[i].entry, &info.socs[i]);
  CsvText csv(
      {"name", "kind", "target", "offset", "size_bytes", "shared_weights_bytes", "spill_fill_bytes", "build_id"});
  for (const std::size_t i : rows.entries) {
    const DlcEntry& entry = info.entries[i];
    const auto found = socs.find(i);
    std::vector<std::string> cells = {entry.name,
                                      std::string(dlc_entry_kind_name(entry.kind)),
                                      "",
                                      fmt::format("{}", entry.data.offset),
                                      fmt::format("{}", entry.data.size),
                                      "",
                                      "",
                                      ""};
    if (found != socs.end()) {
      const DlcSoc& soc = *found->second;
      cells[2] = target_of(soc);
      cells[5] = fmt::format("{}", shared_weights(soc, info));
      cells[6] = fmt::format("{}", spill_fill(soc));
      cells[7] = soc.build_id;
    }
    csv.add_row(cells);
  }
  return csv.text();
}

std::string dlc_graphs_csv(const DlcInfo& info, const ViewFilter& filter) {
  std::vector<std::pair<std::string, DescribedGraph>> graphs;
  for (const std::size_t i : chosen_rows(info, filter).socs) {
    for (const DescribedGraph& graph : info.socs[i].graphs) {
      if (fits_pattern(filter.graph, graph.name)) graphs.emplace_back(info.entries[info.socs[i].entry].name, graph);
    }
  }
  return graphs_csv(graphs);
}

}  // namespace fatctx::tools
