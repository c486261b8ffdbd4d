// fatctx compact and fatctx seal: write a container anew, without the bytes that no record uses any more.
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "tools/change/rewrite_run.h"
#include "tools/cli/command.h"

namespace fatctx::tools {

namespace {

struct CompactFlags {
  RewriteFlags rewrite;
  std::uint64_t generation = 0;
  bool seal = false;
};

// Returns whether the output is sealed. A sealed file stays sealed in place; a copy of it may grow again.
std::optional<bool> seal_of(const CompactFlags& flags) {
  if (flags.seal) return true;
  return flags.rewrite.output.empty() ? std::optional<bool>() : std::optional<bool>(false);
}

}  // namespace

void add_compact(CLI::App& app, Outcome& outcome) {
  auto flags = std::make_shared<CompactFlags>();
  CLI::App* command = describe(app, "compact",
                               {.purpose = "Write a container anew: no dead bytes, equal bytes stored once",
                                .synopsis = "fatctx compact FILE [-o OUT] [options]",
                                .examples = {"fatctx compact model.fatctx",
                                             "fatctx compact model.fatctx -o small.fatctx --sharing bytes --seal"},
                                .more = "docs/cli/change.md; a copy of a sealed file (-o) is not sealed, so that it "
                                        "can be appended to"});
  add_rewrite_flags(*command, flags->rewrite, true);
  command->add_flag("--seal", flags->seal, "Write a sealed file (read-only, cannot be appended to)");
  command->add_option("--generation", flags->generation, "Write this earlier generation instead of the newest")
      ->type_name("N")
      ->check(whole_number(1));
  command->callback([flags, &outcome] {
    outcome.finish(run_rewrite("compact", flags->rewrite, {.seal = seal_of(*flags), .generation = flags->generation}));
  });
}

void add_seal(CLI::App& app, Outcome& outcome) {
  auto flags = std::make_shared<RewriteFlags>();
  CLI::App* command =
      describe(app, "seal",
               {.purpose = "Compact a container and seal it, for delivery",
                .synopsis = "fatctx seal FILE [-o OUT] [options]",
                .examples = {"fatctx seal model.fatctx", "fatctx seal model.fatctx -o release.fatctx --json"},
                .more = "docs/cli/change.md; a sealed file is read-only and never changes"});
  add_rewrite_flags(*command, *flags, true);
  command->callback([flags, &outcome] { outcome.finish(run_rewrite("seal", *flags, {.seal = true})); });
}

}  // namespace fatctx::tools
