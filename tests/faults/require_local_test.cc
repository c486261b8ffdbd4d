// require_local on a filesystem that the system does not report, which counts as remote.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "fatctx/model.h"
#include "faults/os_faults.h"
#include "runtime/small_model.h"
#include "support/child_process.h"
#include "support/result_matchers.h"

namespace fatctx {
namespace require_local_test {

class RequireLocal : public ::testing::Test {
 protected:
  RequireLocal() {
    testing::pack_small_model(container_);
    std::vector<std::byte> module = testing::pattern(5'000, 5);
    std::memcpy(module.data() + 4, "IREE", 4);
    std::ofstream(raw_binary_, std::ios::binary)
        .write(reinterpret_cast<const char*>(module.data()), static_cast<std::streamsize>(module.size()));
  }

  static Result<Model> open(const std::string& path) {
    ModelOptions options;
    options.device = Device{};
    options.device->arch = "aarch64";
    options.open.require_local = true;
    return Model::open(path, options);
  }
  // Returns what an open gives if the system does not tell which filesystem it is.
  static Status open_unknown(const std::string& path) {
    for (long call = 0;; ++call) {
      const faults::Injected injected({.error_number = EIO, .call = call});
      const auto model = open(path);
      if (!injected.met()) return Error{ErrorCode::kInternal, "nobody asked for the filesystem"};
      if (injected.call() == "fstatfs") return model.ok() ? Status(Done{}) : Status(model.error());
    }
  }

  const testing::Folder folder_;
  const std::string container_ = folder_ / "m.fatctx";
  const std::string raw_binary_ = folder_ / "module.vmfb";
};

TEST_F(RequireLocal, RefusesContainersAndOtherFilesAlike) {
  for (const std::string& path : {container_, raw_binary_}) {
    const auto refused = open_unknown(path);

    ASSERT_TRUE(support::fails_with(refused, ErrorCode::kRemoteFilesystem)) << path;
    EXPECT_TRUE(refused.error().message.starts_with(path + ": is on unknown")) << refused.error().message;
    EXPECT_TRUE(support::is_ok(open(path))) << "it is local";
  }
}

TEST_F(RequireLocal, AlsoIfTheFileIsDescriptorZero) {
  for (const std::string& path : {container_, raw_binary_}) {
    const int result = support::in_child([&] {
      (void)::close(0);
      const auto refused = open_unknown(path);
      return !refused.ok() && refused.error().code == ErrorCode::kRemoteFilesystem ? 0 : 1;
    });

    EXPECT_EQ(result, 0) << path;
  }
}

}  // namespace require_local_test
}  // namespace fatctx
