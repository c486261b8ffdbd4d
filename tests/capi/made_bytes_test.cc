// max_made_bytes through C: the limit by default, and the limit that the caller raises.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "capi/c_model.h"
#include "support/costly_file.h"

namespace fatctx::capi::testing {
namespace made_bytes_test {

constexpr std::uint64_t kMebibyte = std::uint64_t{1} << 20;
constexpr std::uint64_t kDefault = 1024 * kMebibyte;  // of a file that stores less than a hundredth of it

class CMadeBytes : public CModel {
 protected:
  // A record of `size` zeros, of which nothing is stored.
  void write_fill(std::uint64_t size, bool hashed) {
    support::write_file(path, support::file_of_fills(size, 1, hashed));
  }

  // Options that allow composed views any memory; `made` = 0 is the default.
  [[nodiscard]] static fatctx_open_options allowing(std::uint64_t made) {
    fatctx_open_options options;
    fatctx_open_options_init(&options, sizeof options);
    EXPECT_EQ(options.max_made_bytes, 0U);
    options.max_copied_bytes = UINT64_MAX;
    options.max_made_bytes = made;
    return options;
  }
  [[nodiscard]] std::int32_t acquire(const fatctx_open_options& options, std::uint64_t* size = nullptr) {
    const fatctx_container container = open(&options);
    fatctx_view view = {};
    const std::int32_t code = fatctx_container_acquire_name(container, "costly", &view, &error);
    if (code == FATCTX_OK) {
      if (size != nullptr) *size = view.size;
      EXPECT_EQ(fatctx_view_close(view, &given_back_), FATCTX_OK);
    }
    EXPECT_EQ(fatctx_container_close(container, &given_back_), FATCTX_OK);
    return code;
  }
  [[nodiscard]] std::int32_t verify(const fatctx_open_options& open) {
    auto options = sized<fatctx_verify_options>();
    options.open = &open;
    auto report = sized<fatctx_verify_report>();
    return fatctx_verify_file(path.c_str(), &options, &report, &error);
  }
  // The error names what would raise the limit.
  [[nodiscard]] bool names_the_option() const { return text_of(error).find("max_made_bytes") != std::string::npos; }

 private:
  fatctx_error given_back_ = fresh_error();
};

TEST_F(CMadeBytes, AHostileRecipeIsLimitExceededByDefault) {
  write_fill(std::uint64_t{1} << 47, false);
  EXPECT_EQ(acquire(allowing(0)), FATCTX_ERROR_LIMIT_EXCEEDED);
  EXPECT_TRUE(names_the_option()) << text_of(error);
  EXPECT_EQ(verify(allowing(0)), FATCTX_ERROR_LIMIT_EXCEEDED);
  EXPECT_TRUE(names_the_option()) << text_of(error);
}

TEST_F(CMadeBytes, OneByteAboveTheDefaultNeedsTheCallersWord) {
  write_fill(kDefault + 1, true);
  EXPECT_EQ(verify(allowing(0)), FATCTX_ERROR_LIMIT_EXCEEDED);
  EXPECT_EQ(verify(allowing(2 * kDefault)), FATCTX_OK) << text_of(error);
}

TEST_F(CMadeBytes, AViewIsMadeWithinWhatTheCallerAllows) {
  constexpr std::uint64_t kSize = 8 * kMebibyte;
  write_fill(kSize, true);
  EXPECT_EQ(acquire(allowing(kSize - 1)), FATCTX_ERROR_LIMIT_EXCEEDED);
  EXPECT_TRUE(names_the_option()) << text_of(error);
  std::uint64_t size = 0;
  EXPECT_EQ(acquire(allowing(8 * kSize), &size), FATCTX_OK) << text_of(error);
  EXPECT_EQ(size, kSize);
}

// A program that was built before the option came says so by its size of the struct.
TEST_F(CMadeBytes, AProgramThatDoesNotKnowTheOptionGetsTheDefault) {
  write_fill(8 * kMebibyte, true);
  fatctx_open_options options = allowing(1);
  EXPECT_EQ(acquire(options), FATCTX_ERROR_LIMIT_EXCEEDED);
  options.struct_size = static_cast<std::uint32_t>(offsetof(fatctx_open_options, max_made_bytes));
  EXPECT_EQ(acquire(options), FATCTX_OK) << text_of(error);
}

}  // namespace made_bytes_test
}  // namespace fatctx::capi::testing
