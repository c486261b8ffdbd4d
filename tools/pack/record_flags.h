// Defines the records to write, as commands get them: by a manifest, or by flags that replace one.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/pack/manifest.h"
#include "tools/pack/manifest_flags.h"

namespace CLI {
class App;
}

namespace fatctx::tools {

struct RecordFlags {
  std::string manifest;
  std::string name;
  std::vector<std::string> binaries;
  std::vector<std::string> weights;
  std::vector<std::string> ep_contexts;
  std::vector<std::string> dlcs;
  std::string tensors_from;
  std::string quant;  // facts of every context binary that a flag adds
  bool allow_dynamic = false;
  bool allow_unreachable = false;
  std::string group;                    // default group; empty: the name
  std::set<std::string> known_weights;  // not a flag: weight blobs of the container that is appended to
};

void add_manifest_argument(CLI::App& command, RecordFlags& flags);
// Adds --name, --binary, --weights, --ep-context, --dlc, --tensors-from, --quant, --allow-dynamic and
// --allow-unreachable.
void add_record_flags(CLI::App& command, RecordFlags& flags);
// --one-per-soc, --strict-sharing. Lifetime: both outlive the parse.
void add_adding_rules(CLI::App& command, bool& one_per_soc, bool& strict_sharing);

// Returns true if everything that the flags add names its group.
[[nodiscard]] bool every_group_named(const RecordFlags& flags);

// Completes the targets of all context binaries (fatctx/targets.h). Errors: invalid_argument, naming the record.
[[nodiscard]] Status complete_targets(const TargetRules& rules, Manifest& manifest);

// Reads the manifest, or makes one from the flags. Errors: those of read_manifest, of parsing the flags and
// of reading the files that they name; invalid_argument if both are present, or neither.
[[nodiscard]] Result<Manifest> manifest_of(const RecordFlags& flags);

}  // namespace fatctx::tools
