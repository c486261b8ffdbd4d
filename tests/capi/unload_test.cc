// The shared library in a plug-in host: loaded, used, and closed while its objects are still in use.
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fatctx/fatctx.h"
#include "runtime/small_model.h"

namespace unload_test {

using fatctx::testing::Folder;

class Unload : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = folder_ / "m.fatctx";
    fatctx::testing::pack_small_model(path_);
    library_ = ::dlopen(FATCTX_SHARED_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << ::dlerror();
  }
  template <typename Function>
  Function* function(const char* name) const {
    return reinterpret_cast<Function*>(::dlsym(library_, name));
  }

  Folder folder_;
  std::string path_;
  void* library_ = nullptr;
};

TEST_F(Unload, ViewsForksAndLaterLoadsSurviveAClose) {
  fatctx_container container = {};
  fatctx_view view = {};
  auto* const open = function<decltype(fatctx_container_open)>("fatctx_container_open");
  auto* const acquire = function<decltype(fatctx_container_acquire_name)>("fatctx_container_acquire_name");
  auto* const describe = function<decltype(fatctx_view_describe)>("fatctx_view_describe");
  ASSERT_EQ(open(path_.c_str(), nullptr, &container, nullptr), FATCTX_OK);
  ASSERT_EQ(acquire(container, "weights", &view, nullptr), FATCTX_OK);
  fatctx_view_info info = {};
  info.struct_size = sizeof info;
  ASSERT_EQ(describe(view, &info, nullptr), FATCTX_OK);

  ASSERT_EQ(::dlclose(library_), 0);

  EXPECT_EQ(info.size, fatctx::testing::kWeightsSize);
  EXPECT_EQ(*static_cast<const std::byte*>(info.data), fatctx::testing::pattern(1, 1)[0]);
  const pid_t child = ::fork();  // runs the fork handlers that the library installed
  if (child == 0) ::_exit(0);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);

  void* again = ::dlopen(FATCTX_SHARED_LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  ASSERT_NE(again, nullptr) << "the library stays: its handlers are known to the system";
  auto* const close = reinterpret_cast<decltype(&fatctx_view_close)>(::dlsym(again, "fatctx_view_close"));
  EXPECT_EQ(close(view, nullptr), FATCTX_OK) << "handles from before are handles still";
  EXPECT_EQ(::dlclose(again), 0);
}

}  // namespace unload_test
