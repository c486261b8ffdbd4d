// fatctx sign: signs a container, in place or as a copy.
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/record.h"
#include "fatctx/signature.h"
#include "tools/cli/command.h"
#include "tools/cli/interrupt.h"
#include "tools/cli/made_flag.h"
#include "tools/cli/output_place.h"
#include "tools/cli/print.h"
#include "tools/cli/progress.h"

namespace fatctx::tools {

namespace {

struct SignFlags {
  std::string path;
  std::string key;
  std::string output;
  std::uint64_t max_made_bytes = 0;
  bool seal = false;
  bool force = false;
  bool json = false;
};

Result<ExitCode> run_sign(const SignFlags& flags) {
  const bool in_place = flags.output.empty();
  FATCTX_TRY(check_is_no_input(flags.output, {{"key", flags.key}}));
  ProgressLine line("sign");
  const Interrupt interrupt;
  auto signed_file = sign_container(flags.path, flags.key, in_place ? flags.path : flags.output,
                                    {.seal = flags.seal,
                                     .overwrite = flags.force,
                                     .progress = line.callback(),
                                     .cancel = interrupt.flag(),
                                     .max_made_bytes = flags.max_made_bytes});
  if (!signed_file.ok() && signed_file.error().code == ErrorCode::kExists) {
    return Error{ErrorCode::kExists, fmt::format("{} already exists; pass --force to replace it", flags.output)};
  }
  if (!signed_file.ok()) return std::move(signed_file).error();
  const SignReport& report = signed_file.value();
  if (flags.json) {
    print_result(json_text({{"schema", "fatctx.sign/1"},
                            {"file", report.path},
                            {"uuid", report.uuid},
                            {"generation", report.generation},
                            {"file_size", report.file_size},
                            {"sealed", report.sealed},
                            {"key_id", to_hex(report.key_id)}}));
  } else {
    print_result(fmt::format("{}: generation {}{}, {}, signed with key {}\n", escaped(report.path), report.generation,
                             report.sealed ? ", sealed" : "", size_text(report.file_size), to_hex(report.key_id)));
  }
  return ExitCode::kOk;
}

}  // namespace

void add_sign(CLI::App& app, Outcome& outcome) {
  auto flags = std::make_shared<SignFlags>();
  CLI::App* command = describe(app, "sign",
                               {.purpose = "Sign a container, so that readers can tell who made it",
                                .synopsis = "fatctx sign FILE --key NAME.key [options]",
                                .examples = {"fatctx sign model.fatctx --key release.key",
                                             "fatctx sign model.fatctx --key release.key --seal -o signed.fatctx"},
                                .more = "docs/cli/change.md, docs/threat_model.md; check with fatctx verify "
                                        "--key NAME.pub"});
  command->add_option("FILE", flags->path, "The container")->required();
  command->add_option("--key", flags->key, "The secret key, made by fatctx keygen")->required()->type_name("NAME.key");
  command->add_option("-o,--output", flags->output, "Where to (instead of FILE)")->type_name("NEW");
  command->add_flag("--force", flags->force, "Replace NEW if it exists");
  command->add_flag("--seal", flags->seal, "Seal it as well");
  add_made_limit(*command, flags->max_made_bytes);
  command->add_flag("--json", flags->json, "Print the summary as JSON (schema fatctx.sign/1)");
  command->callback([flags, &outcome] { outcome.finish(run_sign(*flags)); });
}

}  // namespace fatctx::tools
