// A folder for files that all tests of the process use.
#pragma once

#include <unistd.h>

#include <string>

#include "support/temp_dir.h"

namespace fatctx::faults {

// A folder that is removed with the process that created it, and not when a forked child of that process ends.
class ProcessFolder {
 public:
  ProcessFolder() {}
  ~ProcessFolder() {
    if (::getpid() == maker_) folder_.~TempDir();
  }
  ProcessFolder(const ProcessFolder&) = delete;
  ProcessFolder& operator=(const ProcessFolder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return folder_.file(name); }

 private:
  pid_t maker_ = ::getpid();
  union {
    support::TempDir folder_{};  // in a union, so that a child does not destroy it
  };
};

}  // namespace fatctx::faults
