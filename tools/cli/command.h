// The frame of the command: what a subcommand is, how it ends, and the list of all of them.
//
// A subcommand is one file, cmd_NAME.cc, with one function `add_NAME`. It registers its options with CLI11, its help
// with describe(), and a callback that hands its Result to Outcome::finish(). stdout carries the result only; all
// talk goes to stderr.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/error.h"
#include "fatctx/base/result.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace fatctx::tools {

// Exit codes are interface: docs/cli/README.md lists them.
enum class ExitCode : int {
  kOk = 0,
  kCheckFailed = 1,  // the asked check says no
  kUsage = 2,        // the command line or the manifest is wrong
  kFile = 3,         // a file is damaged, unsupported, or changed while it was read
  kNoMatch = 4,      // nothing in the container fits the device
  kEnvironment = 5,  // the system: space, locks, memory, a missing tool
  kBug = 70,         // ours
};

// The one place that turns an error code into an exit code.
[[nodiscard]] ExitCode exit_code_for(ErrorCode code) noexcept;

// How the command that ran has ended.
class Outcome {
 public:
  // Prints an error as `fatctx: <text>` on stderr; keeps the exit code.
  void finish(const Result<ExitCode>& result);
  [[nodiscard]] ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_ = ExitCode::kOk;
};

// What --help prints beside the options. Every example works as pasted and is one line.
struct HelpText {
  std::string purpose;   // one line, no final stop
  std::string synopsis;  // "fatctx info FILE [options]"
  std::vector<std::string> examples;
  std::string more;  // where to read on: "docs/cli/README.md"
};

// Adds the subcommand `name` with its help. Options are added to the App that comes back.
CLI::App* describe(CLI::App& app, const std::string& name, const HelpText& help);

// For every option that is a number: decimal digits, from `least` to `most`. CLI11 by itself takes 2^64 and -1 for the
// largest number, and 010 for 8. tests/tools/cli/command_test.cc tries every option of every command.
[[nodiscard]] CLI::Validator whole_number(std::uint64_t least = 0,
                                          std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
// The same for a number with a unit behind it, "4GiB". Comes before CLI::AsSizeValue, which checks the unit.
[[nodiscard]] CLI::Validator size_number();

// --generation N: which state of a container that was appended to is opened; left out, the newest.
void add_generation(CLI::App& command, std::uint64_t& generation);

// Brings a command line into the form that CLI11 reads: in option names an underscore becomes a dash. Values, and
// everything behind a lone `--`, stay as they are.
// Errors: invalid_argument for an unknown subcommand or option, naming the nearest known one.
[[nodiscard]] Result<std::vector<std::string>> prepare_arguments(const CLI::App& app,
                                                                 const std::vector<std::string>& arguments);

// Runs one command line (without the program's name), guarded.
[[nodiscard]] ExitCode run_command(const std::vector<std::string>& arguments);

// Exceptions end here: std::bad_alloc is kEnvironment, anything else kBug with a request for a report.
[[nodiscard]] ExitCode run_guarded(const std::function<ExitCode()>& work);

// One line per subcommand; the order is that of `fatctx --help`. The table itself is in commands.cc.
void add_pack(CLI::App& app, Outcome& outcome);
void add_append(CLI::App& app, Outcome& outcome);
void add_note(CLI::App& app, Outcome& outcome);
void add_remove(CLI::App& app, Outcome& outcome);
void add_strip(CLI::App& app, Outcome& outcome);
void add_compact(CLI::App& app, Outcome& outcome);
void add_seal(CLI::App& app, Outcome& outcome);
void add_merge(CLI::App& app, Outcome& outcome);
void add_compile(CLI::App& app, Outcome& outcome);
void add_ctx_gen(CLI::App& app, Outcome& outcome);
void add_info(CLI::App& app, Outcome& outcome);
void add_select(CLI::App& app, Outcome& outcome);
void add_device(CLI::App& app, Outcome& outcome);
void add_socs(CLI::App& app, Outcome& outcome);
void add_verify(CLI::App& app, Outcome& outcome);
void add_repair(CLI::App& app, Outcome& outcome);
void add_diff(CLI::App& app, Outcome& outcome);
void add_extract(CLI::App& app, Outcome& outcome);
void add_materialize(CLI::App& app, Outcome& outcome);
void add_cache(CLI::App& app, Outcome& outcome);
void add_bench(CLI::App& app, Outcome& outcome);
void add_dlc(CLI::App& app, Outcome& outcome);
void add_export(CLI::App& app, Outcome& outcome);
void add_wrap(CLI::App& app, Outcome& outcome);
void add_sign(CLI::App& app, Outcome& outcome);
void add_keygen(CLI::App& app, Outcome& outcome);

struct CommandHook {
  std::string_view name;
  void (*add)(CLI::App& app, Outcome& outcome);
};
[[nodiscard]] const std::vector<CommandHook>& command_hooks();

}  // namespace fatctx::tools
