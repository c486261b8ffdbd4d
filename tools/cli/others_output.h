// What libraries of others print.
#pragma once

namespace fatctx::tools {

// While it lives, what anybody in this process writes to stdout goes to stderr: stdout is for our result, and libraries
// of vendors greet there. Not thread-safe.
class OthersOutput {
 public:
  OthersOutput() noexcept;
  ~OthersOutput();
  OthersOutput(const OthersOutput&) = delete;
  OthersOutput& operator=(const OthersOutput&) = delete;

 private:
  int stdout_;  // a copy of it; negative if it could not be copied, and then nothing is changed
};

}  // namespace fatctx::tools
