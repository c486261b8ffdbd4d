// Keys, signing and opening with trusted keys through C.
#include <gtest/gtest.h>

#include <cstring>

#include "capi/c_model.h"

namespace fatctx::capi::testing {
namespace signature_test {

class CSignature : public CModel {
 protected:
  void SetUp() override {
    CModel::SetUp();
    ASSERT_EQ(fatctx_make_keys(folder.file("k").c_str(), key_, &error), FATCTX_OK);
    auto report = sized<fatctx_sign_report>();
    ASSERT_EQ(
        fatctx_sign_container(path.c_str(), folder.file("k.key").c_str(), signed_.c_str(), nullptr, &report, &error),
        FATCTX_OK)
        << error.message;
    EXPECT_EQ(report.generation, 2U);
    EXPECT_GT(report.file_size, 0U);
  }
  [[nodiscard]] fatctx_open_options trusting(const std::uint8_t* keys, std::uint64_t count) const {
    auto options = sized<fatctx_open_options>();
    fatctx_open_options_init(&options, sizeof options);
    options.trusted_keys = keys;
    options.trusted_key_count = count;
    return options;
  }

  const std::string signed_ = folder.file("signed.fatctx");
  std::uint8_t key_[32] = {};
};

TEST_F(CSignature, OneOfSeveralTrustedKeysOpensAndTheReportSaysSo) {
  std::uint8_t keys[64] = {};
  keys[0] = 9;
  std::memcpy(keys + 32, key_, sizeof key_);
  const auto options = trusting(keys, 2);
  fatctx_container container = {};
  ASSERT_EQ(fatctx_container_open(signed_.c_str(), &options, &container, &error), FATCTX_OK) << error.message;
  auto report = sized<fatctx_open_report>();
  ASSERT_EQ(fatctx_container_report(container, &report, &error), FATCTX_OK);
  EXPECT_EQ(report.signed_file, 1U);
  EXPECT_EQ(report.signature_verified, 1U);
  EXPECT_EQ(report.key_id.size, 64U);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

TEST_F(CSignature, AnotherKeyNoKeyAtAllAndAnOlderGenerationAreRefused) {
  fatctx_container container = {};
  const std::uint8_t other[32] = {9};
  auto options = trusting(other, 1);
  EXPECT_EQ(fatctx_container_open(signed_.c_str(), &options, &container, &error), FATCTX_ERROR_SIGNATURE_BAD);
  options = trusting(key_, 0);
  EXPECT_EQ(fatctx_container_open(signed_.c_str(), &options, &container, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  options = trusting(key_, 1);
  EXPECT_EQ(fatctx_container_open(path.c_str(), &options, &container, &error), FATCTX_ERROR_SIGNATURE_MISSING);
  options.minimum_generation = 3;
  EXPECT_EQ(fatctx_container_open(signed_.c_str(), &options, &container, &error), FATCTX_ERROR_ROLLBACK);
}

TEST_F(CSignature, VerifyOfAFileFindsAnotherKey) {
  const std::uint8_t other[32] = {9};
  auto open = trusting(other, 1);
  auto options = sized<fatctx_verify_options>();
  options.open = &open;
  auto report = sized<fatctx_verify_report>();
  ASSERT_EQ(fatctx_verify_file(signed_.c_str(), &options, &report, &error), FATCTX_OK);
  EXPECT_EQ(report.finding_count, 1U);
  EXPECT_EQ(report.signature_verified, 0U);
  open = trusting(key_, 1);
  ASSERT_EQ(fatctx_verify_file(signed_.c_str(), &options, &report, &error), FATCTX_OK);
  EXPECT_EQ(report.finding_count, 0U);
  EXPECT_EQ(report.signed_file, 1U);
  EXPECT_EQ(report.signature_verified, 1U);
}

TEST_F(CSignature, APublicKeyIsReadFromItsFile) {
  std::uint8_t key[32] = {};
  ASSERT_EQ(fatctx_read_public_key(folder.file("k.pub").c_str(), key, &error), FATCTX_OK);
  EXPECT_EQ(std::memcmp(key, key_, sizeof key), 0);
  EXPECT_EQ(fatctx_read_public_key(path.c_str(), key, &error), FATCTX_ERROR_INVALID_ARGUMENT);
}

}  // namespace signature_test
}  // namespace fatctx::capi::testing
