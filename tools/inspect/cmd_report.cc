// fatctx report: writes one page that shows a container, or two and their difference. The page is built from js/page;
// this command gathers its data from the other commands' outputs.
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/base/bytes.h"
#include "fatctx/container.h"
#include "fatctx/diff.h"
#include "fatctx/extract.h"
#include "tools/cli/command.h"
#include "tools/cli/made_flag.h"
#include "tools/cli/output_place.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/cli/whole_container.h"
#include "tools/device/asked_device.h"
#include "tools/facts/json_file.h"
#include "tools/inspect/report_data.h"

namespace fatctx::tools {

namespace {

struct ReportFlags {
  std::string file;
  std::string later;
  std::string output;
  std::string fleet;
  std::string soc_table;
  std::string page;
  std::uint64_t max_made_bytes = 0;
  bool force = false;
};

Result<Container> opened(const std::string& path, const ReportFlags& flags) {
  return open_whole(path, {.max_made_bytes = flags.max_made_bytes});
}

Result<Json> difference(const Container& before, const Container& after) {
  ProgressLine line("compare");
  FATCTX_ASSIGN(const DiffReport report, diff(before, after, line.callback()));
  return parse_json(to_json(report), "diff");
}

Result<ExitCode> run_report(const ReportFlags& flags) {
  FATCTX_TRY(check_is_no_input(flags.output, {{"container", flags.file}, {"container", flags.later}}));
  std::string page = flags.page;
  if (page.empty()) {
    FATCTX_ASSIGN(page, find_page());
  }
  FATCTX_ASSIGN(const std::string empty_page, read_text_file(page));
  FATCTX_ASSIGN(const SocTable table, asked_soc_table(flags.soc_table));
  const DeviceFlags of_all;
  FATCTX_ASSIGN(const Container container, opened(flags.file, flags));
  FATCTX_ASSIGN(Json first, report_data(container, flags.fleet, table, of_all));
  Json data = {{"page", 1}};
  if (flags.later.empty()) {
    data.add("file", std::move(first));
  } else {
    FATCTX_ASSIGN(const Container later, opened(flags.later, flags));
    FATCTX_ASSIGN(Json second, report_data(later, flags.fleet, table, of_all));
    FATCTX_ASSIGN(Json changes, difference(container, later));
    data.add("file", std::move(second));
    data.add("before", std::move(first));
    data.add("diff", std::move(changes));
  }
  auto filled = filled_page(empty_page, data);
  if (!filled.ok()) return in_context(std::move(filled).error(), page);
  FATCTX_TRY(publish_bytes(std::as_bytes(std::span(filled.value())), flags.output, flags.force));
  print_result(fmt::format("{}: {}\n", escaped(flags.output), size_text(filled.value().size())));
  return ExitCode::kOk;
}

}  // namespace

void add_report(CLI::App& app, Outcome& outcome) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App* command = describe(
      app, "report",
      {.purpose = "Write a page that shows a container, or what changed between two",
       .synopsis = "fatctx report FILE [LATER] -o PAGE [options]",
       .examples = {"fatctx report model.fatctx -o report.html", "fatctx report old.fatctx new.fatctx -o changes.html",
                    "fatctx report model.fatctx -o report.html --devices SM8550,SM8650"},
       .more = "docs/report.md"});
  command->add_option("FILE", flags->file, "The container")->required();
  command->add_option("LATER", flags->later, "A later one: the page shows it, and what changed since FILE");
  command->add_option("-o,--output", flags->output, "The page to write")->required()->type_name("PAGE");
  command->add_option("--devices", flags->fleet, "Devices, or @FILE; default: every device of the table")
      ->type_name("LIST");
  command->add_option("--soc-table", flags->soc_table, "A table of SoCs; default FATCTX_SOC_TABLE, or the built-in one")
      ->type_name("FILE");
  command->add_option("--page", flags->page, "An empty page; default: the one that is installed with fatctx")
      ->type_name("FILE");
  command->add_flag("--force", flags->force, "Replace PAGE if it exists");
  add_made_limit(*command, flags->max_made_bytes);
  command->callback([flags, &outcome] { outcome.finish(run_report(*flags)); });
}

}  // namespace fatctx::tools
