// Error codes and errors as values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace fatctx {

// Stable numbers: they cross the C ABI and appear in scripts. Add at the end; never renumber, never reuse.
// docs/errors.md gives cause and remedy for each; a test compares that page with this list.
enum class ErrorCode : std::int32_t {
  kIo = 1,
  kNotFound = 2,
  kInvalidArgument = 3,
  kTruncated = 4,
  kTrailingData = 5,
  kBadMagic = 6,
  kUnsupported = 7,
  kMalformed = 8,
  kChecksumMismatch = 9,
  kLimitExceeded = 10,
  kBadReference = 11,
  kNoMatch = 12,
  kCodec = 13,
  kSignatureMissing = 14,
  kSignatureBad = 15,
  kRollback = 16,
  kNotRegularFile = 17,
  kChanged = 18,
  kMappingLost = 19,
  kRemoteFilesystem = 20,
  kLocked = 21,
  kExists = 22,
  kCommitUnknown = 23,
  kNoSpace = 24,
  kNoResource = 25,
  kStaleHandle = 26,
  kCancelled = 27,
  kOutOfMemory = 28,
  kInternal = 29,
  kOperationNotPermitted = 30,
  kSerialiseFailed = 31,
  kBackendLibraryMissing = 32,
  kBackendRestarted = 33,
  kTimedOut = 34,
  kInvalidConfig = 35,
  kCopyNotAllowed = 36,
  kNotPresent = 37,
};

// Returns the word that texts, JSON and docs/errors.md use: "checksum_mismatch". Static storage.
[[nodiscard]] std::string_view error_code_name(ErrorCode code) noexcept;

struct ErrorContext {
  std::optional<std::uint64_t> file_offset = {};  // the byte the complaint is about, from byte 0 of the container
  std::optional<std::uint32_t> record_id = {};
  std::string_view rule = {};  // "F16": a row of docs/format.md section 9; static storage
  int os_error = 0;            // errno or GetLastError(), 0 if none
};

struct Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;  // one line, lower case, names the object, no final stop
  ErrorContext where = {};
};

// Returns an error of code kInvalidArgument without a place.
[[nodiscard]] inline Error invalid_argument(std::string message) {
  return Error{ErrorCode::kInvalidArgument, std::move(message)};
}

// Returns the line that a user sees, control characters escaped: "m.fatctx: record 3: overlaps record 2 (malformed,
// F16)".
[[nodiscard]] std::string to_text(const Error& error);

// Puts `what` and a colon in front of the message, so that an outer caller can name the file or record it works on.
[[nodiscard]] Error in_context(Error error, std::string_view what);

}  // namespace fatctx
