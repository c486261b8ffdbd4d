#include "fatctx/device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace fatctx {
namespace detect_test {

using ::testing::AnyOf;

TEST(Detect, SaysWhereEveryFactComesFrom) {
  const Detection detection = detect_device();

  ASSERT_FALSE(detection.sources.empty());
  for (const DetectionSource& source : detection.sources) {
    EXPECT_FALSE(source.id.empty());
    EXPECT_THAT(source.state, AnyOf("used", "agrees", "disagrees", "absent", "unreadable", "unparsable")) << source.id;
  }
}

TEST(Detect, DescribesADeviceThatItsOwnDescriptionReadsBack) {
  const Device device = detect_device().device;

  EXPECT_EQ(device.backend, "cpu");
  EXPECT_TRUE(std::is_sorted(device.features.begin(), device.features.end()));
  const auto copy = device_from_json(device_to_json(device));
  ASSERT_TRUE(copy.ok()) << copy.error().message;
  EXPECT_EQ(copy.value().arch, device.arch);
  EXPECT_EQ(copy.value().features, device.features);
}

TEST(Detect, AsksAgainAndGetsTheSameAnswer) {
  EXPECT_EQ(device_to_json(detect_device().device), device_to_json(detect_device().device));
}

}  // namespace detect_test
}  // namespace fatctx
