// The numbers here are those of GetLastError, not of errno.
#include <array>

#include <fmt/format.h>

#include "mapping/os_error.h"
#include "mapping/wide_text.h"
#include "mapping/windows_api.h"

namespace fatctx::mapping {
namespace {

// Missing in some versions of the headers.
constexpr DWORD kStoppedOnSymlink = 681;
constexpr DWORD kDiskQuotaExceeded = 1295;

struct Meaning {
  ErrorCode code;
  std::string_view remedy;  // if empty, the system's own text is enough
};

Meaning meaning_of(DWORD error) {
  switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_DRIVE:
    case ERROR_INVALID_NAME:
    case ERROR_BAD_PATHNAME:
    case ERROR_BAD_NETPATH:
    case ERROR_BAD_NET_NAME:
    case ERROR_FILENAME_EXCED_RANGE:
      return {ErrorCode::kNotFound, ""};
    case ERROR_FILE_EXISTS:
    case ERROR_ALREADY_EXISTS:
      return {ErrorCode::kExists, ""};
    case ERROR_DIRECTORY:
    case ERROR_CANT_RESOLVE_FILENAME:
    case kStoppedOnSymlink:
    case ERROR_PIPE_BUSY:
      return {ErrorCode::kNotRegularFile, ""};
    case ERROR_DISK_FULL:
    case ERROR_HANDLE_DISK_FULL:
    case kDiskQuotaExceeded:
      return {ErrorCode::kNoSpace, "free some space or write elsewhere"};
    case ERROR_FILE_TOO_LARGE:
      return {ErrorCode::kNoSpace, "the filesystem does not take files of this size"};
    case ERROR_TOO_MANY_OPEN_FILES:
      return {ErrorCode::kNoResource, "this process has too many open files"};
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
    case ERROR_COMMITMENT_LIMIT:
      return {ErrorCode::kNoResource, "address space, memory or page file is used up; close mappings or add memory"};
    case ERROR_NO_SYSTEM_RESOURCES:
    case ERROR_NOT_ENOUGH_QUOTA:
    case ERROR_WORKING_SET_QUOTA:
    case ERROR_PAGEFILE_QUOTA:
    case ERROR_MAX_THRDS_REACHED:
    case ERROR_INVALID_ADDRESS:
      return {ErrorCode::kNoResource, ""};
    case ERROR_SHARING_VIOLATION:
    case ERROR_LOCK_VIOLATION:
      return {ErrorCode::kLocked, "another program has it open and does not share it; close that one"};
    case ERROR_USER_MAPPED_FILE:
      return {ErrorCode::kLocked, "a program has it mapped; close that one"};
    case ERROR_NOT_SUPPORTED:
    case ERROR_CALL_NOT_IMPLEMENTED:
    case ERROR_INVALID_FUNCTION:
    case ERROR_PROC_NOT_FOUND:
      return {ErrorCode::kUnsupported, ""};
    case ERROR_INVALID_PARAMETER:
    case ERROR_INVALID_HANDLE:
    case ERROR_NO_UNICODE_TRANSLATION:
      return {ErrorCode::kInvalidArgument, ""};
    default:
      return {ErrorCode::kIo, ""};
  }
}

// Returns the system's text as one line, in English if the system has that, like our own texts.
std::string text_of(DWORD error) {
  constexpr DWORD kFlags = FORMAT_MESSAGE_FROM_SYSTEM | FORMAT_MESSAGE_IGNORE_INSERTS | FORMAT_MESSAGE_MAX_WIDTH_MASK;
  std::array<wchar_t, 512> buffer{};
  const auto ask = [&](DWORD language) {
    return ::FormatMessageW(kFlags, nullptr, error, language, buffer.data(), static_cast<DWORD>(buffer.size()),
                            nullptr);
  };
  DWORD size = ask(MAKELANGID(LANG_ENGLISH, SUBLANG_ENGLISH_US));
  if (size == 0) size = ask(0);
  std::string text = utf8_text(std::wstring_view(buffer.data(), size));
  for (char& c : text) {
    if (c == '\r' || c == '\n') c = ' ';
  }
  while (!text.empty() && (text.back() == ' ' || text.back() == '.')) text.pop_back();
  return text.empty() ? fmt::format("error {}", error) : text;
}

}  // namespace

Error os_error(int error_number, std::string_view what) {
  const auto error = static_cast<DWORD>(error_number);
  const Meaning meaning = meaning_of(error);
  std::string message = fmt::format("{}: {}", what, text_of(error));
  if (!meaning.remedy.empty()) message += fmt::format(" ({})", meaning.remedy);
  return Error{meaning.code, std::move(message), {.os_error = error_number}};
}

}  // namespace fatctx::mapping
