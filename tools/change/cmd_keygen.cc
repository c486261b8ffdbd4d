// fatctx keygen: makes a key pair to sign containers with.
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/keys.h"
#include "fatctx/record.h"
#include "tools/cli/command.h"
#include "tools/cli/print.h"

namespace fatctx::tools {

namespace {

Result<ExitCode> run_keygen(const std::string& name) {
  auto made = make_keys(name);
  if (!made.ok() && made.error().code == ErrorCode::kExists) {
    return Error{
        ErrorCode::kExists,
        fmt::format("{0}.key or {0}.pub already exists, and a key is never replaced; choose another name", name)};
  }
  if (!made.ok()) return std::move(made).error();
  const KeyFiles& files = made.value();
  print_result(fmt::format("{}: the secret key; anyone who can read it can sign\n{}: the public key, {}\n",
                           escaped(files.secret_path), escaped(files.public_path), to_hex(files.public_key.id())));
  return ExitCode::kOk;
}

}  // namespace

void add_keygen(CLI::App& app, Outcome& outcome) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = describe(app, "keygen",
                               {.purpose = "Make a key pair to sign containers with",
                                .synopsis = "fatctx keygen -o NAME",
                                .examples = {"fatctx keygen -o release"},
                                .more = "docs/cli/change.md, docs/threat_model.md"});
  command->add_option("-o,--output", *name, "Writes NAME.key, which is secret, and NAME.pub")
      ->required()
      ->type_name("NAME");
  command->callback([name, &outcome] { outcome.finish(run_keygen(*name)); });
}

}  // namespace fatctx::tools
