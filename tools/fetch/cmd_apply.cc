// fatctx apply: makes a new container from old ones and an update.
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
#include "tools/cli/trust_flags.h"
#include "tools/fetch/update_text.h"
#include "tools/source/byte_source.h"

namespace fatctx::tools {

namespace {

struct ApplyFlags {
  std::string update;
  std::vector<std::string> from;
  std::string output;
  TrustFlags trust;
  std::uint64_t most_bytes = 0;
  bool force = false;
  bool json = false;
};

Result<ApplyReport> apply(const ApplyFlags& flags) {
  FATCTX_TRY(check_is_no_input(flags.output, {{"update", flags.update}}));
  FATCTX_TRY(check_is_free(flags.output, flags.force));
  FATCTX_ASSIGN(const OpenOptions trust, open_options(flags.trust, 0));
  std::vector<std::string> old;
  for (const std::string& from : flags.from) {
    for (std::string& path : containers_named(from)) old.push_back(std::move(path));
  }
  ProgressLine line("apply");
  const Interrupt interrupt;
  return apply_update(flags.update, old, flags.output,
                      {.overwrite = flags.force,
                       .trusted_keys = trust.trusted_keys,
                       .minimum_generation = trust.minimum_generation,
                       .max_made_bytes = flags.most_bytes,
                       .progress = line.callback(),
                       .cancel = interrupt.flag()});
}

Result<ExitCode> run_apply(const ApplyFlags& flags) {
  FATCTX_ASSIGN(const ApplyReport report, apply(flags));
  if (flags.json) {
    Json json = update_json("fatctx.apply/1", report.update);
    json.add("file", report.path);
    json.add("signature_verified", report.signature_verified);
    json.add("absent_bytes", report.absent_bytes);
    if (report.absent_bytes != 0) json.add("records", report.records);
    print_result(json_text(json));
    return ExitCode::kOk;
  }
  const std::uint64_t whole = report.update.made.file_size;
  std::string text =
      fmt::format("{}: {}, {}\n", escaped(report.path),
                  report.absent_bytes == 0
                      ? size_text(whole)
                      : fmt::format("a part, {} of {}", size_text(whole - report.absent_bytes), size_text(whole)),
                  report.signature_verified ? "every leaf checked, signature verified" : "every leaf checked");
  if (report.absent_bytes != 0) {
    Block block;
    block.add("whole", escaped(fmt::format("{}", fmt::join(report.records, ", "))));
    text += block.text();
  }
  text += containers_text(report.update) + steps_text(report.update);
  print_result(text);
  return ExitCode::kOk;
}

}  // namespace

void add_apply(CLI::App& app, Outcome& outcome) {
  auto flags = std::make_shared<ApplyFlags>();
  CLI::App* command = describe(app, "apply",
                               {.purpose = "Make a new container from old ones and an update, and check every byte",
                                .synopsis = "fatctx apply UPDATE --from OLD... -o NEW [options]",
                                .examples = {"fatctx apply model.update --from old.fatctx -o out.fatctx"},
                                .more = "docs/cli/fetch.md, docs/update_format.md"});
  command->add_option("UPDATE", flags->update, "The update that `fatctx delta` made")->required();
  command->add_option("--from", flags->from, "An old container, or a folder of them; repeatable")
      ->required()
      ->type_name("OLD");
  command->add_option("-o,--output", flags->output, "The file to make; may be OLD, with --force")
      ->required()
      ->type_name("NEW");
  command->add_flag("--force", flags->force, "Replace NEW if it exists");
  add_trust_flags(*command, flags->trust);
  command
      ->add_option("--max-made-bytes", flags->most_bytes,
                   "Most bytes of NEW (64 MiB, and 16 times those of OLD and UPDATE)")
      ->transform(CLI::AsSizeValue(false))
      ->transform(size_number())
      ->type_name("SIZE");
  command->add_flag("--json", flags->json, "Print JSON (schema fatctx.apply/1)");
  command->callback([flags, &outcome] { outcome.finish(run_apply(*flags)); });
}

}  // namespace fatctx::tools
