// A folder of one's own for files that are needed for a while.
#pragma once

#include <string>

#include "fatctx/base/result.h"

namespace fatctx::mapping {

// Removed with everything in it when it is destroyed. Threads: const members from any number of threads.
class WorkFolder {
 public:
  // In the folder of `path`, where there is the space for what the files become; nobody but the owner can look into it.
  // Errors: not_found, io, no_space.
  [[nodiscard]] static Result<WorkFolder> create_beside(const std::string& path);
  // Where the system keeps such folders.
  [[nodiscard]] static Result<WorkFolder> create_temporary();
  ~WorkFolder();
  WorkFolder(WorkFolder&& other) noexcept;
  WorkFolder& operator=(WorkFolder&& other) noexcept;

  [[nodiscard]] std::string path_of(const std::string& name) const { return path_ + "/" + name; }

  // A second name in the folder for the file at `path`, which others may replace or remove meanwhile.
  // Errors: not_found, io (also where the file system has no such names).
  [[nodiscard]] Status keep(const std::string& path, const std::string& name) const;
  // The same with the bytes of the file, for one that others write to. Errors: not_found, io, no_space.
  [[nodiscard]] Status copy(const std::string& path, const std::string& name) const;
  // Replaces the file at `path` by the file `name` of the folder. Errors: not_found, io.
  [[nodiscard]] Status put_back(const std::string& name, const std::string& path) const;

 private:
  explicit WorkFolder(std::string path) noexcept : path_(std::move(path)) {}
  std::string path_;
};

// Errors: not_found, io.
[[nodiscard]] Status remove_file(const std::string& path);

}  // namespace fatctx::mapping
