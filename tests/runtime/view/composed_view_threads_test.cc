// Run under ThreadSanitizer as well (preset tsan).
#include "runtime/cached_model.h"
#include "runtime/view/view_threads.h"

namespace fatctx {
namespace composed_view_threads_test {

class ComposedViewThreads : public testing::CachedModel {};

TEST_F(ComposedViewThreads, ThreadsThatAskAtOnceBuildOneRange) {
  const Container container = open();
  for (int round = 0; round < 10; ++round) {
    const std::vector<RecordView> views = testing::views_at_once(container, name(mixed()), 4);
    ASSERT_EQ(views.size(), 4U);
    ASSERT_TRUE(shows(views.back(), mixed()));
    EXPECT_EQ(container_metrics(container).composed_bytes, views.front().copied_bytes());
  }
}

TEST_F(ComposedViewThreads, ViewsComeAndGoWhileOthersAskForTheirPages) {
  const std::size_t chip = mixed();
  const Container container = open();
  testing::views_come_and_go(container, name(chip), 20, [&](const RecordView& view) { return shows(view, chip); });
  EXPECT_EQ(container_metrics(container).composed_bytes, 0U);
}

TEST_F(ComposedViewThreads, ThreadsThatAskAtOnceMakeOneFile) {
  const std::size_t chip = mixed();
  const Container container = open(cached());
  for (int round = 0; round < 10; ++round) {
    ASSERT_TRUE(collect_view_cache(cache_, 0).ok());
    const std::uint64_t made = view_cache_counts().made;
    const std::vector<RecordView> views = testing::views_at_once(container, name(chip), 4);
    ASSERT_EQ(views.size(), 4U);
    ASSERT_TRUE(shows(views.back(), chip));
    EXPECT_EQ(view_cache_counts().made, made + 1);
    EXPECT_EQ(files().size(), 1U);
  }
}

TEST_F(ComposedViewThreads, FilesOfTheFolderGoWhileViewsComeAndGo) {
  const std::size_t chip = mixed();
  const Container container = open(cached());
  testing::views_come_and_go(
      container, name(chip), 20, [&](const RecordView& view) { return shows(view, chip); },
      [&] {
        const bool collected = collect_view_cache(cache_, 0).ok();
        return collected && list_view_cache(cache_).ok() && container.check().ok();
      });
  EXPECT_EQ(container_metrics(container).cached_bytes, 0U);
}

}  // namespace composed_view_threads_test
}  // namespace fatctx
