// fatctx note: keeps a remark or a measurement beside a record.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/appender.h"
#include "tools/cli/command.h"
#include "tools/cli/find_record.h"
#include "tools/cli/print.h"
#include "tools/cli/whole_container.h"

namespace fatctx::tools {

namespace {

struct NoteFlags {
  std::string container;
  std::string record;
  EvidenceNote note;
  std::vector<std::string> metrics;
  bool json = false;
};

Result<ExitCode> run_note(const NoteFlags& flags) {
  std::string name;
  {
    FATCTX_ASSIGN(const Container container, open_whole(flags.container));
    FATCTX_ASSIGN(const RecordInfo record, find_record(container, flags.record));
    name = record.name;
  }
  FATCTX_ASSIGN(Appender appender, Appender::open(flags.container));
  for (const std::string& metric : flags.metrics) {
    const auto equals = metric.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == metric.size()) {
      return Error{ErrorCode::kInvalidArgument,
                   fmt::format("--metric {}: found no NAME=VALUE; write for example latency_ms=3.1", metric)};
    }
    EvidenceNote note = flags.note;
    note.metric = metric.substr(0, equals);
    note.value = metric.substr(equals + 1);
    FATCTX_TRY(appender.note(name, std::move(note)));
  }
  FATCTX_ASSIGN(const AppendReport report, appender.commit());
  for (const std::string& warning : report.warnings) print_note("note: " + escaped(warning));
  if (flags.json) {
    print_result(json_text({{"schema", "fatctx.note/1"},
                            {"path", report.path},
                            {"generation", report.generation},
                            {"file_size", report.file_size},
                            {"record", name},
                            {"noted", flags.metrics.size()}}));
  } else {
    print_result(fmt::format("{}: generation {}, {}\nnoted: {} on {}\n", escaped(report.path), report.generation,
                             size_text(report.file_size), count_text(flags.metrics.size(), "metric"), escaped(name)));
  }
  return ExitCode::kOk;
}

}  // namespace

void add_note(CLI::App& app, Outcome& outcome) {
  auto flags = std::make_shared<NoteFlags>();
  CLI::App* command = describe(
      app, "note",
      {.purpose = "Note a measurement or observation of a record in the container itself",
       .synopsis = "fatctx note FILE RECORD --device TEXT --metric NAME=VALUE... --date DAY [options]",
       .examples = {"fatctx note model.fatctx tiny-x86-64-v3 --device desk --metric latency_ms=3.1 --date 2026-11-22"},
       .more = "docs/cli/change.md; `fatctx info FILE --records` shows the notes"});
  command->add_option("FILE", flags->container, "The container, not sealed")->required();
  command->add_option("RECORD", flags->record, "Name or number of the record")->required();
  command->add_option("--device", flags->note.device, "Device it ran on")->type_name("TEXT")->required();
  command->add_option("--metric", flags->metrics, "A figure and its value; repeatable")
      ->type_name("NAME=VALUE")
      ->required()
      ->take_all()
      ->expected(1, -1);
  command->add_option("--date", flags->note.date, "The day, as 2026-11-22")->type_name("DAY")->required();
  command->add_option("--tool", flags->note.tool, "Tool that measured it, with its version")->type_name("TEXT");
  command->add_flag("--json", flags->json, "Print the summary as JSON (schema fatctx.note/1)");
  command->callback([flags, &outcome] { outcome.finish(run_note(*flags)); });
}

}  // namespace fatctx::tools
