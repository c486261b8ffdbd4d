// fatctx report: writes one page that shows a container, or two and their difference, or a single picture. The page is
// built from js/page; this command gathers its data from the other commands' outputs.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/base/bytes.h"
#include "fatctx/container.h"
#include "fatctx/diff.h"
#include "fatctx/extract.h"
#include "fatctx/info.h"
#include "tools/cli/command.h"
#include "tools/cli/made_flag.h"
#include "tools/cli/output_place.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/cli/whole_container.h"
#include "tools/device/asked_device.h"
#include "tools/facts/json_file.h"
#include "tools/inspect/report_data.h"
#include "tools/picture/pictures.h"

namespace fatctx::tools {

namespace {

struct ReportFlags {
  std::string file;
  std::string later;
  std::string output;
  std::string fleet;
  std::string soc_table;
  std::string page;
  std::string picture;
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

Result<ExitCode> publish(const std::string& text, const ReportFlags& flags) {
  FATCTX_TRY(publish_bytes(std::as_bytes(std::span(text)), flags.output, flags.force));
  print_result(fmt::format("{}: {}\n", escaped(flags.output), size_text(text.size())));
  return ExitCode::kOk;
}

Result<std::string> picture_of(const Container& container, const ReportFlags& flags) {
  if (flags.picture == "coverage") {
    FATCTX_ASSIGN(const SocTable table, asked_soc_table(flags.soc_table));
    FATCTX_ASSIGN(const std::vector<NamedDevice> devices, report_devices(container, flags.fleet, table, {}));
    return coverage_picture(container, devices, table);
  }
  const bool sharing = flags.picture == "sharing";
  FATCTX_ASSIGN(const std::string text, info_json(container, {}, {.sharing = sharing, .extents = !sharing}));
  FATCTX_ASSIGN(const Json info, parse_json(text, "info"));
  if (sharing) return sharing_picture(info);
  if (flags.picture == "map") return map_picture(info);
  if (flags.picture == "generations") return generations_picture(info);
  return treemap_picture(info);
}

Result<ExitCode> run_picture(const ReportFlags& flags) {
  FATCTX_TRY(check_is_no_input(flags.output, {{"container", flags.file}}));
  FATCTX_ASSIGN(const Container container, opened(flags.file, flags));
  FATCTX_ASSIGN(const std::string picture, picture_of(container, flags));
  return publish(picture, flags);
}

Result<ExitCode> run_report(const ReportFlags& flags) {
  if (!flags.picture.empty()) return run_picture(flags);
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
  return publish(filled.value(), flags);
}

}  // namespace

void add_report(CLI::App& app, Outcome& outcome) {
  auto flags = std::make_shared<ReportFlags>();
  CLI::App* command = describe(
      app, "report",
      {.purpose = "Write a page or picture of a container, or what changed between two",
       .synopsis = "fatctx report FILE [LATER] -o PAGE [options]",
       .examples = {"fatctx report model.fatctx -o report.html", "fatctx report old.fatctx new.fatctx -o changes.html",
                    "fatctx report model.fatctx -o report.html --devices SM8550,SM8650",
                    "fatctx report model.fatctx -o treemap.svg --svg treemap"},
       .more = "docs/report.md"});
  command->add_option("FILE", flags->file, "The container")->required();
  CLI::Option* const later =
      command->add_option("LATER", flags->later, "A later one: the page shows it, and what changed since FILE");
  command->add_option("-o,--output", flags->output, "The page or picture to write")->required()->type_name("PAGE");
  CLI::Option* const picture =
      command->add_option("--svg", flags->picture, "A picture as SVG: treemap, map, sharing, coverage or generations")
          ->type_name("NAME")
          ->check(CLI::IsMember({"treemap", "map", "sharing", "coverage", "generations"}))
          ->excludes(later);
  command->add_option("--devices", flags->fleet, "Devices, or @FILE; default: every device of the table")
      ->type_name("LIST");
  command->add_option("--soc-table", flags->soc_table, "A table of SoCs; default FATCTX_SOC_TABLE, or the built-in one")
      ->type_name("FILE");
  command->add_option("--page", flags->page, "An empty page; default: the one that is installed with fatctx")
      ->type_name("FILE")
      ->excludes(picture);
  command->add_flag("--force", flags->force, "Replace PAGE if it exists");
  add_made_limit(*command, flags->max_made_bytes);
  command->callback([flags, &outcome] { outcome.finish(run_report(*flags)); });
}

}  // namespace fatctx::tools
