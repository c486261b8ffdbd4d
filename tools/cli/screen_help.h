// The help of a command on one screen: purpose, synopsis, options, examples, where to read more.
#pragma once

#include "tools/cli/command.h"

namespace fatctx::tools {

// Gives an App its help text and the option --help.
void set_help(CLI::App& app, HelpText help);

// Returns the text that the App got; null if it got none. Lifetime: borrows from `app`.
[[nodiscard]] const HelpText* help_of(const CLI::App& app);

}  // namespace fatctx::tools
