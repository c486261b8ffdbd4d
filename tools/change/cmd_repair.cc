// fatctx repair: restores damaged and absent bytes in place: from good copies in the file, and from other containers.
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/repair.h"
#include "tools/cli/command.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/cli/threads_flag.h"
#include "tools/cli/trust_flags.h"
#include "tools/inspect/findings.h"
#include "tools/source/byte_source.h"
#include "tools/source/http_flags.h"

namespace fatctx::tools {

namespace {

struct RepairFlags {
  std::string path;
  std::vector<std::string> from;
  TrustFlags trust;
  HttpOptions http;
  bool dry_run = false;
  std::uint32_t threads = 0;
  bool json = false;
};

std::string range_text(ByteRange range) {
  return fmt::format("{} to {}", offset_text(range.offset), offset_text(range.offset + range.size));
}

std::string source_text(const RepairSourceReport& source, bool dry_run) {
  std::string text = fmt::format("{}: {} {}, {} read", escaped(source.name), size_text(source.restored_bytes),
                                 dry_run ? "promised" : "restored", size_text(source.read_bytes));
  if (!source.problem.empty()) text += fmt::format("; {}", escaped(source.problem));
  return text + "\n";
}

std::string report_text(const RepairReport& report, bool asked_others) {
  std::string text;
  const std::string_view verb = report.dry_run ? "would restore" : "restored";
  for (const RestoredRange& restored : report.restored) {
    text += fmt::format("{} {}, bytes {}\n", verb, escaped(restored.what), range_text(restored.range));
  }
  for (const VerifyFinding& finding : report.remaining) {
    text += fmt::format("not restored: {}\n", escaped(to_text(finding.error)));
  }
  for (const RepairSourceReport& source : report.sources) text += source_text(source, report.dry_run);
  std::string verdict = report.restored.empty() ? "nothing to repair"
                                                : fmt::format("{} {}", count_text(report.restored.size(), "range"),
                                                              report.dry_run ? "to restore" : "restored");
  if (report.remaining.empty()) {
    if (!report.restored.empty()) verdict += report.dry_run ? ", whole afterwards" : ", whole again";
  } else {
    verdict = fmt::format("{}, {} that {}", report.restored.empty() ? "nothing restored" : verdict,
                          count_text(report.remaining.size(), "finding"),
                          asked_others ? "nothing there can undo; name more sources with --from"
                                       : "nothing in the file can undo; name a source with --from, or fetch the file "
                                         "again");
  }
  return text + fmt::format("{}: {}, {} checked\n", escaped(report.path), verdict, size_text(report.checked_bytes));
}

std::string report_json(const RepairReport& report) {
  Json restored = Json::array();
  for (const RestoredRange& range : report.restored) {
    restored.push_back({{"what", range.what}, {"file_offset", range.range.offset}, {"size_bytes", range.range.size}});
  }
  Json sources = Json::array();
  for (const RepairSourceReport& source : report.sources) {
    sources.push_back({{"name", source.name},
                       {"restored_bytes", source.restored_bytes},
                       {"read_bytes", source.read_bytes},
                       {"ranges", source.ranges},
                       {"problem", source.problem}});
  }
  return json_text({{"schema", "fatctx.repair/1"},
                    {"file", report.path},
                    {"uuid", report.uuid},
                    {"generation", report.generation},
                    {"dry_run", report.dry_run},
                    {"whole", report.remaining.empty()},
                    {"checked_bytes", report.checked_bytes},
                    {"lacking_bytes", report.lacking_bytes},
                    {"restored", std::move(restored)},
                    {"sources", std::move(sources)},
                    {"remaining", findings_json(report.remaining)}});
}

// Returns a source behind a URL. Nothing is asked of the server before the repair needs it.
RepairSource source_at(const std::string& url, const HttpOptions& http) {
  const auto source = std::make_shared<std::unique_ptr<ByteSource>>();
  return {
      url,
      [url, http, source]() -> Result<std::uint64_t> {
        FATCTX_ASSIGN(*source, open_url_source(url, http));
        return (*source)->size();
      },
      [source](const std::vector<ByteRange>& ranges, const TakeBytes& take) { return (*source)->read(ranges, take); }};
}

Result<RepairOptions> repair_options(const RepairFlags& flags, const HttpOptions& http) {
  RepairOptions options{.dry_run = flags.dry_run, .threads = flags.threads};
  FATCTX_ASSIGN(OpenOptions trust, open_options(flags.trust, 0));
  options.trusted_keys = std::move(trust.trusted_keys);
  options.minimum_generation = trust.minimum_generation;
  for (const std::string& from : flags.from) {
    if (is_url(from)) {
      options.sources.push_back(source_at(from, http));
      continue;
    }
    for (std::string& path : containers_named(from)) options.from.push_back(std::move(path));
  }
  return options;
}

Result<ExitCode> run_repair(const RepairFlags& flags) {
  const Interrupt interrupt;
  HttpOptions http = flags.http;
  http.cancel = interrupt.flag();
  FATCTX_ASSIGN(RepairOptions options, repair_options(flags, http));
  RepairReport report;
  {
    ProgressLine line("repair");
    options.mending = line.callback();
    options.progress = line.callback();
    FATCTX_ASSIGN(report, repair(flags.path, options));
  }
  print_result(flags.json ? report_json(report) : report_text(report, !flags.from.empty()));
  return exit_code_of(report.remaining);
}

}  // namespace

void add_repair(CLI::App& app, Outcome& outcome) {
  auto flags = std::make_shared<RepairFlags>();
  CLI::App* command = describe(app, "repair",
                               {.purpose = "Restore damaged bytes in place, from good copies and from other files",
                                .synopsis = "fatctx repair FILE [--from SOURCE]... [options]",
                                .examples = {"fatctx repair model.fatctx --dry-run", "fatctx repair model.fatctx",
                                             "fatctx repair model.fatctx --from whole.fatctx --dry-run"},
                                .more = "docs/cli/change.md, docs/delivery.md"});
  command->add_option("FILE", flags->path, "The container, sealed or not")->required();
  command->add_option("--from", flags->from, "Container, folder or URL with equal bytes; only --key stops attackers")
      ->type_name("FILE");
  command->add_flag("--dry-run", flags->dry_run, "Only say what would be restored, and read");
  add_trust_flags(*command, flags->trust);
  add_threads(*command, flags->threads, "read and hash");
  add_http_flags(*command, flags->http);
  command->add_flag("--json", flags->json, "Print JSON (schema fatctx.repair/1)");
  command->callback([flags, &outcome] { outcome.finish(run_repair(*flags)); });
}

}  // namespace fatctx::tools
