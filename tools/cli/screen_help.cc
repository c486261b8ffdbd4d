#include "tools/cli/screen_help.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/CLI.hpp>

namespace fatctx::tools {
namespace {

constexpr std::size_t kOptionColumn = 30;    // column of an option's explanation in --help
constexpr std::size_t kExampleColumns = 70;  // a longer example has a line of its own

// A formatter that prints help for one screen: purpose, synopsis, options, examples, where to read more.
class ScreenFormatter : public CLI::FormatterBase {
 public:
  explicit ScreenFormatter(HelpText help) : help_(std::move(help)) {}
  [[nodiscard]] const HelpText& help() const noexcept { return help_; }

  std::string make_help(const CLI::App* app, std::string /*name*/, CLI::AppFormatMode /*mode*/) const override {
    std::string out = fmt::format("{}\n\nUsage: {}\n", help_.purpose, help_.synopsis);
    const auto commands = app->get_subcommands({});
    if (!commands.empty()) {
      out += "\nCommands:\n";
      for (const CLI::App* command : commands) {
        if (!command->get_group().empty()) out += line(command->get_name(), command->get_description());
      }
    }
    std::string positionals;
    std::string options;
    for (const CLI::Option* option : app->get_options()) {
      if (option->get_group().empty()) continue;  // hidden
      const std::string name = option->get_positional() ? option->get_name(true, false) : flags_of(*option);
      (option->get_positional() ? positionals : options) += line(name, option->get_description());
    }
    if (!positionals.empty()) out += "\n" + positionals;
    if (!options.empty()) out += "\nOptions:\n" + options;
    const std::string examples = fmt::format("{}", fmt::join(help_.examples, "\n  "));
    const bool one_line = help_.examples.size() == 1 && examples.size() < kExampleColumns;
    if (!examples.empty()) out += (one_line ? "\nExample: " : "\nExamples:\n  ") + examples + "\n";
    if (!help_.more.empty()) out += "\nMore: " + help_.more + "\n";
    return out;
  }

 private:
  static std::string flags_of(const CLI::Option& option) {
    std::string names;
    for (const std::string& name : option.get_snames()) names += (names.empty() ? "-" : ", -") + name;
    for (const std::string& name : option.get_lnames()) names += (names.empty() ? "--" : ", --") + name;
    // CLI11 appends a check such as "HOW:{pages,off}" to the type; the explanation already says it in words.
    if (option.get_items_expected_max() > 0) {
      const std::string type = option.get_type_name();
      names += " " + type.substr(0, type.find(':'));
    }
    return names;
  }

  static std::string line(const std::string& name, const std::string& text) {
    std::string out = "  " + name;
    if (out.size() + 2 > kOptionColumn) out += "\n" + std::string(kOptionColumn, ' ');
    out.resize(std::max(out.size(), kOptionColumn), ' ');
    return out + text + "\n";
  }

  HelpText help_;
};

}  // namespace

void set_help(CLI::App& app, HelpText help) {
  app.formatter(std::make_shared<ScreenFormatter>(std::move(help)));
  app.set_help_flag("-h,--help", "Print this help");
}

const HelpText* help_of(const CLI::App& app) {
  const auto* formatter = dynamic_cast<const ScreenFormatter*>(app.get_formatter().get());
  return formatter == nullptr ? nullptr : &formatter->help();
}

}  // namespace fatctx::tools
