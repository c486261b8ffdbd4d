// What is to go into a container, as the commands that write one are told: by a manifest, or by flags that stand for
// one.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/pack/manifest.h"

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
  std::string quant;  // facts of every context binary that comes by a flag
  bool allow_dynamic = false;
  std::string group;                    // of what does not say it; empty: the name
  std::set<std::string> known_weights;  // no flag: weight blobs of the container that is added to
};

void add_manifest_argument(CLI::App& command, RecordFlags& flags);
// --name, --binary, --weights, --ep-context, --dlc, --tensors-from, --quant, --allow-dynamic.
void add_record_flags(CLI::App& command, RecordFlags& flags);
// --one-per-soc, --strict-sharing. Lifetime: both outlive the parse.
void add_adding_rules(CLI::App& command, bool& one_per_soc, bool& strict_sharing);

// Whether what the flags add says for itself which group it belongs to.
[[nodiscard]] bool every_group_named(const RecordFlags& flags);

// Reads the manifest, or makes one of the flags. Errors: those of read_manifest, of parsing the flags and of looking at
// the files that they name; invalid_argument if there are both, or neither.
[[nodiscard]] Result<Manifest> manifest_of(const RecordFlags& flags);

}  // namespace fatctx::tools
