// Records calls of the library and their results as JSON lines, for reading in a bug report and for replaying.
//
// It records opens, selections and acquired views, with their options and with enough of the result to recognise a
// different one: identity of the container, chosen records, size and hash of a view, or the code of the error.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "fatctx/base/result.h"

namespace fatctx {

// Takes one line, without line feed. Called on the thread of the call with no lock held, from several threads at once.
// Calls of this library from inside it are not recorded. Must not throw.
using TraceSink = std::function<void(std::string_view line)>;

// Starts writing to `sink`, which first gets a line that names the schema; an empty sink stops. Any time, any thread.
// While it is off, each such call costs one relaxed atomic load.
void set_trace(TraceSink sink);

struct ReplayDifference {
  std::size_t line = 0;  // counted from 1
  std::string call;      // "view m.fatctx record 3"
  std::string gave;      // then
  std::string gives;     // now
};

struct ReplayReport {
  std::size_t calls = 0;    // repeated
  std::size_t skipped = 0;  // cannot be repeated: descriptors and buffers of the process that wrote the trace
  std::vector<ReplayDifference> differences;
};

// Repeats the calls of a trace (the text of the file) one after the other and compares their results. Closes at the end
// everything that it opened.
// Errors: invalid_argument (naming the line, the value found and the values allowed).
[[nodiscard]] Result<ReplayReport> replay_trace(std::string_view trace);

}  // namespace fatctx
