// Takes bytes by a file beside the source, made for devices that have old files: an update from one of them, or a block
// index.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "fatctx/fetch_plan.h"
#include "tools/source/byte_source.h"

namespace fatctx::tools {

// The name of the block index beside a container on a server or a disk.
inline constexpr std::string_view kBlockIndexSuffix = ".blocks";

struct BesideSource {
  const std::string& source;
  const std::string& out;                // temporary files have its name and a suffix
  const std::vector<std::string>& olds;  // containers that are here
  bool dry_run = false;                  // an update is only looked for; an index is used, to know the rest
};

// The files that brought bytes, or would.
struct UsedBeside {
  std::string update;  // empty: none
  std::uint64_t update_bytes = 0;
  std::string index;  // empty: none
  std::uint64_t index_bytes = 0;
  std::uint64_t requests = 0;
};

// Uses an update from one of the old files if there is one that is smaller than the missing bytes, else the block index
// if it is smaller than half of them. Whatever fails is a note: the leaves come from the source then. Nothing is
// believed: the plan checks every leaf.
void take_from_beside(FetchPlan& plan, const BesideSource& beside, const HttpOptions& http, UsedBeside& used);

}  // namespace fatctx::tools
