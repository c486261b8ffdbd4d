// Run under ThreadSanitizer as well (preset tsan).
#include "runtime/sliced_model.h"
#include "runtime/view/view_threads.h"

namespace fatctx {
namespace stitched_view_threads_test {

class StitchedViewThreads : public testing::SlicedModel {};

TEST_F(StitchedViewThreads, ThreadsThatAskAtOnceShareOneRange) {
  const Container container = open();
  for (int round = 0; round < 20; ++round) {
    const std::vector<RecordView> views = testing::views_at_once(container, "weights", 8);
    ASSERT_EQ(views.size(), 8U);
    ASSERT_TRUE(shows(views.back(), "weights"));
  }
}

TEST_F(StitchedViewThreads, ViewsComeAndGoWhileOthersAskForTheirPages) {
  testing::views_come_and_go(open(), "weights", 40,
                             [&](const RecordView& view) { return static_cast<bool>(shows(view, "weights")); });
}

}  // namespace stitched_view_threads_test
}  // namespace fatctx
