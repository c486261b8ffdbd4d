// fatctx dlc: lists and checks a multi-SoC DLC, and extracts a DLC for one of its SoCs. The DLC may be stored
// in a container.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/container.h"
#include "fatctx/import_dlc.h"
#include "fatctx/stored_dlc.h"
#include "tools/cli/command.h"
#include "tools/cli/output_place.h"
#include "tools/cli/print.h"
#include "tools/cli/whole_container.h"
#include "tools/inspect/dlc_text.h"

namespace fatctx::tools {

namespace {

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

std::string findings_text(const DlcInfo& info) {
  std::string out;
  for (const std::string& finding : info.findings) out += "finding: " + escaped(finding) + "\n";
  return out;
}

// Returns the container, if the file is one. Returns nothing if it must be read as a DLC, whose errors then
// tell the reason.
Result<std::optional<Container>> container_of(const DlcOptions& options) {
  std::optional<Container> none;
  const auto dlc = is_dlc(options.path);
  if (!dlc.ok() || dlc.value()) return none;
  auto opened = open_whole(options.path);
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
  print_result(options.json ? to_json(options.path, info) + '\n' : dlc_text(options.path, info, {}, 0));
  if (!options.json) {
    for (const std::string& finding : info.findings) print_note("note: " + escaped(finding));
  }
  return ExitCode::kOk;
}

Result<ExitCode> run_check(const DlcOptions& options) {
  FATCTX_ASSIGN(const DlcInfo info, info_of(options));
  if (options.json) {
    print_result(to_json(options.path, info) + '\n');
  } else {
    print_result(
        findings_text(info) +
        escaped(fmt::format("{}: structure in order, {}", options.path, count_text(info.findings.size(), "finding"))) +
        "\n");
  }
  return info.findings.empty() ? ExitCode::kOk : ExitCode::kCheckFailed;
}

Result<ExitCode> run_thin(const DlcOptions& options) {
  if (options.output.empty()) return invalid_argument("dlc thin: -o OUT is missing");
  if (options.socs.empty() && options.entries.empty()) {
    return invalid_argument("dlc thin: which SoC stays? give --soc N or --entry NAME; fatctx dlc list shows them");
  }
  FATCTX_TRY(check_is_no_input(options.output, {{"file that is made thin", options.path}}));
  auto thin = extract_thin(options);
  if (!thin.ok() && thin.error().code == ErrorCode::kExists) {
    return Error{ErrorCode::kExists, fmt::format("{} already exists; pass --force to replace it", options.output)};
  }
  if (!thin.ok()) return std::move(thin).error();
  const ThinDlc& made = thin.value();
  if (options.json) {
    print_result(json_text({{"schema", "fatctx.dlc_thin/1"},
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
    return invalid_argument(fmt::format("dlc {}: --soc, --entry, -o and --force are for thin", options.action));
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
                                .more = "docs/cli/inspect.md"});
  command->add_option("ACTION", options->action, "list, check, or thin: leave out other SoCs")
      ->required()
      ->check(CLI::IsMember({"list", "check", "thin"}));
  command->add_option("FILE", options->path, "The DLC, or a container that it was packed into with --dlc")->required();
  command->add_option("--soc", options->socs, "thin: vendor number of a SoC that stays; may be repeated")
      ->type_name("N")
      ->check(whole_number())
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--entry", options->entries, "thin: name of a context binary that stays; may be repeated")
      ->type_name("NAME")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  command->add_option("--layout", options->layout, "The DLC with this layout record, if there are several")
      ->type_name("RECORD");
  command->add_option("-o,--output", options->output, "thin: where to")->type_name("OUT");
  command->add_flag("--force", options->force, "thin: replace OUT if it exists");
  command->add_flag("--json", options->json, "Print facts as JSON");
  command->callback([options, &outcome] { outcome.finish(run_dlc(*options)); });
}

}  // namespace fatctx::tools
