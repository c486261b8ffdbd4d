// fatctx help, fatctx version, and the hidden fatctx describe-commands.
#include <memory>
#include <string>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "tools/cli/command.h"
#include "tools/cli/command_tree.h"
#include "tools/cli/print.h"

namespace fatctx::tools {

namespace {

const CLI::App* find_command(const CLI::App& app, const std::string& name) {
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == name) return command;
  }
  return nullptr;
}

Result<ExitCode> run_help(const CLI::App& app, const std::string& name) {
  if (name.empty()) {
    // help() of an App whose subcommand was parsed prints that of the subcommand.
    print_result(app.get_formatter()->make_help(&app, "", CLI::AppFormatMode::Normal));
    return ExitCode::kOk;
  }
  const CLI::App* command = find_command(app, name);
  if (command == nullptr) return unknown_command(app, name);
  print_result(command->help());
  return ExitCode::kOk;
}

}  // namespace

void add_help(CLI::App& app, Outcome& outcome) {
  auto name = std::make_shared<std::string>();
  CLI::App* command = describe(app, "help",
                               {.purpose = "Print the help of a command, or the list of commands",
                                .synopsis = "fatctx help [COMMAND]",
                                .examples = {"fatctx help pack"},
                                .more = "docs/cli/help.md"});
  command->add_option("COMMAND", *name, "A command; without it, all of them are listed");
  command->callback([name, &app, &outcome] { outcome.finish(run_help(app, *name)); });
}

void add_version(CLI::App& app, Outcome& outcome) {
  CLI::App* command = describe(app, "version",
                               {.purpose = "Print the version",
                                .synopsis = "fatctx version",
                                .examples = {"fatctx version"},
                                .more = "docs/cli/help.md"});
  command->callback([&outcome] {
    print_result(version_line() + '\n');
    outcome.finish(ExitCode::kOk);
  });
}

void add_describe_commands(CLI::App& app, Outcome& outcome) {
  CLI::App* command = describe(app, "describe-commands",
                               {.purpose = "Print all commands with their options as JSON",
                                .synopsis = "fatctx describe-commands",
                                .examples = {"fatctx describe-commands"},
                                .more = "docs/cli/help.md"});
  command->group("");  // hidden
  command->callback([&app, &outcome] {
    print_result(json_text(command_tree(app)));
    outcome.finish(ExitCode::kOk);
  });
}

}  // namespace fatctx::tools
