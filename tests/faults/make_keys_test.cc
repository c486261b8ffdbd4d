// A pair of keys whose second half cannot be written leaves no first half.
#include <gtest/gtest.h>

#include <cerrno>
#include <filesystem>
#include <string>

#include "fatctx/keys.h"
#include "faults/os_faults.h"
#include "support/temp_dir.h"

namespace fatctx {
namespace make_keys_test {

TEST(MakeKeys, AfterAnyFaultThereAreBothFilesOrNone) {
  const support::TempDir folder;
  int halves_unsynced = 0;
  for (const bool for_ever : {false, true}) {
    bool met = true;
    for (long call = 0; met; ++call) {
      ASSERT_LT(call, 200);
      const std::string name = folder.file(std::to_string(call) + (for_ever ? "for ever" : "once"));
      const auto made = [&] {
        const faults::Injected injected({.error_number = EIO, .call = call, .for_ever = for_ever});
        auto keys = make_keys(name);
        met = injected.met();
        return keys;
      }();
      const bool secret = std::filesystem::exists(name + ".key");
      EXPECT_EQ(secret, std::filesystem::exists(name + ".pub")) << call;
      if (made.ok()) {
        const auto read = read_public_key(name + ".pub");
        ASSERT_TRUE(read.ok()) << call;
        EXPECT_EQ(read.value(), made.value().public_key);
        EXPECT_EQ(std::filesystem::file_size(name + ".key"), std::filesystem::file_size(name + ".pub"));
      } else if (made.error().code == ErrorCode::kCommitUnknown) {
        halves_unsynced += secret ? 0 : 1;
      } else {
        EXPECT_FALSE(secret) << call;
      }
      EXPECT_TRUE(met || made.ok());
    }
  }
  EXPECT_GE(halves_unsynced, 1) << "the folder was not synced after the first half";
}

}  // namespace make_keys_test
}  // namespace fatctx
