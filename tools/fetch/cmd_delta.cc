// fatctx delta: makes an update, a small file that turns old states of a container into a new one.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/update.h"
#include "tools/cli/command.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/output_place.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"
#include "tools/cli/threads_flag.h"
#include "tools/fetch/update_text.h"

namespace fatctx::tools {

namespace {

struct DeltaFlags {
  std::vector<std::string> files;  // the last one is NEW
  std::string output;
  std::uint32_t threads = 0;
  bool force = false;
  bool dry_run = false;
  bool for_partial = false;
  bool json = false;
};

Result<UpdateReport> delta(const DeltaFlags& flags) {
  if (flags.files.size() < 2) {
    return Error{ErrorCode::kInvalidArgument,
                 fmt::format("{}: name at least one old container before the new one", flags.files.front())};
  }
  if (flags.output.empty() != flags.dry_run) {
    return Error{ErrorCode::kInvalidArgument,
                 flags.dry_run ? "--dry-run writes nothing: leave out --output" : "name the update with --output"};
  }
  for (const std::string& file : flags.files) {
    if (!flags.dry_run) FATCTX_TRY(check_is_no_input(flags.output, {{"container", file}}));
  }
  if (!flags.dry_run) FATCTX_TRY(check_is_free(flags.output, flags.force));
  ProgressLine line("delta");
  const Interrupt interrupt;
  const MakeUpdateOptions options{.overwrite = flags.force,
                                  .for_partial = flags.for_partial,
                                  .threads = flags.threads,
                                  .progress = line.callback(),
                                  .cancel = interrupt.flag()};
  const std::vector<std::string> old(flags.files.begin(), flags.files.end() - 1);
  return flags.dry_run ? measure_update(old, flags.files.back(), options)
                       : make_update(old, flags.files.back(), flags.output, options);
}

Result<ExitCode> run_delta(const DeltaFlags& flags) {
  FATCTX_ASSIGN(const UpdateReport report, delta(flags));
  if (flags.json) {
    Json json = update_json("fatctx.delta/1", report);
    json.add("dry_run", flags.dry_run);
    print_result(json_text(json));
    return ExitCode::kOk;
  }
  std::string text =
      fmt::format("{}: {}, {} of the new file's {}\n", flags.dry_run ? "update" : escaped(report.path),
                  size_text(report.update_bytes), percent_text(report.update_bytes, report.made.file_size),
                  size_text(report.made.file_size));
  text += containers_text(report) + steps_text(report);
  if (flags.dry_run) text += "nothing was written\n";
  print_result(text);
  return ExitCode::kOk;
}

}  // namespace

void add_delta(CLI::App& app, Outcome& outcome) {
  auto flags = std::make_shared<DeltaFlags>();
  CLI::App* command = describe(app, "delta",
                               {.purpose = "Make an update from old containers to a new one, of what changed only",
                                .synopsis = "fatctx delta OLD... NEW -o UPDATE [options]",
                                .examples = {"fatctx delta old.fatctx new.fatctx -o model.update",
                                             "fatctx delta old.fatctx new.fatctx --dry-run"},
                                .more = "docs/cli/fetch.md, docs/update_format.md"});
  command->add_option("FILES", flags->files, "The old containers that a device has, and the new one last")->required();
  command->add_option("-o,--output", flags->output, "The update to write")->type_name("UPDATE");
  command->add_flag("--for-partial", flags->for_partial, "Serve devices that have a part of OLD, too: larger");
  command->add_flag("--force", flags->force, "Replace UPDATE if it exists");
  command->add_flag("--dry-run", flags->dry_run, "Only say how large the update would be");
  add_threads(*command, flags->threads, "search for equal bytes");
  command->add_flag("--json", flags->json, "Print JSON (schema fatctx.delta/1)");
  command->callback([flags, &outcome] { outcome.finish(run_delta(*flags)); });
}

}  // namespace fatctx::tools
