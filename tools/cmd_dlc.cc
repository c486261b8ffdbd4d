// fatctx dlc: what is in a multi-SoC DLC, whether it is in order, and a DLC for one of its SoCs. The DLC may lie in a
// container that it was packed into.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "fatctx/container.h"
#include "fatctx/import_dlc.h"
#include "fatctx/stored_dlc.h"
#include "tools/command.h"
#include "tools/print.h"

namespace fatctx::tools {

namespace {

using Json = nlohmann::ordered_json;

struct DlcOptions {
  std::string action;
  std::string path;
  std::vector<std::uint32_t> socs;
  std::vector<std::string> entries;
  std::string layout;
  std::string output;
  bool force = false;
  bool json = false;
};

Error invalid(std::string message) { return Error{ErrorCode::kInvalidArgument, std::move(message)}; }

std::string or_unknown(std::string text) { return text.empty() ? "?" : text; }
std::string or_unknown(std::uint32_t number) { return number == 0 ? "?" : fmt::format("{}", number); }
std::string or_unknown(const Version& version) { return version.known() ? to_text(version) : "?"; }

std::vector<std::string> shared_names(const DlcSoc& soc, const DlcInfo& info) {
  std::vector<std::string> names;
  for (const std::size_t entry : soc.shared) names.push_back(info.entries[entry].name);
  return names;
}

std::uint64_t shared_weights(const DlcSoc& soc, const DlcInfo& info) {
  std::uint64_t bytes = 0;
  for (const std::size_t entry : soc.shared) {
    if (info.entries[entry].kind == DlcEntryKind::kSharedWeights) bytes += info.entries[entry].data.size;
  }
  return bytes;
}

std::string list_text(const std::string& path, const DlcInfo& info) {
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
                {"shared", Table::Align::kRight}});
    for (const DlcSoc& soc : info.socs) {
      socs.add_row({info.entries[soc.entry].name, or_unknown(soc.qnn_soc), or_unknown(soc.arch),
                    or_unknown(soc.vtcm_mb), or_unknown(soc.sdk), or_unknown(soc.api), or_unknown(soc.blob),
                    grouped(info.entries[soc.entry].data.size), grouped(shared_weights(soc, info))});
    }
    out += "\n" + socs.text();
  }
  return out;
}

std::string findings_text(const DlcInfo& info) {
  std::string out;
  for (const std::string& finding : info.findings) out += "finding: " + escaped(finding) + "\n";
  return out;
}

Json list_json(const std::string& path, const DlcInfo& info) {
  Json entries = Json::array();
  for (const DlcEntry& entry : info.entries) {
    entries.push_back({{"name", entry.name},
                       {"kind", dlc_entry_kind_name(entry.kind)},
                       {"offset", entry.data.offset},
                       {"size_bytes", entry.data.size}});
  }
  Json socs = Json::array();
  for (const DlcSoc& soc : info.socs) {
    Json json = {{"entry", info.entries[soc.entry].name}};
    if (soc.qnn_soc != 0) json["qnn_soc"] = soc.qnn_soc;
    if (!soc.arch.empty()) json["arch"] = soc.arch;
    if (soc.vtcm_mb != 0) json["vtcm_mb"] = soc.vtcm_mb;
    if (!soc.build_id.empty()) json["build_id"] = soc.build_id;
    if (soc.sdk.known()) json["sdk"] = to_text(soc.sdk);
    if (soc.api.known()) json["api"] = to_text(soc.api);
    if (soc.blob.known()) json["blob"] = to_text(soc.blob);
    json["graphs"] = soc.graphs;
    json["shared"] = shared_names(soc, info);
    socs.push_back(std::move(json));
  }
  return {{"schema", "fatctx.dlc/1"},     {"file", path},
          {"size_bytes", info.file_size}, {"entries", entries},
          {"context_binaries", socs},     {"findings", info.findings}};
}

// The container, if the file is one; nothing if it is to be read as a DLC, whose errors then say what is wrong.
Result<std::optional<Container>> container_of(const DlcOptions& options) {
  std::optional<Container> none;
  const auto dlc = is_dlc(options.path);
  if (!dlc.ok() || dlc.value()) return none;
  auto opened = Container::open(options.path);
  if (opened.ok()) return std::optional<Container>(std::move(opened).value());
  const ErrorCode code = opened.error().code;
  if (code == ErrorCode::kBadMagic || code == ErrorCode::kTruncated) return none;
  return std::move(opened).error();
}

Result<DlcInfo> info_of(const DlcOptions& options) {
  FATCTX_ASSIGN(const std::optional<Container> container, container_of(options));
  if (container) return list_stored_dlc(*container, options.layout);
  return list_dlc(options.path);
}

Result<ThinDlc> extract_thin(const DlcOptions& options) {
  const DlcChoice choice{.qnn_socs = options.socs, .entries = options.entries};
  FATCTX_ASSIGN(const std::optional<Container> container, container_of(options));
  if (container) return extract_stored_thin_dlc(*container, options.layout, choice, options.output, options.force);
  return extract_thin_dlc(options.path, choice, options.output, options.force);
}

Result<ExitCode> run_list(const DlcOptions& options) {
  FATCTX_ASSIGN(const DlcInfo info, info_of(options));
  print_result(options.json ? json_text(list_json(options.path, info)) : list_text(options.path, info));
  if (!options.json) {
    for (const std::string& finding : info.findings) print_note("note: " + escaped(finding));
  }
  return ExitCode::kOk;
}

Result<ExitCode> run_check(const DlcOptions& options) {
  FATCTX_ASSIGN(const DlcInfo info, info_of(options));
  if (options.json) {
    print_result(json_text(list_json(options.path, info)));
  } else {
    print_result(
        findings_text(info) +
        escaped(fmt::format("{}: structure in order, {}", options.path, count_text(info.findings.size(), "finding"))) +
        "\n");
  }
  return info.findings.empty() ? ExitCode::kOk : ExitCode::kCheckFailed;
}

Result<ExitCode> run_thin(const DlcOptions& options) {
  if (options.output.empty()) return invalid("dlc thin: -o OUT is missing");
  if (options.socs.empty() && options.entries.empty()) {
    return invalid("dlc thin: which SoC stays? give --soc N or --entry NAME; fatctx dlc list shows them");
  }
  auto thin = extract_thin(options);
  if (!thin.ok() && thin.error().code == ErrorCode::kExists) {
    return Error{ErrorCode::kExists, fmt::format("{}: is there already; --force replaces it", options.output)};
  }
  if (!thin.ok()) return std::move(thin).error();
  const ThinDlc& made = thin.value();
  if (options.json) {
    print_result(json_text(Json{{"schema", "fatctx.dlc_thin/1"},
                                {"file", options.output},
                                {"size_bytes", made.size_bytes},
                                {"entries", made.entries},
                                {"pieces", made.pieces.size()},
                                {"new_bytes", made.new_bytes},
                                {"mappable", made.mappable}}));
    return ExitCode::kOk;
  }
  print_note(escaped(fmt::format(
      "{}: {} written, {} entries, {} new bytes, the rest as {} of the original", options.output,
      size_text(made.size_bytes), made.entries.size(), grouped(made.new_bytes),
      count_text(static_cast<std::uint64_t>(std::count_if(made.pieces.begin(), made.pieces.end(),
                                                          [](const DlcPiece& piece) { return piece.bytes.empty(); })),
                 "range"))));
  return ExitCode::kOk;
}

Result<ExitCode> run_dlc(const DlcOptions& options) {
  const bool thin = options.action == "thin";
  if (!thin && (!options.output.empty() || !options.socs.empty() || !options.entries.empty() || options.force)) {
    return invalid(fmt::format("dlc {}: --soc, --entry, -o and --force are for thin", options.action));
  }
  if (thin) return run_thin(options);
  return options.action == "list" ? run_list(options) : run_check(options);
}

}  // namespace

void add_dlc(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<DlcOptions>();
  CLI::App* command = describe(app, "dlc",
                               {.purpose = "List, check or thin a multi-SoC DLC, without its vendor's library",
                                .synopsis = "fatctx dlc list|check|thin FILE [options]",
                                .examples = {"fatctx dlc list model.dlc", "fatctx dlc check model.dlc",
                                             "fatctx dlc thin model.dlc --soc 57 -o model_57.dlc",
                                             "fatctx dlc thin model.fatctx --soc 57 -o model_57.dlc"},
                                .more = "docs/cli.md"});
  command->add_option("ACTION", options->action, "list, check, or thin: leave out other SoCs")
      ->required()
      ->check(CLI::IsMember({"list", "check", "thin"}));
  command->add_option("FILE", options->path, "The DLC, or a container that it was packed into with --dlc")->required();
  command->add_option("--soc", options->socs, "thin: vendor number of a SoC that stays; may be repeated")
      ->type_name("N")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--entry", options->entries, "thin: name of a context binary that stays; may be repeated")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--layout", options->layout, "Of several DLCs in the container, the one with this layout record")
      ->type_name("RECORD");
  command->add_option("-o,--output", options->output, "thin: where to")->type_name("OUT");
  command->add_flag("--force", options->force, "thin: replace OUT if it is there");
  command->add_flag("--json", options->json, "Print facts as JSON");
  command->callback([options, &outcome] { outcome.finish(run_dlc(*options)); });
}

}  // namespace fatctx::tools
