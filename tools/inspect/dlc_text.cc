#include "tools/inspect/dlc_text.h"

#include <algorithm>

#include <fmt/format.h>

#include "tools/cli/print.h"
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

}  // namespace

std::string dlc_text(const std::string& path, const DlcInfo& info) {
  std::string out = escaped(fmt::format("{}: {}, {} {}, {} context {}", path, size_text(info.file_size),
                                        info.entries.size(), info.entries.size() == 1 ? "entry" : "entries",
                                        info.socs.size(), info.socs.size() == 1 ? "binary" : "binaries")) +
                    "\n\n";
  Table entries({{"entry"}, {"kind"}, {"offset", Table::Align::kRight}, {"bytes", Table::Align::kRight}});
  for (const DlcEntry& entry : info.entries) {
    entries.add_row({entry.name, std::string(dlc_entry_kind_name(entry.kind)), offset_text(entry.data.offset),
                     grouped(entry.data.size)});
  }
  out += entries.text();
  if (!info.socs.empty()) {
    Table socs({{"context binary"},
                {"soc", Table::Align::kRight},
                {"arch"},
                {"vtcm", Table::Align::kRight},
                {"sdk"},
                {"api"},
                {"blob"},
                {"bytes", Table::Align::kRight},
                {"shared", Table::Align::kRight},
                {"graphs", Table::Align::kRight},
                {"spill-fill", Table::Align::kRight}});
    for (const DlcSoc& soc : info.socs) {
      socs.add_row({info.entries[soc.entry].name, or_unknown(soc.qnn_soc), or_unknown(soc.arch),
                    or_unknown(soc.vtcm_mb), or_unknown(soc.sdk), or_unknown(soc.api), or_unknown(soc.blob),
                    grouped(info.entries[soc.entry].data.size), grouped(shared_weights(soc, info)),
                    fmt::format("{}", soc.graphs.size()), grouped(spill_fill(soc))});
    }
    out += "\n" + socs.text();
  }
  return out;
}

std::string dlc_graphs_text(const DlcInfo& info) {
  std::string out;
  for (const DlcSoc& soc : info.socs) {
    if (soc.graphs.empty()) continue;
    out += escaped(info.entries[soc.entry].name) + "\n";
    for (const DescribedGraph& graph : soc.graphs) out += graph_text(graph);
  }
  return out.empty() ? "the metadata describes no graphs\n" : out;
}

}  // namespace fatctx::tools
