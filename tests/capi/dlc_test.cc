// Multi-SoC DLC archives through C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capi/c_dlc.h"

namespace fatctx::capi::testing {
namespace dlc_test {

using support::read_file;
using ::testing::HasSubstr;

class CDlcs : public ::testing::Test {
 protected:
  CDlcs() { EXPECT_EQ(fatctx_container_open(CDlc::get().container().c_str(), nullptr, &container, &error), FATCTX_OK); }
  ~CDlcs() override { EXPECT_EQ(fatctx_container_close(container, nullptr), FATCTX_OK); }
  CDlcs(const CDlcs&) = delete;
  CDlcs& operator=(const CDlcs&) = delete;

  // Returns the thin DLC that is extracted from the file.
  Bytes thin_of_file() {
    auto report = sized<fatctx_thin_dlc>();
    EXPECT_EQ(fatctx_dlc_extract_thin(CDlc::get().dlc().c_str(), choice_of_57(), out.c_str(), 1, &report, &error),
              FATCTX_OK)
        << text_of(error);
    const Bytes bytes = read_file(out);
    EXPECT_EQ(report.size_bytes, bytes.size());
    EXPECT_EQ(report.entry_count, 4U);
    return bytes;
  }

  TempDir folder;
  std::string out = folder.file("out");
  fatctx_error error = fresh_error();
  fatctx_container container = {};
};

TEST_F(CDlcs, AreListedFromAFileAndFromAContainer) {
  std::uint32_t found = 7;
  EXPECT_EQ(fatctx_is_dlc(CDlc::get().dlc().c_str(), &found, &error), FATCTX_OK);
  EXPECT_EQ(found, 1U);
  EXPECT_EQ(fatctx_is_dlc(CDlc::get().container().c_str(), &found, &error), FATCTX_OK);
  EXPECT_EQ(found, 0U);
  fatctx_dlc of_file = {};
  fatctx_dlc of_container = {};
  ASSERT_EQ(fatctx_dlc_open(CDlc::get().dlc().c_str(), &of_file, &error), FATCTX_OK) << text_of(error);
  ASSERT_EQ(fatctx_container_dlc(container, nullptr, &of_container, &error), FATCTX_OK) << text_of(error);
  for (const fatctx_dlc dlc : {of_file, of_container}) {
    auto info = sized<fatctx_dlc_info>();
    ASSERT_EQ(fatctx_dlc_describe(dlc, &info, &error), FATCTX_OK);
    EXPECT_EQ(info.size_bytes, CDlc::get().bytes().size());
    EXPECT_EQ(info.entry_count, 5U);
    EXPECT_EQ(info.soc_count, 2U);
    EXPECT_EQ(info.finding_count, 0U);
    auto entry = sized<fatctx_dlc_entry>();
    ASSERT_EQ(fatctx_dlc_entry_at(dlc, 1, &entry, &error), FATCTX_OK);
    EXPECT_EQ(entry.kind, std::uint32_t{FATCTX_DLC_SHARED_WEIGHTS_METADATA});
    EXPECT_EQ(view_of(entry.name), "htp.metadata.shared_weights.0_metadata");
    EXPECT_EQ(entry.size_bytes, 5000U);
    EXPECT_EQ(entry.offset % 4096, 0U);
    auto soc = sized<fatctx_dlc_soc>();
    ASSERT_EQ(fatctx_dlc_soc_at(dlc, 0, &soc, &error), FATCTX_OK);
    EXPECT_EQ(soc.qnn_soc, 57U);
    EXPECT_EQ(soc.entry, 2U);
    EXPECT_EQ(view_of(soc.arch), "v75");
    EXPECT_EQ(soc.vtcm_mb, 8U);
    EXPECT_EQ(soc.sdk.major, 2U);
    EXPECT_EQ(soc.sdk.minor, 51U);
    ASSERT_EQ(soc.shared_count, 2U);
    EXPECT_EQ(soc.shared[0], 0U);
    EXPECT_EQ(soc.shared[1], 1U);
    EXPECT_EQ(soc.graph_count, 3U);
    fatctx_text graph = {};
    ASSERT_EQ(fatctx_dlc_graph(dlc, 0, 1, &graph, &error), FATCTX_OK);
    EXPECT_EQ(view_of(graph), "decode");
    EXPECT_EQ(fatctx_dlc_graph(dlc, 2, 0, &graph, &error), FATCTX_ERROR_NOT_FOUND);
    EXPECT_EQ(fatctx_dlc_close(dlc, &error), FATCTX_OK);
  }
  EXPECT_STREQ(fatctx_dlc_entry_kind_name(FATCTX_DLC_SHARED_WEIGHTS), "shared_weights");
  EXPECT_STREQ(fatctx_dlc_entry_kind_name(1000), "other");
}

TEST_F(CDlcs, ComeBackByteForByte) {
  std::uint64_t count = 0;
  ASSERT_EQ(fatctx_container_dlc_count(container, &count, &error), FATCTX_OK);
  EXPECT_EQ(count, 1U);
  auto stored = sized<fatctx_stored_dlc>();
  ASSERT_EQ(fatctx_container_dlc_at(container, 0, &stored, &error), FATCTX_OK);
  EXPECT_EQ(view_of(stored.layout), "dlc.layout");
  EXPECT_EQ(stored.record_count, 5U);
  EXPECT_EQ(stored.size_bytes, CDlc::get().bytes().size());
  EXPECT_EQ(fatctx_container_dlc_at(container, 1, &stored, &error), FATCTX_ERROR_NOT_FOUND);
  ASSERT_EQ(fatctx_container_export_dlc(container, nullptr, out.c_str(), 0, nullptr, nullptr, &error), FATCTX_OK)
      << text_of(error);
  EXPECT_EQ(read_file(out), CDlc::get().bytes());
  EXPECT_EQ(fatctx_container_export_dlc(container, nullptr, out.c_str(), 0, nullptr, nullptr, &error),
            FATCTX_ERROR_EXISTS);
  const fatctx_progress stop = [](void*, std::uint64_t, std::uint64_t) -> std::int32_t { return 1; };
  EXPECT_EQ(fatctx_container_export_dlc(container, nullptr, out.c_str(), 1, stop, nullptr, &error),
            FATCTX_ERROR_CANCELLED);
  EXPECT_EQ(read_file(out), CDlc::get().bytes());
  EXPECT_EQ(fatctx_container_export_dlc(container, "x.dlc.layout", out.c_str(), 1, nullptr, nullptr, &error),
            FATCTX_ERROR_NOT_FOUND);
  EXPECT_THAT(error.message, HasSubstr("dlc.layout"));
}

TEST_F(CDlcs, OfOneSocAreTheSameAsFileAndAsView) {
  const Bytes wanted = thin_of_file();
  auto planned = sized<fatctx_thin_dlc>();
  ASSERT_EQ(fatctx_dlc_thin(CDlc::get().dlc().c_str(), choice_of_57(), &planned, &error), FATCTX_OK);
  EXPECT_EQ(planned.size_bytes, wanted.size());
  ASSERT_EQ(fatctx_container_extract_thin_dlc(container, nullptr, choice_of_57(), out.c_str(), 1, nullptr, &error),
            FATCTX_OK)
      << text_of(error);
  EXPECT_EQ(read_file(out), wanted);

  fatctx_view view = {};
  auto report = sized<fatctx_thin_dlc>();
  ASSERT_EQ(fatctx_container_thin_dlc_view(container, nullptr, choice_of_57(), &view, &report, &error), FATCTX_OK)
      << text_of(error);
  EXPECT_TRUE(equal_bytes(view, wanted));
  EXPECT_EQ(report.copied_bytes, 0U);
  EXPECT_GE(report.mapped_pieces, 2U);
  EXPECT_LE(report.mapped_pieces + report.built_pieces, 8U);
  auto info = sized<fatctx_view_info>();
  ASSERT_EQ(fatctx_view_describe(view, &info, &error), FATCTX_OK);
  EXPECT_EQ(info.record_id, 0U);
  EXPECT_EQ(info.copied_bytes, report.new_bytes);
  auto brought = sized<fatctx_prefetch_report>();
  ASSERT_EQ(fatctx_thin_dlc_prefetch(view, nullptr, &brought, &error), FATCTX_OK) << text_of(error);
  EXPECT_EQ(brought.done_bytes, wanted.size());
  EXPECT_EQ(fatctx_view_close(view, &error), FATCTX_OK);

  fatctx_view record = {};
  ASSERT_EQ(fatctx_container_acquire(container, 1, &record, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_thin_dlc_prefetch(record, nullptr, &brought, &error), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(fatctx_view_close(record, &error), FATCTX_OK);
  const std::uint32_t unknown = 1;
  auto choice = sized<fatctx_dlc_choice>();
  choice.qnn_socs = &unknown;
  choice.soc_count = 1;
  EXPECT_EQ(fatctx_container_thin_dlc_view(container, nullptr, &choice, &view, nullptr, &error), FATCTX_ERROR_NO_MATCH);
  const char* const entries[] = {"htp.cache.57.0"};
  fatctx_dlc_choice_init(&choice, sizeof choice);
  choice.entries = entries;
  choice.entry_count = 1;
  ASSERT_EQ(fatctx_container_thin_dlc_view(container, nullptr, &choice, &view, nullptr, &error), FATCTX_OK);
  EXPECT_TRUE(equal_bytes(view, wanted));
  EXPECT_EQ(fatctx_view_close(view, &error), FATCTX_OK);
}

TEST_F(CDlcs, ArePackedUnderAPrefixAndWithoutTheirLayout) {
  fatctx_packer packer = {};
  ASSERT_EQ(fatctx_packer_create(nullptr, &packer, &error), FATCTX_OK);
  ASSERT_EQ(fatctx_packer_add_dlc(packer, CDlc::get().dlc().c_str(), dlc_import(), &error), FATCTX_OK)
      << text_of(error);
  auto bare = sized<fatctx_dlc_import>();
  fatctx_dlc_import_init(&bare, sizeof bare);
  bare.without_layout = 1;
  bare.unit = "other";
  ASSERT_EQ(fatctx_packer_add_dlc(packer, CDlc::get().dlc().c_str(), &bare, &error), FATCTX_OK) << text_of(error);
  ASSERT_EQ(fatctx_packer_publish(packer, folder.file("m.fatctx").c_str(), nullptr, &error), FATCTX_OK)
      << text_of(error);
  EXPECT_EQ(fatctx_packer_close(packer, &error), FATCTX_OK);
  fatctx_container packed = {};
  ASSERT_EQ(fatctx_container_open(folder.file("m.fatctx").c_str(), nullptr, &packed, &error), FATCTX_OK);
  auto stored = sized<fatctx_stored_dlc>();
  ASSERT_EQ(fatctx_container_dlc_at(packed, 0, &stored, &error), FATCTX_OK);
  EXPECT_EQ(view_of(stored.layout), "chat.dlc.layout");
  std::uint64_t count = 0;
  EXPECT_EQ(fatctx_container_dlc_count(packed, &count, &error), FATCTX_OK);
  EXPECT_EQ(count, 1U);
  auto record = sized<fatctx_record_info>();
  EXPECT_EQ(fatctx_container_find(packed, "chat.htp.cache.57.0", &record, &error), FATCTX_OK);
  EXPECT_EQ(view_of(record.unit), "main");
  ASSERT_EQ(fatctx_container_export_dlc(packed, nullptr, out.c_str(), 1, nullptr, nullptr, &error), FATCTX_OK);
  EXPECT_EQ(read_file(out), CDlc::get().bytes());
  EXPECT_EQ(fatctx_container_close(packed, &error), FATCTX_OK);
}

}  // namespace dlc_test
}  // namespace fatctx::capi::testing
