#include "tools/system/new_file.h"

#include <cerrno>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "fatctx/extract.h"

namespace fatctx::tools {

Result<NewFile> NewFile::create(const std::string& path) {
  // Does not use fopen() with "x": the C library of Windows accepts the letter, ignores it, and truncates the file.
  auto made = publish_bytes({}, path, false);
  std::error_code unknown;
  const bool exists = std::filesystem::exists(std::filesystem::symlink_status(path, unknown));
  if (!made.ok() && exists) {
    return Error{ErrorCode::kExists, fmt::format("{} already exists; remove it or name another file", path)};
  }
  if (!made.ok()) {
    Error error = std::move(made).error();
    const int number = error.where.os_error;
    error.message = fmt::format("{}: cannot be written: {}", path,
                                number == 0 ? error.message : std::system_category().message(number));
    return error;
  }
  // Opens for appending, which never truncates a file, even if another file has the name by now.
  std::unique_ptr<std::FILE, CloseFile> file(std::fopen(path.c_str(), "ab"));
  if (file) return NewFile(path, std::move(file));
  const int error_number = errno;
  return Error{ErrorCode::kIo,
               fmt::format("{}: cannot be written: {}", path, std::generic_category().message(error_number)),
               {.os_error = error_number}};
}

void NewFile::write(std::string_view text) noexcept {
  lost_ = std::fwrite(text.data(), 1, text.size(), file_.get()) != text.size() || lost_;
}

Status NewFile::close() {
  const bool closed = std::fclose(file_.release()) == 0;
  if (closed && !lost_) return Done{};
  return Error{ErrorCode::kIo, fmt::format("{}: could not be written to its end", path_)};
}

}  // namespace fatctx::tools
