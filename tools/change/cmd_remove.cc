// fatctx remove: removes records from a container.
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "fatctx/container.h"
#include "tools/change/rewrite_run.h"
#include "tools/cli/command.h"
#include "tools/cli/find_record.h"
#include "tools/cli/whole_container.h"

namespace fatctx::tools {

namespace {

struct RemoveFlags {
  RewriteFlags rewrite;
  std::vector<std::string> records;
};

Result<ExitCode> run_remove(const RemoveFlags& flags) {
  std::vector<std::uint32_t> left;
  {
    FATCTX_ASSIGN(const Container container, open_whole(flags.rewrite.path));
    std::vector<std::uint32_t> gone;
    for (const std::string& name : flags.records) {
      FATCTX_ASSIGN(const RecordInfo record, find_record(container, name));
      gone.push_back(record.id);
    }
    FATCTX_ASSIGN(left, records_without(all_records(container), gone));
  }
  return run_rewrite("remove", flags.rewrite, {.keep = std::move(left)});
}

}  // namespace

void add_remove(CLI::App& app, Outcome& outcome) {
  auto flags = std::make_shared<RemoveFlags>();
  CLI::App* command = describe(app, "remove",
                               {.purpose = "Write a container anew without some records",
                                .synopsis = "fatctx remove FILE RECORD... [-o OUT] [options]",
                                .examples = {"fatctx remove model.fatctx tiny-x86-64-v2 license",
                                             "fatctx remove model.fatctx '#3' -o less.fatctx --json"},
                                .more = "docs/cli/change.md; `fatctx strip` removes by target"});
  add_rewrite_flags(*command, flags->rewrite, false);
  command->add_option("RECORD", flags->records, "Records that go; names, or # and ids")->required();
  command->callback([flags, &outcome] { outcome.finish(run_remove(*flags)); });
}

}  // namespace fatctx::tools
