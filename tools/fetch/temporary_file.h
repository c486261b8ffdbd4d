// A file that goes when the command ends.
#pragma once

#include <cstdio>
#include <string>
#include <utility>

namespace fatctx::tools {

// For example the whole source, for a server that sends no ranges; or an update.
class TemporaryFile {
 public:
  TemporaryFile() = default;
  ~TemporaryFile() {
    if (!path_.empty()) (void)std::remove(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  void own(std::string path) { path_ = std::move(path); }

 private:
  std::string path_;
};

}  // namespace fatctx::tools
