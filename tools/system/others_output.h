// Keeps the output of third-party libraries away from stdout.
#pragma once

namespace fatctx::tools {

// A guard that sends to stderr all that this process writes to stdout. stdout is for the result, and
// libraries of vendors print greetings there. Not thread-safe.
class OthersOutput {
 public:
  OthersOutput() noexcept;
  ~OthersOutput();
  OthersOutput(const OthersOutput&) = delete;
  OthersOutput& operator=(const OthersOutput&) = delete;

 private:
  int stdout_;  // a copy of it; negative if it could not be copied, and then nothing is redirected
};

}  // namespace fatctx::tools
