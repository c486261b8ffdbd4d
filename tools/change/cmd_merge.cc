// fatctx merge: merges several containers into one.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "tools/change/rewrite_run.h"
#include "tools/cli/command.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/made_flag.h"
#include "tools/cli/progress.h"
#include "tools/cli/threads_flag.h"
#include "tools/jobs/joined_parts.h"

namespace fatctx::tools {

namespace {

struct MergeFlags {
  RewriteFlags rewrite;
  std::vector<std::string> files;
  std::string name;
  bool seal = false;
  bool allow_missing_jobs = false;
};

Result<ExitCode> run_merge(const MergeFlags& flags) {
  FATCTX_ASSIGN(const SharingFlags sharing, sharing_of(flags.rewrite));
  FATCTX_TRY(check_output(flags.rewrite));
  ProgressLine line("merge");
  const Interrupt interrupt;
  MergeOptions options;
  options.model_name = flags.name;
  options.seal = flags.seal;
  options.overwrite = flags.rewrite.force;
  options.sharing = sharing.sharing;
  options.max_pieces = sharing.max_pieces;
  options.progress = line.callback();
  options.cancel = interrupt.flag();
  options.threads = flags.rewrite.threads;
  options.max_made_bytes = flags.rewrite.max_made_bytes;
  FATCTX_ASSIGN(const std::optional<JobMark> mark, join_parts(flags.files, flags.allow_missing_jobs, options));
  if (!mark && flags.allow_missing_jobs) {
    return invalid_argument(
        "--allow-missing-jobs is for parts of `fatctx compile --job`, and no file is one; leave it out");
  }
  FATCTX_ASSIGN(const RewriteReport report, merge_containers(flags.files, flags.rewrite.output, options));
  print_report("merge", report, flags.rewrite.json);
  return ExitCode::kOk;
}

}  // namespace

void add_merge(CLI::App& app, Outcome& outcome) {
  auto flags = std::make_shared<MergeFlags>();
  CLI::App* command =
      describe(app, "merge",
               {.purpose = "Put the records of several containers into one, equal bytes once",
                .synopsis = "fatctx merge FILE... -o OUT [options]",
                .examples = {"fatctx merge model.fatctx more.fatctx -o all.fatctx",
                             "fatctx merge more.fatctx model.fatctx -o all.fatctx --name both --seal --json"},
                .more = "docs/cli/change.md; a record that several have is taken once, and must be the same in all"});
  command->add_option("FILE", flags->files, "The containers, at least two")->required()->expected(2, 4096);
  command->add_option("-o,--output", flags->rewrite.output, "The container to write")->required()->type_name("OUT");
  command->add_option("--name", flags->name, "Name of the model; default: as in the first container")
      ->type_name("NAME");
  command->add_flag("--seal", flags->seal, "Write a sealed file (read-only, cannot be appended to)");
  command->add_flag("--force", flags->rewrite.force, "Replace OUT if it exists");
  command->add_flag("--allow-missing-jobs", flags->allow_missing_jobs,
                    "Merge parts of `compile --job` though some are missing");
  add_sharing_flags(*command, flags->rewrite);
  add_threads(*command, flags->rewrite.threads, "look for shared bytes");
  add_made_limit(*command, flags->rewrite.max_made_bytes);
  command->add_flag("--json", flags->rewrite.json, "Print the report as JSON");
  command->callback([flags, &outcome] { outcome.finish(run_merge(*flags)); });
}

}  // namespace fatctx::tools
