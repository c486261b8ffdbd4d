// Files that a library writes by path and that this process reads back, such as a model that ONNX Runtime writes.
//
// On Linux they are in memory only: nothing of them reaches a disk. Elsewhere, and without memfd or /proc, they are in
// a private temporary folder.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "fatctx/base/result.h"
#include "mapping/unique_fd.h"
#include "mapping/work_folder.h"

namespace fatctx::mapping {

// An owner of files in one folder. The destructor removes them. Their paths are valid in this process only.
class ScratchFiles {
 public:
  // Creates so many files, or names for them. Errors: no_resource, no_space, io.
  [[nodiscard]] static Result<ScratchFiles> make(std::size_t count);

  // Returns the name within the folder, by which files may refer to each other.
  [[nodiscard]] const std::string& name(std::size_t index) const { return names_[index]; }
  [[nodiscard]] std::string path(std::size_t index) const { return folder_ + "/" + names_[index]; }
  [[nodiscard]] bool in_memory() const noexcept { return !disk_; }

 private:
  ScratchFiles() noexcept = default;
  [[nodiscard]] static Result<ScratchFiles> make_on_disk(std::size_t count);

  std::string folder_;
  std::vector<std::string> names_;
  std::vector<UniqueFd> memory_;
  std::optional<WorkFolder> disk_;
};

}  // namespace fatctx::mapping
