// The grammar of flags that describe records: targets, files with words.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"
#include "fatctx/soc_table.h"
#include "fatctx/targets.h"
#include "tools/pack/manifest.h"

namespace fatctx::tools {

// The meaning of the words of targets.
struct TargetRules {
  SocTable table = SocTable::built_in();
  bool allow_unreachable = false;  // targets that no device gets, or that contradict the table, are no error
};

// Completes the target of a record that somebody stated (fatctx/targets.h). `where` names its place in errors.
// Errors: those of complete_target(); the message names --allow-unreachable if this option helps.
[[nodiscard]] Status complete_target_of(PackRecord& record, const TargetRules& rules, std::string_view where);

// Parses "cpu:x86-64-v3+amx", "cpu:generic", "htp:v75": backend, then arch with features.
// Errors: invalid_argument.
[[nodiscard]] Result<PackKey> parse_target(std::string_view text);

// Does the same, and takes a device in words without a backend: "SM8650", "57", "v75", "x86-64-v3".
[[nodiscard]] Result<PackKey> parse_target(std::string_view text, const SocTable& table);

// Parses a target as a filter: "htp", "cpu:x86-64-v3+amx", "htp:v75,soc=57", ",part=SM8650", "v75". A SoC such as
// "SM8650" stands for its vendor number, which is its part if it has none. The words are those of parse_binary_flag,
// without the name. Errors: invalid_argument, naming the option.
[[nodiscard]] Result<PackKey> parse_target_filter(std::string_view option, std::string_view text,
                                                  const SocTable& table);

// A value FILE[,key=value...] of `option`.
// Errors: invalid_argument (no file; a word that is not allowed, with those that are).
struct FileFlag {
  std::string where;  // its name in errors
  std::string path;
  std::map<std::string, std::string> words;
};
[[nodiscard]] Result<FileFlag> parse_file_flag(std::string_view option, std::string_view text,
                                               const std::vector<std::string>& allowed);

// Parses FILE@TARGET[,unit=...,group=...,name=...,variant=...,part=...,soc=...,vtcm_mb=...,sdk=...] of
// --binary, and completes the target (fatctx/targets.h). `model` is the prefix of default names, which have everything
// that was stated of the target; `group` is the default group, and if it is empty, `model` is.
// Errors: invalid_argument.
[[nodiscard]] Result<ManifestRecord> parse_binary_flag(std::string_view text, const std::string& model,
                                                       const TargetRules& rules, const std::string& group = {});
// Parses FILE[,name=...,group=...,embedded=...] of --weights. `index` counts the blobs from 0.
[[nodiscard]] Result<ManifestRecord> parse_weights_flag(std::string_view text, const std::string& model,
                                                        std::size_t index, const std::string& group = {});

}  // namespace fatctx::tools
