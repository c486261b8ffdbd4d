// fatctx socs: prints the table of SoCs.
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

#include "fatctx/soc_table.h"
#include "tools/cli/command.h"
#include "tools/cli/print.h"
#include "tools/device/asked_device.h"

namespace fatctx::tools {

namespace {

struct SocsOptions {
  std::string search;
  std::string soc_table;
  bool json = false;
};

std::string number_cell(const std::optional<std::uint32_t>& number) { return number ? std::to_string(*number) : "-"; }

std::string kernel_cell(const Soc& soc) {
  std::string text;
  for (const std::uint32_t id : soc.kernel_ids) {
    text += fmt::format("{}{}", text.empty() ? "" : " ", id);
    for (const SocVariant& variant : soc.kernel_variants) {
      if (variant.kernel_id == id) text += fmt::format("={}", variant.name);
    }
  }
  return text.empty() ? "-" : text;
}

std::string name_cell(const Soc& soc) {
  std::string text = soc.name;
  const auto add = [&text](std::string_view more) { text += fmt::format("{}{}", text.empty() ? "" : "; ", more); };
  if (!soc.alias_of.empty()) add(fmt::format("another spelling of {}", soc.alias_of));
  if (!soc.aliases.empty()) add(fmt::format("also {}", fmt::join(soc.aliases, ", ")));
  return text;
}

std::string socs_text(const SocTable& table, const std::vector<const Soc*>& socs) {
  Table rows({{"part"},
              {"qnn", Table::Align::kRight},
              {"arch"},
              {"vtcm", Table::Align::kRight},
              {"runtime"},
              {"kernel"},
              {"name"}});
  for (const Soc* const soc : socs) {
    rows.add_row({soc->part, number_cell(soc->qnn_soc), soc->arch.empty() ? "-" : soc->arch, number_cell(soc->vtcm_mb),
                  soc->runtime.empty() ? "-" : soc->runtime, kernel_cell(*soc), name_cell(*soc)});
  }
  return rows.text() + fmt::format("\n{} of table {}\n", count_text(socs.size(), "row"), table.version());
}

Result<ExitCode> run_socs(const SocsOptions& options) {
  FATCTX_ASSIGN(const SocTable table, asked_soc_table(options.soc_table));
  const std::vector<const Soc*> socs = table.search(options.search);
  if (options.json) {
    print_result(to_json(table, options.search) + '\n');
  } else {
    print_result(socs_text(table, socs));
  }
  return socs.empty() ? ExitCode::kCheckFailed : ExitCode::kOk;
}

}  // namespace

void add_socs(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<SocsOptions>();
  CLI::App* command = describe(app, "socs",
                               {.purpose = "List the SoCs that are known, with their numbers",
                                .synopsis = "fatctx socs [options]",
                                .examples = {"fatctx socs --search 8750", "fatctx socs --search 618 --json"},
                                .more = "docs/selection.md, section 10, on the table and how to add to it"});
  command->add_option("--search", options->search, "Rows with this in a name, the arch or a number")->type_name("TEXT");
  command
      ->add_option("--soc-table", options->soc_table, "A table of SoCs; default FATCTX_SOC_TABLE, or the built-in one")
      ->type_name("FILE");
  command->add_flag("--json", options->json, "Print JSON (schema fatctx.socs/1)");
  command->callback([options, &outcome] { outcome.finish(run_socs(*options)); });
}

}  // namespace fatctx::tools
