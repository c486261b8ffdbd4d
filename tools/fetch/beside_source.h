// Takes bytes by a file beside the source, made for devices that have old files: an update from one of them, or a block
// index.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "fatctx/fetch_plan.h"
#include "tools/source/byte_source.h"

namespace fatctx::tools {

// The name of the block index beside a container on a server or a disk.
inline constexpr std::string_view kBlockIndexSuffix = ".blocks";

// A way to bring missing bytes, and its price.
struct Way {
  enum class Kind : std::uint8_t { kLeaves, kUpdate, kBlockIndex };
  Kind kind = Kind::kLeaves;
  std::uint64_t bytes = 0;
  std::uint64_t requests = 0;
  bool at_least = false;  // a block index that was not brought: only a search tells the rest
  bool used = false;

  // A request costs as much time as 128 KiB: 30 ms at 35 Mbit/s.
  [[nodiscard]] std::uint64_t price() const noexcept { return bytes + requests * (std::uint64_t{128} << 10U); }
};

struct BesideSource {
  const std::string& source;
  const std::string& out;                // temporary files have its name and a suffix
  const std::vector<std::string>& olds;  // containers that are here
  const ByteSource& leaves;              // the source itself
  bool dry_run = false;                  // an update is only looked for; an index is used, to know the rest
};

// The files that brought bytes, or would.
struct UsedBeside {
  std::string update;  // empty: none
  std::uint64_t update_bytes = 0;
  std::string index;  // empty: none
  std::uint64_t index_bytes = 0;
  std::uint64_t requests = 0;
  std::vector<Way> ways;  // that were compared, the cheapest first; empty: nothing was looked for
};

// Brings the missing bytes by the cheapest way: leaves of the source, an update from one of the old files, or the block
// index. The price of the index is known when it is here and the old files are searched, so it is brought only if it
// costs less than half of the cheapest other way. If an update then costs less than the rest, it is taken as well.
// Whatever fails is a note: the leaves come from the source then. Nothing is believed: the plan checks every leaf.
void take_from_beside(FetchPlan& plan, const BesideSource& beside, const HttpOptions& http, UsedBeside& used);

// Returns a line with the ways that were compared, if there was a choice.
[[nodiscard]] std::string ways_text(const UsedBeside& used);
[[nodiscard]] Json ways_json(const UsedBeside& used);

}  // namespace fatctx::tools
