// A private folder for temporary files.
#pragma once

#include <string>

#include "fatctx/base/result.h"

namespace fatctx::mapping {

// An owner of the folder, which removes it with its contents when it is destroyed. Threads: const members from any
// number of threads.
class WorkFolder {
 public:
  // Creates the folder in that of `path`, which has the space for the results; only the owner has access.
  // Errors: not_found, io, no_space.
  [[nodiscard]] static Result<WorkFolder> create_beside(const std::string& path);
  // Creates the folder where the system keeps temporary ones.
  [[nodiscard]] static Result<WorkFolder> create_temporary();
  ~WorkFolder();
  WorkFolder(WorkFolder&& other) noexcept;
  WorkFolder& operator=(WorkFolder&& other) noexcept;

  [[nodiscard]] std::string path_of(const std::string& name) const { return path_ + "/" + name; }

  // Links the file at `path` into the folder, because others may replace or remove it meanwhile.
  // Errors: not_found, io (also if the filesystem has no hard links).
  [[nodiscard]] Status keep(const std::string& path, const std::string& name) const;
  // Copies the file into the folder, because others write to it. Errors: not_found, io, no_space.
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
