// Views of records in several pieces through C.
#include <gtest/gtest.h>

#include "capi/c_model.h"
#include "support/sliced_container.h"

namespace fatctx::capi::testing {
namespace stitched_test {

class CStitched : public CModel {
 protected:
  CStitched() { support::write_file(path, made_.bytes()); }
  const support::SlicedContainer made_ = support::sliced_model();
};

TEST_F(CStitched, AViewShowsThePiecesAndSaysHow) {
  const fatctx_container container = open();
  fatctx_view view;
  ASSERT_EQ(fatctx_container_acquire_name(container, "weights", &view, &error), FATCTX_OK) << text_of(error);
  auto info = sized<fatctx_view_info>();
  ASSERT_EQ(fatctx_view_describe(view, &info, &error), FATCTX_OK);
  EXPECT_STREQ(fatctx_access_path_name(info.access_path), "stitched");
  EXPECT_TRUE(equal_bytes(view, made_.expected("weights")));

  fatctx_report metrics = {};
  ASSERT_EQ(fatctx_metrics_of_container(container, &metrics, &error), FATCTX_OK) << text_of(error);
  EXPECT_EQ(json_of(metrics)["container"]["stitched_bytes"], view.size);

  auto report = sized<fatctx_open_report>();
  ASSERT_EQ(fatctx_container_report(container, &report, &error), FATCTX_OK);
  EXPECT_EQ(report.copied_records, 0U);
  EXPECT_EQ(view_of(report.copied_records_reason), "");
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
  EXPECT_TRUE(equal_bytes(view, made_.expected("weights"))) << "the view outlives its container";
  EXPECT_EQ(fatctx_view_close(view, &error), FATCTX_OK);
}

TEST_F(CStitched, ABufferOfPiecesIsCopiedAndTheReportSaysWhy) {
  const Bytes bytes = support::read_file(path);
  fatctx_container container = {};
  ASSERT_EQ(fatctx_container_open_memory(bytes.data(), bytes.size(), nullptr, nullptr, nullptr, &container, &error),
            FATCTX_OK)
      << text_of(error);
  auto report = sized<fatctx_open_report>();
  ASSERT_EQ(fatctx_container_report(container, &report, &error), FATCTX_OK);
  EXPECT_EQ(report.mapped, 1U);
  EXPECT_EQ(report.copied_records, 3U);
  EXPECT_NE(view_of(report.copied_records_reason).find("buffer"), std::string_view::npos);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

}  // namespace stitched_test
}  // namespace fatctx::capi::testing
