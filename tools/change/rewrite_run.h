// The flags, the run and the report that all commands share that write containers anew.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "fatctx/base/result.h"
#include "fatctx/rewrite.h"
#include "tools/cli/command.h"

namespace fatctx::tools {

struct RewriteFlags {
  std::string path;
  std::string output;  // empty: in place
  std::string sharing;
  std::uint32_t max_pieces = 0;  // 0: not passed
  std::uint32_t threads = 0;
  std::uint64_t max_made_bytes = 0;
  bool force = false;
  bool json = false;
};

// Adds FILE, -o, --force, --json, -j and --max-made-bytes. With `sharing` also --sharing and --max-pieces.
void add_rewrite_flags(CLI::App& command, RewriteFlags& flags, bool sharing);
void add_sharing_flags(CLI::App& command, RewriteFlags& flags);

// Writes the container anew. `verb` is printed in the progress line; `options` hold what the command itself
// decides.
[[nodiscard]] Result<ExitCode> run_rewrite(std::string_view verb, const RewriteFlags& flags, RewriteOptions options);

// The meaning of the sharing flags. Errors: invalid_argument (max pieces without sharing by pages).
struct SharingFlags {
  std::optional<Sharing> sharing;
  std::uint32_t max_pieces = 4096;
};
[[nodiscard]] Result<SharingFlags> sharing_of(const RewriteFlags& flags);
// Checks the output before anything is read. Errors: exists, if the output is another file and --force is not
// set.
[[nodiscard]] Status check_output(const RewriteFlags& flags);
// Prints warnings to standard error, the report to standard output.
void print_report(std::string_view verb, const RewriteReport& report, bool json);

}  // namespace fatctx::tools
