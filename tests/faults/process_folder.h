// A folder for files that all tests of the process use.
#pragma once

#include <unistd.h>

#include <memory>
#include <string>

#include "support/temp_dir.h"

namespace fatctx::faults {

// Goes with the process that made it, and not when a forked child of it ends.
class ProcessFolder {
 public:
  ProcessFolder() = default;
  ~ProcessFolder() {
    if (::getpid() != maker_) (void)folder_.release();
  }
  ProcessFolder(const ProcessFolder&) = delete;
  ProcessFolder& operator=(const ProcessFolder&) = delete;
  [[nodiscard]] std::string file(const std::string& name) const { return folder_->file(name); }

 private:
  pid_t maker_ = ::getpid();
  std::unique_ptr<support::TempDir> folder_ = std::make_unique<support::TempDir>();
};

}  // namespace fatctx::faults
