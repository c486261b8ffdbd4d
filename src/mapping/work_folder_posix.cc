#include "mapping/work_folder.h"

#include <fmt/format.h>

#include <boost/filesystem/operations.hpp>
#include <boost/filesystem/path.hpp>
#include <utility>

#include "fatctx/private_folder.h"
#include "mapping/os_error.h"

namespace fatctx::mapping {

Result<WorkFolder> WorkFolder::create_beside(const std::string& path) {
  FATCTX_ASSIGN(std::string made, make_private_folder_in(boost::filesystem::path(path).parent_path().string()));
  return WorkFolder(std::move(made));
}

Result<WorkFolder> WorkFolder::create_temporary() {
  boost::system::error_code failed;
  const auto folder = boost::filesystem::temp_directory_path(failed);
  if (failed) return os_error(failed.value(), "cannot find the folder for temporary files");
  FATCTX_ASSIGN(std::string made, make_private_folder_in(folder.string()));
  return WorkFolder(std::move(made));
}

Status WorkFolder::keep(const std::string& path, const std::string& name) const {
  boost::system::error_code failed;
  boost::filesystem::create_hard_link(path, path_of(name), failed);
  if (failed) return os_error(failed.value(), path + ": cannot be given a second name");
  return Done{};
}

Status WorkFolder::copy(const std::string& path, const std::string& name) const {
  boost::system::error_code failed;
  boost::filesystem::copy_file(path, path_of(name), failed);
  if (failed) return os_error(failed.value(), path + ": cannot be copied");
  return Done{};
}

Status WorkFolder::put_back(const std::string& name, const std::string& path) const {
  boost::system::error_code failed;
  boost::filesystem::rename(path_of(name), path, failed);
  if (failed) return os_error(failed.value(), path + ": cannot be put back");
  return Done{};
}

Status remove_file(const std::string& path) {
  boost::system::error_code failed;
  const bool was_there = boost::filesystem::remove(path, failed);
  if (failed) return os_error(failed.value(), path + ": cannot be removed");
  if (!was_there) return Error{ErrorCode::kNotFound, path + ": not there"};
  return Done{};
}

WorkFolder::~WorkFolder() {
  if (path_.empty()) return;
  boost::system::error_code ignored;  // a destructor cannot report it
  boost::filesystem::remove_all(path_, ignored);
}

WorkFolder::WorkFolder(WorkFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
WorkFolder& WorkFolder::operator=(WorkFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

}  // namespace fatctx::mapping
