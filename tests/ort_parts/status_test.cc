// The boundary to ONNX Runtime: every error and every exception becomes a status.
#include "runtime/ort/ep/status.h"

#include <new>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

namespace fatctx::ort {
namespace status_test {

class Guarded : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(use_runtime(OrtGetApiBase())); }

  template <typename Work>
  static std::string told(const Work& work, OrtErrorCode code) {
    const Ort::Status status(guarded(work));
    EXPECT_EQ(status.GetErrorCode(), code);
    return status.GetErrorMessage();
  }
};

TEST_F(Guarded, NothingIsToldOfWhatWentWell) {
  EXPECT_EQ(guarded([]() -> Status { return Done{}; }), nullptr);
}

TEST_F(Guarded, AnErrorKeepsItsWordsAndTellsItsCode) {
  EXPECT_EQ(told(
                []() -> Status {
                  return Error{ErrorCode::kMalformed, "m.fatctx: no header"};
                },
                ORT_INVALID_GRAPH),
            "fatctx: m.fatctx: no header (malformed)");
  EXPECT_EQ(told(
                []() -> Status {
                  return Error{ErrorCode::kNoSpace, "m.fatctx: full"};
                },
                ORT_FAIL),
            "fatctx: m.fatctx: full (no_space)");
}

TEST_F(Guarded, NoExceptionCrosses) {
  EXPECT_EQ(told([]() -> Status { throw Ort::Exception("no such session", ORT_NO_MODEL); }, ORT_NO_MODEL),
            "no such session");
  EXPECT_EQ(told([]() -> Status { throw std::bad_alloc(); }, ORT_FAIL), "fatctx: out of memory (out_of_memory)");
  EXPECT_EQ(told([]() -> Status { throw std::runtime_error("odd"); }, ORT_FAIL), "odd");
  EXPECT_EQ(told([]() -> Status { throw 7; }, ORT_FAIL), "fatctx: an exception of unknown type (internal)");
}

}  // namespace status_test
}  // namespace fatctx::ort
