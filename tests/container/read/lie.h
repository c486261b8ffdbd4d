// One row of the table of malformed files: a good file, one wrong thing, and the rule that must be reported for it.
#pragma once

#include <string_view>

#include "fatctx/base/error.h"
#include "support/hostile_file.h"

namespace fatctx::container {

// A change of support::unsealed_sample(). The file's records: 1 to 4 binaries, 5 weights, 6 their tensor table, 7 the
// description. Its segments: 0 packed (records 6 and 7), 1 to 4 the binaries, 5 the weights (three leaves), 6 LEAVES.
// Slice and key number i belong to record i + 1. References: 1 to 4 and 6, each to record 5.
struct Lie {
  const char* name;
  void (*damage)(support::HostileFile& file);
  ErrorCode code;
  std::string_view rule;
  std::string_view words = {};  // of the message, where another check would report the same rule
};

}  // namespace fatctx::container
