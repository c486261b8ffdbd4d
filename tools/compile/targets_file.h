// The chips to compile for: a JSON list (docs/manifest.md, "Targets") or words on the command line, and the compiler
// flags they mean.
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
  std::string cpu;                   // what the compiler calls the level: "x86-64-v3", "generic"
  std::string cpu_features;          // in the compiler's words: "+avx512vnni,+avx512bf16"
  std::vector<std::string> options;  // further flags; one with the name of a default replaces the default
};

struct TargetsFile {
  std::vector<std::string> import_options;
  std::vector<CompileTarget> targets;  // at least one, no two with the same key
};

// Either an array of targets or an object {"schema", "import_options", "options", "targets"}.
// Errors: invalid_argument with file, JSON pointer, what was found and what is allowed.
[[nodiscard]] Result<TargetsFile> parse_targets(std::string_view text, const std::string& file);
// Errors: also not_found, not_regular_file, io.
[[nodiscard]] Result<TargetsFile> read_targets(const std::string& path);
// "x86-64-v3", "aarch64+dotprod+i8mm". Errors: invalid_argument, listing what is known.
[[nodiscard]] Result<CompileTarget> parse_target_word(std::string_view word);

// "x86-64-v3+avx512-vnni": the target as people and record names say it, with its variant.
[[nodiscard]] std::string target_label(const CompileTarget& target);

// All flags of iree-compile but input and output, defaults first. The same target gives the same flags.
[[nodiscard]] std::vector<std::string> compiler_flags(const CompileTarget& target);

}  // namespace fatctx::tools
