// Drives any other compiler: a command line with places for the model, the target and the output
// (docs/cli/compile.md, fatctx compile).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/soc_table.h"
#include "tools/compile/compile_cache.h"
#include "tools/compile/compile_driver.h"
#include "tools/facts/htp_config.h"

namespace fatctx::tools {

struct CommandTarget {
  std::string label;                     // shown to people, and the end of the record's name
  PackKey key;                           // without a group
  std::string config_file;               // {config}; empty: none
  std::vector<DescribedOption> options;  // what the record was compiled with
};

// Parses a SoC, a Hexagon arch, a CPU arch with features, or "backend:arch+feature".
// Errors: invalid_argument.
[[nodiscard]] Result<CommandTarget> command_target_of_word(std::string_view word, const SocTable& table);
[[nodiscard]] CommandTarget command_target_of(const HtpTarget& target);

// A command line in parts. Blanks separate parts; text in '...' or "..." is one part. Nothing else has a
// meaning, because no shell is involved.
class CommandTemplate {
 public:
  // Parses a command line. Errors: invalid_argument (empty, an open quote, an unknown place, no {output}).
  [[nodiscard]] static Result<CommandTemplate> parse(std::string_view text);

  struct Values {
    std::string model;
    std::string output;
    std::string log_level;
  };
  // Returns the arguments for a target. Errors: invalid_argument, if the command has a place that the target
  // cannot fill.
  [[nodiscard]] Result<std::vector<std::string>> fill(const CommandTarget& target, const Values& values) const;

 private:
  explicit CommandTemplate(std::vector<std::string> parts) : parts_(std::move(parts)) {}

  std::vector<std::string> parts_;  // at least one
};

struct CommandRequest {
  CommandTemplate command;
  std::vector<CommandTarget> targets;  // at least one, no two labels alike
  std::string format;                  // of the payloads; empty: detected from their first bytes
  std::string log_level;
};

class CommandCompile : public CompileDriver {
 public:
  // Creates the driver. Lifetime: borrows `cache`.
  // Errors: backend_library_missing (no such program), invalid_argument (as CommandTemplate::fill), those of reading
  //         the model for its hash.
  [[nodiscard]] static Result<CommandCompile> create(CommandRequest request, const CompileCache& cache,
                                                     CompileInput input);

  [[nodiscard]] std::string name() const override;  // the program's, without its folder
  [[nodiscard]] std::size_t target_count() const noexcept override { return request_.targets.size(); }
  [[nodiscard]] std::string label(std::size_t target) const override { return request_.targets[target].label; }
  [[nodiscard]] std::string unit(std::size_t /*target*/) const override { return input_.unit; }
  [[nodiscard]] Status begin(std::string& log) override;
  [[nodiscard]] Result<CompiledTarget> compile(std::size_t target, std::string& log) const override;
  [[nodiscard]] Result<std::vector<ManifestRecord>> shared_records() const override;

 private:
  CommandCompile(CommandRequest request, const CompileCache& cache, CompileInput input)
      : request_(std::move(request)), cache_(&cache), input_(std::move(input)) {}
  [[nodiscard]] Result<std::vector<std::string>> arguments_for(const CommandTarget& target,
                                                               const std::string& output) const;
  [[nodiscard]] Result<StepInputs> inputs_for(const CommandTarget& target) const;
  [[nodiscard]] std::string dlc_prefix(const CommandTarget& target) const;
  [[nodiscard]] Error wrong_form(const std::string& form) const;
  [[nodiscard]] Result<std::vector<ManifestRecord>> read_back(const CommandTarget& target,
                                                              const std::string& file) const;

  CommandRequest request_;
  const CompileCache* cache_;
  CompileInput input_;
  std::string program_;  // absolute
  std::vector<HashedFile> model_;
  std::vector<HashedFile> files_;  // the other inputs of the key: the program, and all files that the commands name
};

}  // namespace fatctx::tools
