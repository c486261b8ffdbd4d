// fatctx verify: every check there is, every finding printed.
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "fatctx/container.h"
#include "tools/command.h"
#include "tools/find_record.h"
#include "tools/print.h"
#include "tools/progress.h"
#include "tools/recording.h"

namespace fatctx::tools {

namespace {

struct VerifyOptions {
  std::string path;
  std::uint64_t generation = 0;
  std::string record;
  bool json = false;
};

Result<VerifyReport> check(const VerifyOptions& options) {
  ProgressLine line("verify");
  if (options.record.empty() && options.generation == 0) return verify_file(options.path, line.callback());
  FATCTX_ASSIGN(const Container container, Container::open(options.path, {.generation = options.generation}));
  if (options.record.empty()) return container.verify(line.callback());
  FATCTX_ASSIGN(const RecordInfo record, find_record(container, options.record));
  return container.verify_record(record.id, line.callback());
}

nlohmann::ordered_json finding_json(const Error& error) {
  nlohmann::ordered_json json = {{"code", error_code_name(error.code)}, {"message", error.message}};
  if (!error.where.rule.empty()) json["rule"] = error.where.rule;
  if (error.where.record_id) json["record"] = *error.where.record_id;
  if (error.where.file_offset) json["file_offset"] = *error.where.file_offset;
  return json;
}

std::string report_json(const VerifyOptions& options, const VerifyReport& report) {
  nlohmann::ordered_json json = {{"schema", "fatctx.verify/1"}, {"file", options.path}};
  if (options.generation != 0) json["generation"] = options.generation;
  if (!options.record.empty()) json["record"] = options.record;
  json["whole"] = report.findings.empty();
  json["checked_bytes"] = report.checked_bytes;
  json["findings"] = nlohmann::ordered_json::array();
  for (const VerifyFinding& finding : report.findings) json["findings"].push_back(finding_json(finding.error));
  return json_text(json);
}

std::string report_text(const VerifyOptions& options, const VerifyReport& report) {
  std::string out;
  for (const VerifyFinding& finding : report.findings) out += escaped(to_text(finding.error)) + "\n";
  std::string subject = options.path;
  if (options.generation != 0) subject += fmt::format(": generation {}", options.generation);
  if (!options.record.empty()) subject += fmt::format(": record {}", options.record);
  const std::string verdict = report.findings.empty() ? "whole" : count_text(report.findings.size(), "finding");
  return out + fmt::format("{}: {}, {} checked\n", escaped(subject), verdict, size_text(report.checked_bytes));
}

Result<ExitCode> run_verify(const VerifyOptions& options) {
  FATCTX_ASSIGN(const VerifyReport report, check(options));
  print_result(options.json ? report_json(options, report) : report_text(options, report));
  return report.findings.empty() ? ExitCode::kOk : ExitCode::kFile;
}

}  // namespace

void add_verify(CLI::App& app, Outcome& outcome) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App* command =
      describe(app, "verify",
               {.purpose = "Check every byte of a container, or of one record",
                .synopsis = "fatctx verify FILE [options]",
                .examples = {"fatctx verify model.fatctx", "fatctx verify model.fatctx --record weights --json"},
                .more = "docs/cli.md; the rules a finding names are in docs/format.md"});
  command->add_option("FILE", options->path, "The container")->required();
  command->add_option("--record", options->record, "Check this record only; a name, or # and an id")->type_name("NAME");
  add_generation(*command, options->generation);
  command->add_flag("--json", options->json, "Print JSON (schema fatctx.verify/1)");
  const auto recording = add_recording(*command);
  command->callback(
      [options, recording, &outcome] { outcome.finish(recorded(*recording, [&] { return run_verify(*options); })); });
}

}  // namespace fatctx::tools
