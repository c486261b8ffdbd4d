#include "mapping/os_error.h"

#include <cerrno>
#include <system_error>

#include <fmt/format.h>

namespace fatctx::mapping {
namespace {

struct Meaning {
  ErrorCode code;
  std::string_view remedy;  // if empty, the system's own text is enough
};

Meaning meaning_of(int error_number) {
  switch (error_number) {
    case ENOENT:
    case ENOTDIR:
      return {ErrorCode::kNotFound, ""};
    case EEXIST:
      return {ErrorCode::kExists, ""};
    case ELOOP:
      return {ErrorCode::kNotRegularFile, "a symbolic link appears where none is allowed, or links form a loop"};
    case EISDIR:
      return {ErrorCode::kNotRegularFile, ""};
    case ENOSPC:
    case EDQUOT:
      return {ErrorCode::kNoSpace, "free some space or write elsewhere"};
    case EFBIG:
      return {ErrorCode::kNoSpace, "the file size limit (ulimit -f) or the filesystem does not allow it"};
    case EMFILE:
      return {ErrorCode::kNoResource, "this process has too many open files (ulimit -n)"};
    case ENFILE:
      return {ErrorCode::kNoResource, "the system has too many open files"};
    case ENOMEM:
      return {
          ErrorCode::kNoResource,
          "address space, memory or the map count (vm.max_map_count) is used up; close mappings or raise the limit"};
    case ENODEV:
    case EPERM:
      return {ErrorCode::kNoResource, "the filesystem or its mount options do not allow it"};
    case EAGAIN:
      return {ErrorCode::kNoResource, ""};
    case EINVAL:
      return {ErrorCode::kInvalidArgument, ""};
    default:
      return {ErrorCode::kIo, ""};
  }
}

}  // namespace

Error os_error(int error_number, std::string_view what) {
  const Meaning meaning = meaning_of(error_number);
  std::string message = fmt::format("{}: {}", what, std::generic_category().message(error_number));
  if (!meaning.remedy.empty()) message += fmt::format(" ({})", meaning.remedy);
  return Error{meaning.code, std::move(message), {.os_error = error_number}};
}

}  // namespace fatctx::mapping
