#include "fatctx/base/error.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "fatctx/base/result.h"

namespace fatctx {
namespace error_test {

struct CodeRow {
  int number;
  ErrorCode code;
  const char* name;
};

// The numbers cross the C boundary and appear in scripts: this list is written by hand and only grows, at its end.
constexpr CodeRow kCodes[] = {
    {1, ErrorCode::kIo, "io"},
    {2, ErrorCode::kNotFound, "not_found"},
    {3, ErrorCode::kInvalidArgument, "invalid_argument"},
    {4, ErrorCode::kTruncated, "truncated"},
    {5, ErrorCode::kTrailingData, "trailing_data"},
    {6, ErrorCode::kBadMagic, "bad_magic"},
    {7, ErrorCode::kUnsupported, "unsupported"},
    {8, ErrorCode::kMalformed, "malformed"},
    {9, ErrorCode::kChecksumMismatch, "checksum_mismatch"},
    {10, ErrorCode::kLimitExceeded, "limit_exceeded"},
    {11, ErrorCode::kBadReference, "bad_reference"},
    {12, ErrorCode::kNoMatch, "no_match"},
    {13, ErrorCode::kCodec, "codec"},
    {14, ErrorCode::kSignatureMissing, "signature_missing"},
    {15, ErrorCode::kSignatureBad, "signature_bad"},
    {16, ErrorCode::kRollback, "rollback"},
    {17, ErrorCode::kNotRegularFile, "not_regular_file"},
    {18, ErrorCode::kChanged, "changed"},
    {19, ErrorCode::kMappingLost, "mapping_lost"},
    {20, ErrorCode::kRemoteFilesystem, "remote_filesystem"},
    {21, ErrorCode::kLocked, "locked"},
    {22, ErrorCode::kExists, "exists"},
    {23, ErrorCode::kCommitUnknown, "commit_unknown"},
    {24, ErrorCode::kNoSpace, "no_space"},
    {25, ErrorCode::kNoResource, "no_resource"},
    {26, ErrorCode::kStaleHandle, "stale_handle"},
    {27, ErrorCode::kCancelled, "cancelled"},
    {28, ErrorCode::kOutOfMemory, "out_of_memory"},
    {29, ErrorCode::kInternal, "internal"},
    {30, ErrorCode::kOperationNotPermitted, "operation_not_permitted"},
    {31, ErrorCode::kSerialiseFailed, "serialise_failed"},
    {32, ErrorCode::kBackendLibraryMissing, "backend_library_missing"},
    {33, ErrorCode::kBackendRestarted, "backend_restarted"},
    {34, ErrorCode::kTimedOut, "timed_out"},
    {35, ErrorCode::kInvalidConfig, "invalid_config"},
    {36, ErrorCode::kCopyNotAllowed, "copy_not_allowed"},
    {37, ErrorCode::kNotPresent, "not_present"},
};

TEST(ErrorCode, EveryNumberAndNameIsAsPublished) {
  for (const auto& row : kCodes) {
    EXPECT_EQ(static_cast<int>(row.code), row.number) << row.name;
    EXPECT_EQ(error_code_name(row.code), row.name);
  }
}

TEST(ErrorCode, NumbersOutsideTheListAreUnknown) {
  const int last = kCodes[std::size(kCodes) - 1].number;
  for (int number = -1000; number <= 1000; ++number) {
    const bool listed = number >= 1 && number <= last;
    EXPECT_EQ(error_code_name(static_cast<ErrorCode>(number)) != "unknown", listed) << number;
  }
}

TEST(ErrorCode, NoTwoCodesShareAName) {
  std::set<std::string_view> names;
  for (const auto& row : kCodes) names.insert(error_code_name(row.code));

  EXPECT_EQ(names.size(), std::size(kCodes));
}

TEST(ErrorText, ShowsMessageCodeRuleAndPlace) {
  const Error error{ErrorCode::kMalformed,
                    "m.fatctx: record 3: extent overlaps record 2",
                    {.file_offset = 0x30000, .record_id = 3, .rule = "F16"}};

  EXPECT_EQ(to_text(error), "m.fatctx: record 3: extent overlaps record 2 (malformed, F16, at byte 0x30000)");
}

TEST(ErrorText, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(to_text(Error{ErrorCode::kNotFound, "no record \"x\""}), "no record \"x\" (not_found)");
}

TEST(ErrorText, NamesTheRecordUnlessTheMessageDoes) {
  EXPECT_EQ(to_text({ErrorCode::kIo, "cannot read", {.record_id = 3}}), "cannot read (io, record 3)");
  EXPECT_EQ(to_text({ErrorCode::kIo, "record 30 is near", {.record_id = 3}}), "record 30 is near (io, record 3)");
  EXPECT_EQ(to_text({ErrorCode::kIo, "record 30 and record 3", {.record_id = 3}}), "record 30 and record 3 (io)");
}

TEST(ErrorText, ShowsOffsetZeroAndTheSystemsNumber) {
  EXPECT_EQ(to_text({ErrorCode::kNoSpace, "cannot write", {.file_offset = 0, .os_error = 28}}),
            "cannot write (no_space, at byte 0x0, system error 28)");
}

TEST(ErrorText, IsOneLineWhateverACallerNamed) {
  EXPECT_EQ(to_text({ErrorCode::kNotFound, std::string("no record \"a\nb\t\0\x7f\"", 18)}),
            "no record \"a\\x0ab\\x09\\x00\\x7f\" (not_found)");
  EXPECT_EQ(to_text({ErrorCode::kNotFound, "no record \"\xC3\xA4\""}), "no record \"\xC3\xA4\" (not_found)");
}

TEST(ErrorContext, IsPutInFrontAndKeepsEverythingElse) {
  const Error inner{
      ErrorCode::kTruncated, "ends early", {.file_offset = 7, .record_id = 9, .rule = "F1", .os_error = 5}};

  const Error outer = in_context(in_context(inner, "record 9"), "m.fatctx");

  EXPECT_EQ(outer.message, "m.fatctx: record 9: ends early");
  EXPECT_EQ(outer.code, ErrorCode::kTruncated);
  EXPECT_EQ(outer.where.file_offset, 7u);
  EXPECT_EQ(outer.where.record_id, 9u);
  EXPECT_EQ(outer.where.rule, "F1");
  EXPECT_EQ(outer.where.os_error, 5);
}

}  // namespace error_test
}  // namespace fatctx
