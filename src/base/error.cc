#include "fatctx/base/error.h"

#include <fmt/format.h>

#include <utility>

namespace fatctx {
namespace {

bool is_decimal(char c) { return c >= '0' && c <= '9'; }

// Returns whether `message` already names `record`, so that the line does not name it twice; "record 30" is not "record
// 3".
bool names_record(std::string_view message, std::string_view record) {
  for (auto at = message.find(record); at != std::string_view::npos; at = message.find(record, at + 1)) {
    const auto end = at + record.size();
    if (end == message.size() || !is_decimal(message[end])) return true;
  }
  return false;
}

// Replaces line breaks: a message may contain words of a caller (a device, a name, a path).
std::string in_one_line(std::string_view message) {
  std::string line;
  line.reserve(message.size());
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      line += fmt::format("\\x{:02x}", byte);
    } else {
      line += c;
    }
  }
  return line;
}

// Returns the name of the code, or, for a code of a newer version, both spellings of its number.
std::string code_text(ErrorCode code) {
  const std::string_view name = error_code_name(code);
  if (name != "unknown") return std::string(name);
  const auto number = static_cast<std::int32_t>(code);
  return fmt::format("unknown error {}, {:#x}", number, static_cast<std::uint32_t>(number));
}

}  // namespace

std::string_view error_code_name(ErrorCode code) noexcept {
  switch (code) {  // no default: the compiler names a code that is missing here
    case ErrorCode::kIo:
      return "io";
    case ErrorCode::kNotFound:
      return "not_found";
    case ErrorCode::kInvalidArgument:
      return "invalid_argument";
    case ErrorCode::kTruncated:
      return "truncated";
    case ErrorCode::kTrailingData:
      return "trailing_data";
    case ErrorCode::kBadMagic:
      return "bad_magic";
    case ErrorCode::kUnsupported:
      return "unsupported";
    case ErrorCode::kMalformed:
      return "malformed";
    case ErrorCode::kChecksumMismatch:
      return "checksum_mismatch";
    case ErrorCode::kLimitExceeded:
      return "limit_exceeded";
    case ErrorCode::kBadReference:
      return "bad_reference";
    case ErrorCode::kNoMatch:
      return "no_match";
    case ErrorCode::kCodec:
      return "codec";
    case ErrorCode::kSignatureMissing:
      return "signature_missing";
    case ErrorCode::kSignatureBad:
      return "signature_bad";
    case ErrorCode::kRollback:
      return "rollback";
    case ErrorCode::kNotRegularFile:
      return "not_regular_file";
    case ErrorCode::kChanged:
      return "changed";
    case ErrorCode::kMappingLost:
      return "mapping_lost";
    case ErrorCode::kRemoteFilesystem:
      return "remote_filesystem";
    case ErrorCode::kLocked:
      return "locked";
    case ErrorCode::kExists:
      return "exists";
    case ErrorCode::kCommitUnknown:
      return "commit_unknown";
    case ErrorCode::kNoSpace:
      return "no_space";
    case ErrorCode::kNoResource:
      return "no_resource";
    case ErrorCode::kStaleHandle:
      return "stale_handle";
    case ErrorCode::kCancelled:
      return "cancelled";
    case ErrorCode::kOutOfMemory:
      return "out_of_memory";
    case ErrorCode::kInternal:
      return "internal";
    case ErrorCode::kOperationNotPermitted:
      return "operation_not_permitted";
    case ErrorCode::kSerialiseFailed:
      return "serialise_failed";
    case ErrorCode::kBackendLibraryMissing:
      return "backend_library_missing";
    case ErrorCode::kBackendRestarted:
      return "backend_restarted";
    case ErrorCode::kTimedOut:
      return "timed_out";
    case ErrorCode::kInvalidConfig:
      return "invalid_config";
    case ErrorCode::kCopyNotAllowed:
      return "copy_not_allowed";
    case ErrorCode::kNotPresent:
      return "not_present";
  }
  return "unknown";
}

std::string to_text(const Error& error) {
  std::string line = fmt::format("{} ({}", in_one_line(error.message), code_text(error.code));
  if (!error.where.rule.empty()) line += fmt::format(", {}", error.where.rule);
  if (error.where.record_id) {
    const std::string record = fmt::format("record {}", *error.where.record_id);
    if (!names_record(error.message, record)) line += ", " + record;
  }
  if (error.where.file_offset) line += fmt::format(", at byte {:#x}", *error.where.file_offset);
  if (error.where.os_error != 0) line += fmt::format(", system error {}", error.where.os_error);
  return line + ")";
}

Error in_context(Error error, std::string_view what) {
  error.message = fmt::format("{}: {}", what, error.message);
  return error;
}

}  // namespace fatctx
