// The source of a signed copy stays unchanged while the copy is made.
#include "fatctx/signature.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::container {
namespace sign_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

TEST(Sign, AFileThatIsWrittenToMeanwhileIsNotSigned) {
  const support::TempDir folder;
  const KeyFiles keys = make_keys(folder.file("key")).value();
  const std::string plain = folder.file("plain.fatctx");
  const std::string out = folder.file("out.fatctx");
  const Bytes before = support::unsealed_sample();
  for (const std::string& target : {out, plain}) {
    support::write_file(plain, before);
    bool written = false;
    const auto write = [&](std::uint64_t, std::uint64_t) {
      if (!written) std::ofstream(plain, std::ios::app | std::ios::binary) << "tail";
      written = true;
    };

    const auto made = sign_container(plain, keys.secret_path, target, {.progress = write});

    ASSERT_TRUE(written);
    ASSERT_TRUE(fails_with(made, ErrorCode::kChanged));
    EXPECT_NE(made.error().message.find(plain + ": it was written to while it was being signed"), std::string::npos)
        << made.error().message;
    EXPECT_FALSE(std::filesystem::exists(out));
    EXPECT_EQ(support::read_file(plain).size(), before.size() + 4);
  }
  support::write_file(plain, before);
  EXPECT_TRUE(is_ok(sign_container(plain, keys.secret_path, out)));
}

TEST(Sign, TheReportSaysWhetherTheFileIsSealed) {
  const support::TempDir folder;
  const KeyFiles keys = make_keys(folder.file("key")).value();
  for (const bool sealed : {false, true}) {
    const std::string path = folder.file(sealed ? "sealed" : "plain");
    support::write_file(path, sealed ? support::sealed_sample() : support::unsealed_sample());
    const auto report = sign_container(path, keys.secret_path, path + ".signed");
    ASSERT_TRUE(is_ok(report));
    EXPECT_EQ(report.value().sealed, sealed);
  }
}

}  // namespace sign_test
}  // namespace fatctx::container
