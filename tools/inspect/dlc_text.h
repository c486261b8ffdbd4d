// Formats a multi-SoC DLC for `fatctx dlc list` and `fatctx info`.
#pragma once

#include <string>

#include "fatctx/import_dlc.h"
#include "tools/inspect/filters.h"

namespace fatctx::tools {

// All of them show the entries that fit the filter, in the order of the file or the largest first. `--record` is about
// names of entries, `--type` about their kinds, `--target` about context binaries.
[[nodiscard]] std::string dlc_text(const std::string& path, const DlcInfo& info, const ViewFilter& filter,
                                   std::size_t width);
// Returns the graphs of each context binary, with inputs, outputs and the compiler's facts.
[[nodiscard]] std::string dlc_graphs_text(const DlcInfo& info, const ViewFilter& filter, std::size_t width);
// Returns the same document as to_json(), with the entries and graphs that fit alone. Findings are those of the whole
// archive.
[[nodiscard]] std::string dlc_json(const std::string& path, const DlcInfo& info, const ViewFilter& filter,
                                   bool ops = false);
// Return the range of operators of each graph: a DLC does not state the operators themselves. `ops` of dlc_json() adds
// the same.
[[nodiscard]] std::string dlc_ops_text(const DlcInfo& info, const ViewFilter& filter, std::size_t width);
[[nodiscard]] std::string dlc_ops_csv(const DlcInfo& info, const ViewFilter& filter);
// Returns a row for each entry, with the target of a context binary.
[[nodiscard]] std::string dlc_csv(const DlcInfo& info, const ViewFilter& filter);
// Returns a row for each input and output of the graphs.
[[nodiscard]] std::string dlc_graphs_csv(const DlcInfo& info, const ViewFilter& filter);

}  // namespace fatctx::tools
