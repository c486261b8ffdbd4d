// Views that outlive main: in atexit handlers, in static objects, and in thread_local objects of threads that end late.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>

#include "fatctx/device.h"
#include "fatctx/metrics.h"
#include "fatctx/model.h"
#include "fatctx/profile.h"
#include "runtime/small_model.h"

namespace fatctx {
namespace exit_test {

using testing::Folder;

std::string path_of_model;  // lives as long as the program

bool opens_and_reads() {
  const auto container = Container::open(path_of_model);
  if (!container.ok()) return false;
  const auto view = container.value().acquire("weights");
  OpenOptions copying;
  copying.file_mapping = FileMapping::kDisabled;
  const auto copy = Container::open(path_of_model, copying);
  return view.ok() && copy.ok() && copy.value().acquire("weights").ok() && container.value().lock(1).ok() &&
         runtime_metrics().live_mappings == 1 &&
         device_from_json(R"({"schema": "fatctx.device/1", "backend": "cpu"})").ok();
}

// A late user of the library: its destructor reads a view that it has held all the time, and opens a container.
struct LateUser {
  std::optional<RecordView> held;
  int exit_code_if_bad = 1;
  ~LateUser() {
    if (!held) return;  // this process has not used it
    const bool reads = held->data()[0] == testing::pattern(testing::kWeightsSize, 1)[0];
    if (!reads || !opens_and_reads()) std::_Exit(exit_code_if_bad);
  }
};

LateUser static_user;             // constructed before the first use of the library, so destroyed after it
thread_local LateUser late_user;  // in every thread that uses it

void at_exit() {
  if (!opens_and_reads()) std::_Exit(3);
}

RecordView weights() { return Container::open(path_of_model).value().acquire("weights").value(); }

class Exit : public ::testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "fast");  // the child takes over the folder
    path_of_model = folder_ / "m.fatctx";
    testing::pack_small_model(path_of_model);
  }
  Folder folder_;
};

TEST_F(Exit, HandlersMayUseViewsAndOpenContainers) {
  EXPECT_EXIT(
      {
        (void)std::atexit(at_exit);  // registered before the library is used, so it runs after the library's handlers
        static_user.held = weights();
        static_user.exit_code_if_bad = 4;
        start_profile({.level = ProfileLevel::kDetailed});
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST_F(Exit, ThreadLocalObjectsMayUseThemOnAnyThread) {
  EXPECT_EXIT(
      {
        late_user.held = weights();
        late_user.exit_code_if_bad = 5;
        std::thread([] {
          late_user.held = weights();
          late_user.exit_code_if_bad = 6;
        }).join();
        std::exit(0);
      },
      ::testing::ExitedWithCode(0), "");
}

}  // namespace exit_test
}  // namespace fatctx
