// Moving what was made into place: all of it, or nothing.
#pragma once

#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "tools/compile/compile_cache.h"

namespace fatctx::tools {

// The folder of the outputs. One that was made for them goes again, unless they came.
class OutputFolder {
 public:
  // Errors: io. `path` empty: the current folder.
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

// Moves every file of `work` to `folder`, models last, so that whoever finds a model finds what it names. What was
// there under the same names is put back if one of them cannot be moved. Returns the paths.
// Errors: exists (without `force`), io.
[[nodiscard]] Result<std::vector<std::string>> publish_files(const WorkFolder& work, const std::string& folder,
                                                             bool force);

}  // namespace fatctx::tools
