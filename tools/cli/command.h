// Defines the frame of the command: what a subcommand is, how it ends, and the list of all of them.
//
// A subcommand is one file, cmd_NAME.cc, with one function `add_NAME`. It registers its options with CLI11,
// its help with describe(), and a callback that hands its Result to Outcome::finish(). stdout carries only
// the result; all messages go to stderr.
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

// Exit codes are part of the interface: docs/cli/README.md lists them.
enum class ExitCode : int {
  kOk = 0,
  kCheckFailed = 1,  // the requested check failed
  kUsage = 2,        // the command line or the manifest is wrong
  kFile = 3,         // a file is damaged, unsupported, or changed while it was read
  kNoMatch = 4,      // nothing in the container fits the device
  kEnvironment = 5,  // the system: no space, a lock, no memory, a missing tool
  kNotPresent = 6,   // a file has only a part of its container, and not the one that is needed
  kBug = 70,         // a bug of fatctx
};

// Maps an error code to an exit code. No other place does.
[[nodiscard]] ExitCode exit_code_for(ErrorCode code) noexcept;

// The outcome of the command that ran.
class Outcome {
 public:
  // Prints an error as `fatctx: <text>` on stderr; keeps the exit code.
  void finish(const Result<ExitCode>& result);
  [[nodiscard]] ExitCode code() const noexcept { return code_; }

 private:
  ExitCode code_ = ExitCode::kOk;
};

// The text that --help prints beside the options. Every example is one line and works as pasted.
struct HelpText {
  std::string purpose;   // one line, no final stop
  std::string synopsis;  // "fatctx info FILE [options]"
  std::vector<std::string> examples;
  std::string more;  // where to read more: "docs/cli/README.md"
};

// Adds the subcommand `name` with its help. Returns the App to add options to.
CLI::App* describe(CLI::App& app, const std::string& name, const HelpText& help);

// "fatctx 0.1.0"
[[nodiscard]] std::string version_line();

// Returns the error for a command that does not exist; it names the nearest one.
[[nodiscard]] Error unknown_command(const CLI::App& app, const std::string& typed);

// Validates an option that is a number: decimal digits, from `least` to `most`. CLI11 alone takes 2^64 and -1
// for the largest number, and 010 for 8. tests/tools/cli/command_test.cc tries every option of every command.
[[nodiscard]] CLI::Validator whole_number(std::uint64_t least = 0,
                                          std::uint64_t most = std::numeric_limits<std::uint64_t>::max());
// Does the same for a number with a unit, "4GiB". Add it before CLI::AsSizeValue, which checks the unit.
[[nodiscard]] CLI::Validator size_number();

// Adds --generation N: the state to open of a container that was appended to. The default is the newest.
void add_generation(CLI::App& command, std::uint64_t& generation);

// Normalises a command line for CLI11: in option names an underscore becomes a dash. Values, and everything
// after a lone `--`, do not change.
// Errors: invalid_argument for an unknown subcommand or option, naming the nearest known one.
[[nodiscard]] Result<std::vector<std::string>> prepare_arguments(const CLI::App& app,
                                                                 const std::vector<std::string>& arguments);

// Runs one command line (without the program's name) under run_guarded().
[[nodiscard]] ExitCode run_command(const std::vector<std::string>& arguments);

// Lets ctx-gen run sessions of ONNX Runtime. Only builds with its headers have this function.
void use_onnxruntime() noexcept;

// Catches every exception: std::bad_alloc becomes kEnvironment, anything else kBug with a request for a
// report.
[[nodiscard]] ExitCode run_guarded(const std::function<ExitCode()>& work);

// One line per subcommand, in the order of `fatctx --help`. The table itself is in commands.cc.
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
void add_ls(CLI::App& app, Outcome& outcome);
void add_select(CLI::App& app, Outcome& outcome);
void add_device(CLI::App& app, Outcome& outcome);
void add_socs(CLI::App& app, Outcome& outcome);
void add_verify(CLI::App& app, Outcome& outcome);
void add_repair(CLI::App& app, Outcome& outcome);
void add_fetch(CLI::App& app, Outcome& outcome);
void add_push(CLI::App& app, Outcome& outcome);
void add_delta(CLI::App& app, Outcome& outcome);
void add_apply(CLI::App& app, Outcome& outcome);
void add_index(CLI::App& app, Outcome& outcome);
void add_diff(CLI::App& app, Outcome& outcome);
void add_report(CLI::App& app, Outcome& outcome);
void add_extract(CLI::App& app, Outcome& outcome);
void add_materialize(CLI::App& app, Outcome& outcome);
void add_cache(CLI::App& app, Outcome& outcome);
void add_bench(CLI::App& app, Outcome& outcome);
void add_dlc(CLI::App& app, Outcome& outcome);
void add_export(CLI::App& app, Outcome& outcome);
void add_wrap(CLI::App& app, Outcome& outcome);
void add_sign(CLI::App& app, Outcome& outcome);
void add_keygen(CLI::App& app, Outcome& outcome);
void add_schema(CLI::App& app, Outcome& outcome);
void add_help(CLI::App& app, Outcome& outcome);
void add_version(CLI::App& app, Outcome& outcome);

// Adds a command that --help does not list: it prints all commands as JSON, from which the build makes manual pages
// and completions for shells.
void add_describe_commands(CLI::App& app, Outcome& outcome);

// Adds a command that --help does not list: it infers the shapes of one ONNX model for `info`, which runs it in a
// process of its own.
void add_onnx_shapes(CLI::App& app, Outcome& outcome);

// The largest binary that `wrap --embed` puts into a model without a note: a runtime holds several copies of it.
inline constexpr std::uint64_t kLargeModel = std::uint64_t{1} << 30;
// Adds the command with another size. The tests use it to reach the note without a gigabyte.
void add_wrap(CLI::App& app, Outcome& outcome, std::uint64_t large_model);

struct CommandHook {
  std::string_view name;
  void (*add)(CLI::App& app, Outcome& outcome);
};
[[nodiscard]] const std::vector<CommandHook>& command_hooks();

}  // namespace fatctx::tools
