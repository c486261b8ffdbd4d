#include "tools/cli/command_tree.h"

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "fatctx/version.h"
#include "tools/cli/screen_help.h"

namespace fatctx::tools {
namespace {

// CLI11 appends the permitted values to the type: "HOW:{pages,bytes,off}".
std::vector<std::string> values_of(const std::string& type) {
  std::vector<std::string> values;
  const std::size_t open = type.find(":{");
  if (open == std::string::npos || !type.ends_with('}')) return values;
  std::string_view rest = std::string_view(type).substr(open + 2, type.size() - open - 3);
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    values.emplace_back(rest.substr(0, comma));
    rest.remove_prefix(std::min(comma + 1, rest.size()));
  }
  return values;
}

Json option_json(const CLI::Option& option) {
  Json names = Json::array();
  if (option.get_positional()) {
    names.push_back(option.get_name(true, false));
  } else {
    for (const std::string& name : option.get_snames()) names.push_back("-" + name);
    for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  }
  const std::string type = option.get_type_name();
  const bool takes_value = option.get_items_expected_max() > 0;
  return {{"names", names},
          {"text", option.get_description()},
          // A positional is its own word for its type.
          {"type", !takes_value              ? Json()
                   : option.get_positional() ? Json(option.get_name(true, false))
                                             : Json(type.substr(0, type.find(':')))},
          {"values", values_of(type)},
          {"required", option.get_required()},
          {"repeats", option.get_items_expected_max() > 1}};
}

Json command_json(const CLI::App& app) {
  Json positionals = Json::array();
  Json options = Json::array();
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_group().empty()) continue;  // hidden
    (option->get_positional() ? positionals : options).push_back(option_json(*option));
  }
  const HelpText* help = help_of(app);
  return {{"name", app.get_name()},
          {"purpose", help == nullptr ? app.get_description() : help->purpose},
          {"synopsis", help == nullptr ? std::string() : help->synopsis},
          {"positionals", positionals},
          {"options", options},
          {"examples", help == nullptr ? std::vector<std::string>() : help->examples},
          {"more", help == nullptr ? std::string() : help->more}};
}

}  // namespace

Json command_tree(const CLI::App& app) {
  Json commands = Json::array();
  for (const CLI::App* command : app.get_subcommands({})) {
    if (!command->get_group().empty()) commands.push_back(command_json(*command));
  }
  return {{"schema", "fatctx.commands/1"},
          {"version", FATCTX_VERSION},
          {"program", command_json(app)},
          {"commands", commands}};
}

}  // namespace fatctx::tools
