#include "tools/change/rewrite_run.h"

#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tools/cli/interrupt.h"
#include "tools/cli/made_flag.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/cli/threads_flag.h"
#include "tools/pack/pack_run.h"

namespace fatctx::tools {

namespace {

std::string report_text(const RewriteReport& report) {
  const PackReport& pack = report.pack;
  std::string text = fmt::format("{}: generation {}, {}, {}\n", escaped(pack.path), report.generation,
                                 size_text(pack.file_size), pack.sealed ? "sealed" : "not sealed");
  Block block;
  block.add("uuid", pack.uuid);
  for (const RewriteSource& source : report.sources) {
    std::string what = fmt::format("generation {}, {}, {}", source.generation,
                                   count_text(source.record_count, "record"), size_text(source.file_size));
    if (source.dead_bytes != 0) what += fmt::format(", of which dead {}", size_text(source.dead_bytes));
    block.add("from", report.sources.size() == 1 ? what : source.path + ": " + what);
  }
  block.add("records", fmt::format("{}", pack.record_count));
  block.add("payload", fmt::format("{} of {}", size_text(pack.stored_bytes), size_text(pack.input_bytes)));
  for (const std::string& name : report.removed) block.add("removed", name);
  return text + block.text();
}

Json report_json(std::string_view verb, const RewriteReport& report) {
  Json sources = Json::array();
  for (const RewriteSource& source : report.sources) {
    sources.push_back({{"path", source.path},
                       {"generation", source.generation},
                       {"file_size", source.file_size},
                       {"dead_bytes", source.dead_bytes},
                       {"record_count", source.record_count}});
  }
  const PackReport& pack = report.pack;
  return {{"schema", fmt::format("fatctx.{}/1", verb)},
          {"path", pack.path},
          {"uuid", pack.uuid},
          {"generation", report.generation},
          {"file_size", pack.file_size},
          {"sealed", pack.sealed},
          {"record_count", pack.record_count},
          {"input_bytes", pack.input_bytes},
          {"stored_bytes", pack.stored_bytes},
          {"shared_bytes", pack.shared_bytes},
          {"sources", std::move(sources)},
          {"removed", report.removed},
          {"unused_weights", report.unused},
          {"notes", pack.warnings}};
}

}  // namespace

void add_sharing_flags(CLI::App& command, RewriteFlags& flags) {
  command.add_option("--sharing", flags.sharing, "How records share bytes: pages, bytes or off; default: as now")
      ->check(CLI::IsMember({"pages", "bytes", "off"}))
      ->type_name("HOW");
  command.add_option("--max-pieces", flags.max_pieces, "Sharing by pages: most pieces of one record (4096)")
      ->check(whole_number(1, 65536))
      ->type_name("N");
}

void add_rewrite_flags(CLI::App& command, RewriteFlags& flags, bool sharing) {
  command.add_option("FILE", flags.path, "The container")->required();
  command.add_option("-o,--output", flags.output, "Write this file and leave FILE as it is; default: replace FILE")
      ->type_name("OUT");
  command.add_flag("--force", flags.force, "Replace OUT if it exists");
  if (sharing) add_sharing_flags(command, flags);
  add_threads(command, flags.threads, "look for shared bytes");
  add_made_limit(command, flags.max_made_bytes);
  command.add_flag("--json", flags.json, "Print the report as JSON");
}

Result<SharingFlags> sharing_of(const RewriteFlags& flags) {
  SharingFlags sharing{.sharing = sharing_from_name(flags.sharing)};
  if (flags.max_pieces == 0) return sharing;
  if (sharing.sharing.value_or(Sharing::kPages) != Sharing::kPages) {
    return Error{
        ErrorCode::kInvalidArgument,
        fmt::format("--max-pieces is about --sharing pages, not --sharing {}; leave one of them out", flags.sharing)};
  }
  sharing.sharing = Sharing::kPages;
  sharing.max_pieces = flags.max_pieces;
  return sharing;
}

Status check_output(const RewriteFlags& flags) {
  std::error_code none;
  const bool there = std::filesystem::exists(std::filesystem::symlink_status(flags.output, none));
  if (flags.force || flags.output.empty() || !there || std::filesystem::equivalent(flags.output, flags.path, none)) {
    return Done{};
  }
  return Error{ErrorCode::kExists, fmt::format("{} already exists; pass --force to replace it", flags.output)};
}

void print_report(std::string_view verb, const RewriteReport& report, bool json) {
  for (const std::string& warning : report.pack.warnings) print_note("note: " + escaped(warning));
  for (const std::string& name : report.unused) {
    print_note(fmt::format("note: no binary refers to the weights \"{}\" any more; `fatctx remove` takes them out",
                           escaped(name)));
  }
  print_result(json ? json_text(report_json(verb, report)) : report_text(report));
}

Result<ExitCode> run_rewrite(std::string_view verb, const RewriteFlags& flags, RewriteOptions options) {
  FATCTX_ASSIGN(const SharingFlags sharing, sharing_of(flags));
  FATCTX_TRY(check_output(flags));
  ProgressLine line{std::string(verb)};
  const Interrupt interrupt;
  options.overwrite = flags.force;
  options.sharing = sharing.sharing;
  options.max_pieces = sharing.max_pieces;
  options.threads = flags.threads;
  options.max_made_bytes = flags.max_made_bytes;
  options.progress = line.callback();
  options.cancel = interrupt.flag();
  FATCTX_ASSIGN(const RewriteReport report,
                rewrite_container(flags.path, flags.output.empty() ? flags.path : flags.output, options));
  print_report(verb, report, flags.json);
  return ExitCode::kOk;
}

}  // namespace fatctx::tools
