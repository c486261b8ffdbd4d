#include "tools/cli/command.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <limits>
#include <new>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "fatctx/base/nearest.h"
#include "fatctx/version.h"
#include "tools/cli/print.h"
#include "tools/cli/screen_help.h"

namespace fatctx::tools {

namespace {

bool takes_value(const CLI::Option& option) { return option.get_items_expected_min() > 0; }

const CLI::Option* find_option(const CLI::App& app, const std::string& name) {
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional()) continue;
    if (option->check_name(name)) return option;
  }
  return nullptr;
}

std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& known, std::string_view help) {
  const auto near = nearest(typed, known);
  return near ? fmt::format("did you mean {}? ", *near) + std::string(help) : std::string(help);
}

std::string help_hint(const CLI::App& app) {
  const std::string of = app.get_parent() == nullptr ? "" : " " + app.get_name();
  return fmt::format("see: fatctx{} --help", of);
}

// Adds --color to the program, and to each command without a line in its help, because people write it in either place.
void add_color(CLI::App& app) {
  const auto add = [](CLI::App& to) {
    return to
        .add_option_function<std::string>(
            "--color",
            [](const std::string& when) {
              use_color(when == "always" ? Color::kAlways : when == "never" ? Color::kNever : Color::kAuto);
            },
            "Colours: on a terminal without NO_COLOR, always or never")
        ->type_name("WHEN")
        ->check(CLI::IsMember({"auto", "always", "never"}));
  };
  add(app);
  for (CLI::App* command : app.get_subcommands({})) add(*command)->group("");
}

void add_all(CLI::App& app, Outcome& outcome) {
  set_help(app, {.purpose = "fatctx: one file for a model's context binaries and the weights they share",
                 .synopsis = "fatctx COMMAND [options]",
                 .examples = {"fatctx info model.fatctx", "fatctx select model.fatctx --device x86-64-v3"},
                 .more = "fatctx COMMAND --help, docs/cli/README.md"});
  app.set_version_flag("--version", version_line(), "Print the version");
  app.require_subcommand(0, 1);
  for (const CommandHook& hook : command_hooks()) hook.add(app, outcome);
  add_describe_commands(app, outcome);
  add_onnx_shapes(app, outcome);
  add_color(app);
}

ExitCode usage_error(std::string_view message) {
  print_note("fatctx: " + escaped(message));
  return ExitCode::kUsage;
}

// Adapts a message of CLI11, which ends sentences with a stop and starts them with a capital, to our style.
std::string as_our_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '.')) text.pop_back();
  std::replace(text.begin(), text.end(), '\n', ' ');
  if (text.size() > 1 && text[1] >= 'a' && text[1] <= 'z') {
    text[0] = static_cast<char>(text[0] >= 'A' && text[0] <= 'Z' ? text[0] - 'A' + 'a' : text[0]);
  }
  return text;
}

ExitCode parse_and_run(const std::vector<std::string>& arguments) {
  CLI::App app;
  app.allow_windows_style_options(false);  // "/x" is a path, on every system
  Outcome outcome;
  add_all(app, outcome);
  if (arguments.empty()) {
    print_note("fatctx: a command is missing\n");
    std::string help = app.help();
    help.pop_back();  // print_note adds the line feed
    print_note(help);
    return ExitCode::kUsage;
  }
  auto prepared = prepare_arguments(app, arguments);
  if (!prepared.ok()) return usage_error(prepared.error().message);
  std::vector<std::string> reversed = std::move(prepared).value();  // CLI11 pops from the back
  std::reverse(reversed.begin(), reversed.end());
  const auto parsed_command = [&app]() -> const CLI::App& {
    const auto chosen = app.get_subcommands();
    return chosen.empty() ? app : *chosen.front();
  };
  bool answered = false;
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::CallForHelp&) {
    answered = true;
    print_result(parsed_command().help());
  } catch (const CLI::CallForVersion& version) {
    answered = true;
    print_result(fmt::format("{}\n", version.what()));
  } catch (const CLI::Success&) {
    return ExitCode::kOk;  // an option such as --help did all the work
  } catch (const CLI::ParseError& error) {
    return usage_error(as_our_line(error.what()) + "; " + help_hint(parsed_command()));
  }
  if (!answered && app.get_subcommands().empty()) return usage_error("a command is missing; " + help_hint(app));
  return outcome.code();
}

}  // namespace

ExitCode exit_code_for(ErrorCode code) noexcept {
  switch (code) {  // no default: a new code without a row here does not compile
    case ErrorCode::kNotFound:
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotRegularFile:
    case ErrorCode::kExists:
    case ErrorCode::kInvalidConfig:
    case ErrorCode::kCopyNotAllowed:
      return ExitCode::kUsage;
    case ErrorCode::kTruncated:
    case ErrorCode::kTrailingData:
    case ErrorCode::kBadMagic:
    case ErrorCode::kUnsupported:
    case ErrorCode::kMalformed:
    case ErrorCode::kChecksumMismatch:
    case ErrorCode::kLimitExceeded:
    case ErrorCode::kBadReference:
    case ErrorCode::kCodec:
    case ErrorCode::kSignatureMissing:
    case ErrorCode::kSignatureBad:
    case ErrorCode::kRollback:
    case ErrorCode::kChanged:
    case ErrorCode::kMappingLost:
      return ExitCode::kFile;
    case ErrorCode::kNoMatch:
      return ExitCode::kNoMatch;
    case ErrorCode::kNotPresent:
      return ExitCode::kNotPresent;
    case ErrorCode::kIo:
    case ErrorCode::kRemoteFilesystem:
    case ErrorCode::kLocked:
    case ErrorCode::kCommitUnknown:
    case ErrorCode::kNoSpace:
    case ErrorCode::kNoResource:
    case ErrorCode::kCancelled:
    case ErrorCode::kOutOfMemory:
    case ErrorCode::kOperationNotPermitted:
    case ErrorCode::kSerialiseFailed:
    case ErrorCode::kBackendLibraryMissing:
    case ErrorCode::kBackendRestarted:
    case ErrorCode::kTimedOut:
      return ExitCode::kEnvironment;
    case ErrorCode::kStaleHandle:
    case ErrorCode::kInternal:
      return ExitCode::kBug;
  }
  return ExitCode::kBug;  // not a known code
}

void Outcome::finish(const Result<ExitCode>& result) {
  if (result.ok()) {
    code_ = result.value();
    return;
  }
  print_note("fatctx: " + escaped(to_text(result.error())));
  code_ = exit_code_for(result.error().code);
}

namespace {

std::string refuse_number(std::string_view text, std::string_view digits, std::uint64_t least, std::uint64_t most) {
  if (text.starts_with('-')) return fmt::format("{} is below {}", text, least);
  std::uint64_t number = 0;
  const auto [rest, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  const bool whole = failed == std::errc{} && rest == digits.data() + digits.size();
  if (whole && number >= least && number <= most) return {};
  return fmt::format("{} is not a whole number from {} to {}", text, least, most);
}

}  // namespace

CLI::Validator whole_number(std::uint64_t least, std::uint64_t most) {
  return {[least, most](std::string& text) { return refuse_number(text, text, least, most); }, "", "whole_number"};
}

CLI::Validator size_number() {
  return {[](std::string& text) {
            const std::string_view digits = std::string_view(text).substr(0, text.find_first_not_of("0123456789"));
            return refuse_number(text, digits, 0, std::numeric_limits<std::uint64_t>::max());
          },
          "", "size_number"};
}

void add_generation(CLI::App& command, std::uint64_t& generation) {
  command.add_option("--generation", generation, "An earlier state of a container that was appended to")
      ->check(whole_number(1))
      ->type_name("N");
}

CLI::App* describe(CLI::App& app, const std::string& name, const HelpText& help) {
  CLI::App* command = app.add_subcommand(name, help.purpose);
  set_help(*command, help);
  return command;
}

std::string version_line() { return std::string("fatctx ") + FATCTX_VERSION; }

Error unknown_command(const CLI::App& app, const std::string& typed) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) names.push_back(command->get_name());
  }
  return {ErrorCode::kInvalidArgument,
          fmt::format("unknown command {}; {}", typed, did_you_mean(typed, names, help_hint(app)))};
}

// An unset variable of a script produces an empty value; it has no meaning for any option.
Error empty_value(std::string_view option) {
  return {ErrorCode::kInvalidArgument,
          fmt::format("{}: the value is empty; give one, or leave the option out", option)};
}

Result<std::vector<std::string>> prepare_arguments(const CLI::App& app, const std::vector<std::string>& arguments) {
  const CLI::App* current = &app;
  std::vector<std::string> prepared;
  prepared.reserve(arguments.size());
  bool options_end = false;
  std::size_t values_due = 0;
  std::string due;  // the option that still expects values
  for (const std::string& argument : arguments) {
    std::string next = argument;
    const bool looks_like_option = argument.size() > 1 && argument[0] == '-' && !options_end;
    if (values_due > 0) {
      --values_due;
      if (argument.empty()) return empty_value(due);
    } else if (looks_like_option && argument == "--") {
      options_end = true;
    } else if (looks_like_option && argument[1] == '-') {
      const std::size_t equals = std::min(argument.find('='), argument.size());
      std::replace(next.begin(), next.begin() + static_cast<std::ptrdiff_t>(equals), '_', '-');
      const std::string name = next.substr(0, equals);
      const CLI::Option* option = find_option(*current, name);
      if (option == nullptr) {
        return Error{ErrorCode::kInvalidArgument,
                     fmt::format("unknown option {}; {}", argument.substr(0, equals),
                                 did_you_mean(name, option_names(*current), help_hint(*current)))};
      }
      if (equals == argument.size() && takes_value(*option)) {
        values_due = static_cast<std::size_t>(option->get_items_expected_min());
        due = name;
      }
      if (equals + 1 == argument.size() && takes_value(*option)) return empty_value(name);
    } else if (looks_like_option) {
      const CLI::Option* option = find_option(*current, argument.substr(0, 2));
      if (option == nullptr) {
        return Error{ErrorCode::kInvalidArgument,
                     fmt::format("unknown option {}; {}", argument.substr(0, 2), help_hint(*current))};
      }
      if (argument.size() == 2 && takes_value(*option)) {
        values_due = static_cast<std::size_t>(option->get_items_expected_min());
        due = argument;
      }
    } else if (current == &app) {
      const auto commands = app.get_subcommands({});
      const auto found = std::find_if(commands.begin(), commands.end(),
                                      [&](const CLI::App* command) { return command->get_name() == argument; });
      if (found == commands.end()) return unknown_command(app, argument);
      current = *found;
    }
    prepared.push_back(std::move(next));
  }
  return prepared;
}

ExitCode run_guarded(const std::function<ExitCode()>& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    print_note("fatctx: out of memory");
    return ExitCode::kEnvironment;
  } catch (const std::exception& error) {
    print_note(fmt::format("fatctx: this is a bug in fatctx {}: {}", FATCTX_VERSION, escaped(error.what())));
  } catch (...) {
    print_note(fmt::format("fatctx: this is a bug in fatctx {}: an exception of an unknown kind", FATCTX_VERSION));
  }
  print_note("fatctx: please report it with this command line and, if you can, the file");
  return ExitCode::kBug;
}

ExitCode run_command(const std::vector<std::string>& arguments) {
  return run_guarded([&arguments] {
    const ExitCode code = parse_and_run(arguments);
    if (flush_result() || code != ExitCode::kOk) return code;
    print_note("fatctx: the result could not be written to standard output");
    return ExitCode::kEnvironment;
  });
}

}  // namespace fatctx::tools
