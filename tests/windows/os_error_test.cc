#include "mapping/os_error.h"

#include <gtest/gtest.h>

#include <string>

#include "mapping/windows_api.h"

namespace fatctx::mapping {
namespace os_error_test {

TEST(OsError, EveryNumberOfWindowsHasItsCode) {
  struct Row {
    DWORD number;
    ErrorCode code;
  };
  const Row rows[] = {
      {ERROR_FILE_NOT_FOUND, ErrorCode::kNotFound},
      {ERROR_PATH_NOT_FOUND, ErrorCode::kNotFound},
      {ERROR_INVALID_NAME, ErrorCode::kNotFound},
      {ERROR_FILE_EXISTS, ErrorCode::kExists},
      {ERROR_ALREADY_EXISTS, ErrorCode::kExists},
      {ERROR_DIRECTORY, ErrorCode::kNotRegularFile},
      {ERROR_DISK_FULL, ErrorCode::kNoSpace},
      {ERROR_HANDLE_DISK_FULL, ErrorCode::kNoSpace},
      {1295, ErrorCode::kNoSpace},  // ERROR_DISK_QUOTA_EXCEEDED
      {ERROR_TOO_MANY_OPEN_FILES, ErrorCode::kNoResource},
      {ERROR_NOT_ENOUGH_MEMORY, ErrorCode::kNoResource},
      {ERROR_COMMITMENT_LIMIT, ErrorCode::kNoResource},
      {ERROR_WORKING_SET_QUOTA, ErrorCode::kNoResource},
      {ERROR_SHARING_VIOLATION, ErrorCode::kLocked},
      {ERROR_USER_MAPPED_FILE, ErrorCode::kLocked},
      {ERROR_NOT_SUPPORTED, ErrorCode::kUnsupported},
      {ERROR_INVALID_PARAMETER, ErrorCode::kInvalidArgument},
      {ERROR_INVALID_HANDLE, ErrorCode::kInvalidArgument},
      {ERROR_ACCESS_DENIED, ErrorCode::kIo},
      {ERROR_CRC, ErrorCode::kIo},
      {54'321, ErrorCode::kIo},
  };
  for (const Row& row : rows) {
    const Error error = os_error(static_cast<int>(row.number), "cannot do it");

    EXPECT_EQ(error.code, row.code) << row.number;
    EXPECT_EQ(error.where.os_error, static_cast<int>(row.number));
    EXPECT_TRUE(error.message.starts_with("cannot do it: ")) << error.message;
    EXPECT_GT(error.message.size(), std::string("cannot do it: ").size());
    EXPECT_EQ(error.message.find_first_of("\r\n"), std::string::npos) << error.message;
    EXPECT_NE(error.message.back(), '.') << error.message;
  }
}

TEST(OsError, SaysWhatTheSystemSaysAndWhatHelps) {
  EXPECT_EQ(os_error(ERROR_FILE_NOT_FOUND, "cannot open").message, "cannot open: File not found");
  EXPECT_NE(os_error(ERROR_SHARING_VIOLATION, "x").message.find("another program"), std::string::npos);
  EXPECT_NE(os_error(54'321, "x").message.find("54321"), std::string::npos);
}

}  // namespace os_error_test
}  // namespace fatctx::mapping
