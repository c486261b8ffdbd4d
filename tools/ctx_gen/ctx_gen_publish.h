// Moves the outputs into place: all of them, or none.
#pragma once

#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/compile/compile_cache.h"

namespace fatctx::tools {

// A folder of the outputs. If it was created for them and they never came, the destructor removes it.
class OutputFolder {
 public:
  // Opens or creates the folder; if `path` is empty, the current one. Errors: io.
  [[nodiscard]] static Result<OutputFolder> open(const std::string& path);
  OutputFolder(OutputFolder&& other) noexcept;
  OutputFolder& operator=(OutputFolder&&) = delete;
  ~OutputFolder();
  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  void keep() noexcept { made_.clear(); }

 private:
  explicit OutputFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
  std::vector<std::string> made_;  // the innermost first
};

// Moves every file of `work` to `folder`, models last, so that all files that a visible model names exist. If
// one of them cannot be moved, restores the replaced files. Returns the paths.
// Errors: exists (without `force`), io.
[[nodiscard]] Result<std::vector<std::string>> publish_files(const WorkFolder& work, const std::string& folder,
                                                             bool force);

}  // namespace fatctx::tools
