#include "mapping/os_error.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <string>

namespace fatctx::mapping {
namespace os_error_test {

TEST(OsError, EveryNumberHasItsCode) {
  struct Row {
    int number;
    ErrorCode code;
  };
  const Row rows[] = {
      {ENOENT, ErrorCode::kNotFound},
      {ENOTDIR, ErrorCode::kNotFound},
      {EEXIST, ErrorCode::kExists},
      {ELOOP, ErrorCode::kNotRegularFile},
      {EISDIR, ErrorCode::kNotRegularFile},
      {ENOSPC, ErrorCode::kNoSpace},
      {EDQUOT, ErrorCode::kNoSpace},
      {EFBIG, ErrorCode::kNoSpace},
      {EMFILE, ErrorCode::kNoResource},
      {ENFILE, ErrorCode::kNoResource},
      {ENOMEM, ErrorCode::kNoResource},
      {ENODEV, ErrorCode::kNoResource},
      {EPERM, ErrorCode::kNoResource},
      {EAGAIN, ErrorCode::kNoResource},
      {EINVAL, ErrorCode::kInvalidArgument},
      {EIO, ErrorCode::kIo},
      {EACCES, ErrorCode::kIo},
      {EROFS, ErrorCode::kIo},
      {ESTALE, ErrorCode::kIo},
      {EINTR, ErrorCode::kIo},
      {12345, ErrorCode::kIo},
  };
  for (const Row& row : rows) {
    const Error error = os_error(row.number, "cannot do it");

    EXPECT_EQ(error.code, row.code) << row.number;
    EXPECT_EQ(error.where.os_error, row.number);
    EXPECT_TRUE(error.message.starts_with("cannot do it: ")) << error.message;
    EXPECT_EQ(error.message.find('\n'), std::string::npos);
  }
}

TEST(OsError, ALimitThatCanBeRaisedIsNamed) {
  EXPECT_NE(os_error(EMFILE, "x").message.find("ulimit -n"), std::string::npos);
  EXPECT_NE(os_error(ENOMEM, "x").message.find("vm.max_map_count"), std::string::npos);
  EXPECT_NE(os_error(EFBIG, "x").message.find("ulimit -f"), std::string::npos);
}

}  // namespace os_error_test
}  // namespace fatctx::mapping
