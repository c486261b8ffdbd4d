// fatctx repair: restores damaged copies of metadata from their good copies, in place.
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/repair.h"
#include "tools/cli/command.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/cli/threads_flag.h"
#include "tools/inspect/findings.h"

namespace fatctx::tools {

namespace {

struct RepairFlags {
  std::string path;
  bool dry_run = false;
  std::uint32_t threads = 0;
  bool json = false;
};

std::string range_text(ByteRange range) {
  return fmt::format("{} to {}", offset_text(range.offset), offset_text(range.offset + range.size));
}

std::string report_text(const RepairReport& report) {
  std::string text;
  const std::string_view verb = report.dry_run ? "would restore" : "restored";
  for (const RestoredRange& restored : report.restored) {
    text += fmt::format("{} {}, bytes {}\n", verb, escaped(restored.what), range_text(restored.range));
  }
  for (const VerifyFinding& finding : report.remaining) {
    text += fmt::format("not restored: {}\n", escaped(to_text(finding.error)));
  }
  std::string verdict = report.restored.empty() ? "nothing to repair"
                                                : fmt::format("{} {}", count_text(report.restored.size(), "range"),
                                                              report.dry_run ? "to restore" : "restored");
  if (report.remaining.empty()) {
    if (!report.restored.empty()) verdict += report.dry_run ? ", whole afterwards" : ", whole again";
  } else {
    verdict = fmt::format("{}, {} that nothing in the file can undo; fetch the file again",
                          report.restored.empty() ? "nothing restored" : verdict,
                          count_text(report.remaining.size(), "finding"));
  }
  return text + fmt::format("{}: {}, {} checked\n", escaped(report.path), verdict, size_text(report.checked_bytes));
}

std::string report_json(const RepairReport& report) {
  Json restored = Json::array();
  for (const RestoredRange& range : report.restored) {
    restored.push_back({{"what", range.what}, {"file_offset", range.range.offset}, {"size_bytes", range.range.size}});
  }
  return json_text({{"schema", "fatctx.repair/1"},
                    {"file", report.path},
                    {"uuid", report.uuid},
                    {"generation", report.generation},
                    {"dry_run", report.dry_run},
                    {"whole", report.remaining.empty()},
                    {"checked_bytes", report.checked_bytes},
                    {"restored", std::move(restored)},
                    {"remaining", findings_json(report.remaining)}});
}

Result<ExitCode> run_repair(const RepairFlags& flags) {
  ProgressLine line("check");
  FATCTX_ASSIGN(const RepairReport report,
                repair(flags.path, {.dry_run = flags.dry_run, .threads = flags.threads, .progress = line.callback()}));
  print_result(flags.json ? report_json(report) : report_text(report));
  return report.remaining.empty() ? ExitCode::kOk : ExitCode::kFile;
}

}  // namespace

void add_repair(CLI::App& app, Outcome& outcome) {
  auto flags = std::make_shared<RepairFlags>();
  CLI::App* command = describe(app, "repair",
                               {.purpose = "Restore damaged copies of metadata from the good ones, in place",
                                .synopsis = "fatctx repair FILE [options]",
                                .examples = {"fatctx repair model.fatctx --dry-run", "fatctx repair model.fatctx"},
                                .more = "docs/cli/change.md"});
  command->add_option("FILE", flags->path, "The container, sealed or not")->required();
  command->add_flag("--dry-run", flags->dry_run, "Only say what would be restored");
  add_threads(*command, flags->threads, "read and hash");
  command->add_flag("--json", flags->json, "Print JSON (schema fatctx.repair/1)");
  command->callback([flags, &outcome] { outcome.finish(run_repair(*flags)); });
}

}  // namespace fatctx::tools
