// The chips to compile for, and their compiler flags: read from a JSON list (docs/manifest.md, "Targets") or
// from words on the command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/packer.h"

namespace fatctx::tools {

inline constexpr std::string_view kTargetsSchema = "fatctx.targets/1";

struct CompileTarget {
  PackKey key;                       // backend "cpu", arch, features, variant, generic
  std::string triple;                // "x86_64-unknown-linux-gnu"
  std::string cpu;                   // the compiler's name of the level: "x86-64-v3", "generic"
  std::string cpu_features;          // in the compiler's words: "+avx512vnni,+avx512bf16"
  std::vector<std::string> options;  // further flags; one with the name of a default replaces it
};

struct TargetsFile {
  std::vector<std::string> import_options;
  std::vector<CompileTarget> targets;  // at least one, no two with equal keys
};

// Parses an array of targets or an object {"schema", "import_options", "options", "targets"}.
// Errors: invalid_argument with file, JSON pointer, the found and the allowed values.
[[nodiscard]] Result<TargetsFile> parse_targets(std::string_view text, const std::string& file);
// Reads and parses a file. Errors: also not_found, not_regular_file, io.
[[nodiscard]] Result<TargetsFile> read_targets(const std::string& path);
// Parses "x86-64-v3", "aarch64+dotprod+i8mm". Errors: invalid_argument, listing the known words.
[[nodiscard]] Result<CompileTarget> parse_target_word(std::string_view word);

// Returns the target as people and record names write it, with its variant: "x86-64-v3+avx512-vnni".
[[nodiscard]] std::string target_label(const CompileTarget& target);

// Returns all flags of iree-compile but input and output, defaults first. Equal targets have equal flags.
[[nodiscard]] std::vector<std::string> compiler_flags(const CompileTarget& target);

}  // namespace fatctx::tools
