// Raw calls: Boost.Filesystem has neither owners nor descriptors, and sets a mode only after it made the folder.
#include "mapping/private_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp is not in <cstdlib>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/filesystem/operations.hpp>
#include <boost/filesystem/path.hpp>
#include <cerrno>
#include <utility>

#include "mapping/os_error.h"
#include "mapping/uninterrupted.h"

namespace fatctx {
namespace mapping {
namespace {

constexpr mode_t kPrivate = 0700;

}  // namespace

Result<UniqueFd> open_private_folder(const std::string& path) {
  if (path.find('\0') != std::string::npos) return not_private("", "a path must not contain a NUL character");
  UniqueFd folder(uninterrupted([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
  if (!folder.valid()) {
    const int number = errno;
    if (number == ENOENT) {
      Error error = os_error(number, fmt::format("cache folder {}", path));
      error.message += fmt::format("; make it with `mkdir -m 700 {}`", path);
      return error;
    }
    if (number == ENOTDIR) {
      Error error = not_private(path, "it is not a folder; name one that is yours alone, made with `mkdir -m 700`");
      error.where.os_error = number;
      return error;
    }
    return os_error(number, fmt::format("cannot open cache folder {}", path));
  }
  struct stat st = {};
  if (::fstat(folder.get(), &st) != 0) return os_error(errno, fmt::format("cannot look at cache folder {}", path));
  if (st.st_uid != ::geteuid()) {
    return not_private(path, fmt::format("it belongs to user {} and this process to user {}; name a folder of your own",
                                         st.st_uid, ::geteuid()));
  }
  if ((st.st_mode & 0777U) != kPrivate) {
    return not_private(path, fmt::format("its mode is {:04o} and must be 0700, so that nobody else can put files into "
                                         "it; run `chmod 700 {}`",
                                         st.st_mode & 0777U, path));
  }
  return folder;
}

}  // namespace mapping

Status make_private_folder(const std::string& path) {
  if (path.find('\0') != std::string::npos) return check_private_folder(path);
  const std::string without_slash = path.substr(0, path.find_last_not_of('/') + 1);
  const boost::filesystem::path above = boost::filesystem::path(without_slash).parent_path();
  boost::system::error_code failed;
  if (!above.empty()) boost::filesystem::create_directories(above, failed);
  if (failed) return mapping::os_error(failed.value(), fmt::format("cannot make cache folder {}", path));
  if (::mkdir(path.c_str(), mapping::kPrivate) != 0 && errno != EEXIST) {
    return mapping::os_error(errno, fmt::format("cannot make cache folder {}", path));
  }
  return check_private_folder(path);
}

Result<std::string> make_private_folder_in(const std::string& parent) {
  std::string name =
      ((parent.empty() ? boost::filesystem::path(".") : boost::filesystem::path(parent)) / ".fatctx-work-XXXXXX")
          .string();
  if (::mkdtemp(name.data()) != nullptr) return name;
  return mapping::os_error(errno, fmt::format("cannot make a folder for temporary files in {}",
                                              parent.empty() ? std::string("the current folder") : parent));
}

}  // namespace fatctx
