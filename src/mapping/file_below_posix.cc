// Raw calls, because Boost.Filesystem cannot open folders and works with paths only.
#include "mapping/file_below.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <boost/filesystem/operations.hpp>
#include <boost/filesystem/path.hpp>
#include <cerrno>
#include <utility>

#include "mapping/os_error.h"
#include "mapping/os_file_posix.h"
#include "mapping/uninterrupted.h"

namespace fatctx::mapping {
namespace {

namespace fs = boost::filesystem;

// A folder on the way may be searchable but not readable.
#ifdef O_PATH
constexpr int kPassThrough = O_PATH;
#elif defined(O_SEARCH)
constexpr int kPassThrough = O_SEARCH;
#else
constexpr int kPassThrough = O_RDONLY;
#endif

bool lies_below(const fs::path& path, const fs::path& folder) {
  return std::mismatch(folder.begin(), folder.end(), path.begin(), path.end()).first == folder.end();
}

// The resolved paths; neither contains links.
struct Resolved {
  fs::path base;
  fs::path path;  // in `base` or below it
};

Result<Resolved> resolve(const std::string& folder, std::string_view name) {
  const fs::path relative{std::string(name)};
  if (relative.empty()) return Error{ErrorCode::kMalformed, "the file name is empty"};
  if (name.find('\0') != std::string_view::npos) return Error{ErrorCode::kMalformed, "the file name has a zero byte"};
  if (relative.is_absolute()) {
    return Error{ErrorCode::kMalformed, fmt::format("{}: the path is absolute, and must be relative", name)};
  }
  if (std::find(relative.begin(), relative.end(), fs::path("..")) != relative.end()) {
    return Error{ErrorCode::kMalformed, fmt::format("{}: the path has \"..\", and must stay in its folder", name)};
  }
  boost::system::error_code failed;
  const fs::path base = fs::canonical(folder.empty() ? fs::path(".") : fs::path(folder), failed);
  if (failed) return os_error(failed.value(), fmt::format("cannot look into folder {}", folder));
  const fs::path path = fs::canonical(base / relative, failed);
  if (failed) return os_error(failed.value(), fmt::format("cannot find {}", (base / relative).string()));
  if (!lies_below(path, base)) {
    return Error{ErrorCode::kMalformed, fmt::format("{}: a link leads out of the folder, to {}", name, path.string())};
  }
  if (!fs::is_regular_file(path, failed)) {
    return Error{ErrorCode::kNotRegularFile, fmt::format("{}: not a regular file", path.string())};
  }
  return Resolved{.base = base, .path = path};
}

}  // namespace

Result<std::string> file_below(const std::string& folder, std::string_view name) {
  FATCTX_ASSIGN(const Resolved resolved, resolve(folder, name));
  return resolved.path.string();
}

Result<std::unique_ptr<OsFile>> open_without_links(const std::string& folder, const std::string& relative) {
  const fs::path way(relative);
  const auto failed = [&](const fs::path& step) {
    const int number = errno;
    if (number == ELOOP || (number == ENOTDIR && step != way.filename())) {
      return Error{ErrorCode::kMalformed,
                   fmt::format("{}: \"{}\" became a link, or no folder, while the file was opened; links that change "
                               "are not followed",
                               (fs::path(folder) / way).string(), step.string())};
    }
    return os_error(number, fmt::format("cannot open {}", (fs::path(folder) / way).string()));
  };
  UniqueFd at(uninterrupted([&] { return ::open(folder.c_str(), kPassThrough | O_DIRECTORY | O_CLOEXEC); }));
  if (!at.valid()) return failed(way.filename());
  for (const fs::path& step : way.parent_path()) {
    UniqueFd next(uninterrupted(
        [&] { return ::openat(at.get(), step.c_str(), kPassThrough | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC); }));
    if (!next.valid()) return failed(step);
    at = std::move(next);
  }
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW;
  UniqueFd file(uninterrupted([&] { return ::openat(at.get(), way.filename().c_str(), kFlags); }));
  if (!file.valid()) return failed(way.filename());
  return std::unique_ptr<OsFile>(std::make_unique<PosixFile>(std::move(file), (fs::path(folder) / way).string()));
}

Result<OpenedBelow> open_file_below(const std::string& folder, std::string_view name) {
  FATCTX_ASSIGN(const Resolved resolved, resolve(folder, name));
  FATCTX_ASSIGN(std::unique_ptr<OsFile> file,
                open_without_links(resolved.base.string(), resolved.path.lexically_relative(resolved.base).string()));
  FATCTX_ASSIGN(const FileIdentity identity, file->identity());
  if (!identity.regular) {
    return Error{ErrorCode::kNotRegularFile, fmt::format("{}: not a regular file", resolved.path.string())};
  }
  return OpenedBelow{.path = resolved.path.string(), .file = std::move(file), .identity = identity};
}

FoldersOfFile folders_of(const std::string& path) {
  const fs::path written = fs::path(path).parent_path();
  boost::system::error_code failed;
  const fs::path real = fs::canonical(path, failed);
  if (failed) return {.written = written.string(), .real = written.string()};
  const fs::path known = fs::canonical(written.empty() ? fs::path(".") : written, failed);
  const bool same = !failed && known == real.parent_path();
  return {.written = written.string(), .real = same ? written.string() : real.parent_path().string()};
}

std::string absolute_path(const std::string& path) {
  const fs::path given(path);  // must not fail for an absolute path if the current folder is gone
  const fs::path absolute = given.is_absolute() ? given : fs::absolute(given);
  // Not std::find: Boost's comparison of paths needs memory and is noexcept, so that without memory it ends the
  // process.
  if (std::any_of(absolute.begin(), absolute.end(), [](const fs::path& part) { return part.native() == ".."; })) {
    boost::system::error_code failed;
    const fs::path folder = fs::canonical(absolute.parent_path(), failed);
    if (!failed) return (folder / absolute.filename()).lexically_normal().string();
  }
  return absolute.lexically_normal().string();
}

std::string path_below(const std::string& path, const std::string& folder) {
  const fs::path file = fs::path(path).lexically_normal();
  const fs::path base = fs::path(folder.empty() ? "/" : folder).lexically_normal();
  const fs::path relative = file.lexically_relative(base);
  if (relative.empty() || relative.begin()->string() == "..") return {};
  return relative.string();
}

}  // namespace fatctx::mapping
