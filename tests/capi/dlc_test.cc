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

  nlohmann::json stored_in(fatctx_container in) {
    return json_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
      return fatctx_container_dlcs_json(in, buffer, capacity, size, &error);
    });
  }
  // The thin DLC that the file gives.
  Bytes thin_of_file() {
    auto report = sized<fatctx_thin_dlc>();
    EXPECT_EQ(fatctx_dlc_thin(CDlc::get().dlc().c_str(), choice_of_57(), out.c_str(), 1, &report, &error), FATCTX_OK)
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
  const nlohmann::json of_file = json_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
    return fatctx_dlc_json(CDlc::get().dlc().c_str(), buffer, capacity, size, &error);
  });
  const nlohmann::json of_container = json_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
    return fatctx_container_dlc_json(container, "dlc.layout", buffer, capacity, size, &error);
  });
  EXPECT_EQ(of_file["file"], CDlc::get().dlc());
  EXPECT_EQ(of_container["file"], CDlc::get().container());
  for (const nlohmann::json& dlc : {of_file, of_container}) {
    EXPECT_EQ(dlc["schema"], "fatctx.dlc/1");
    EXPECT_EQ(dlc["size_bytes"], CDlc::get().bytes().size());
    ASSERT_EQ(dlc["entries"].size(), 5U);
    EXPECT_EQ(dlc["findings"].size(), 0U);
    const nlohmann::json& entry = dlc["entries"][1];
    EXPECT_EQ(entry["kind"], "shared_weights_metadata");
    EXPECT_EQ(entry["name"], "htp.metadata.shared_weights.0_metadata");
    EXPECT_EQ(entry["size_bytes"], 5000);
    EXPECT_EQ(entry["offset"].get<std::uint64_t>() % 4096, 0U);
    ASSERT_EQ(dlc["context_binaries"].size(), 2U);
    const nlohmann::json& soc = dlc["context_binaries"][0];
    EXPECT_EQ(soc["qnn_soc"], 57);
    EXPECT_EQ(soc["entry"], dlc["entries"][2]["name"]);
    EXPECT_EQ(soc["arch"], "v75");
    EXPECT_EQ(soc["vtcm_mb"], 8);
    EXPECT_EQ(soc["sdk"], "2.51");
    EXPECT_EQ(soc["shared"], nlohmann::json({dlc["entries"][0]["name"], entry["name"]}));
    ASSERT_EQ(soc["graphs"].size(), 3U);
    EXPECT_EQ(soc["graphs"][1], "decode");
    EXPECT_EQ(dlc["written_at"], "2026-01-01 12:00:07 UTC");
    const nlohmann::json& prefill = soc["graph_facts"][0];
    EXPECT_EQ(prefill["name"], "prefill");
    EXPECT_EQ(prefill["inputs"][0], nlohmann::json({{"name", "tokens"}, {"dtype", "int32"}, {"shape", {1, 8}}}));
    EXPECT_EQ(prefill["inputs"][1]["scales"],
              nlohmann::json::array({{{"scale", 0.02941391058266163}, {"offset", -125}}}));
    EXPECT_EQ(prefill["outputs"][0]["axis"], 1);
    EXPECT_EQ(prefill["options"][0], nlohmann::json({{"owner", "qnn"}, {"key", "optimizationLevel"}, {"value", "3"}}));
    EXPECT_EQ(soc["options"][1], nlohmann::json({{"owner", "qnn"}, {"key", "backendApiVersion"}, {"value", "5.51.0"}}));
  }
}

TEST_F(CDlcs, ComeBackByteForByte) {
  const nlohmann::json stored = stored_in(container);
  EXPECT_EQ(stored["schema"], "fatctx.stored_dlcs/1");
  EXPECT_EQ(stored["file"], CDlc::get().container());
  ASSERT_EQ(stored["dlcs"].size(), 1U);
  EXPECT_EQ(stored["dlcs"][0]["layout"], "dlc.layout");
  EXPECT_EQ(stored["dlcs"][0]["records"].size(), 5U);
  EXPECT_EQ(stored["dlcs"][0]["size_bytes"], CDlc::get().bytes().size());
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
  ASSERT_EQ(fatctx_dlc_thin(CDlc::get().dlc().c_str(), choice_of_57(), nullptr, 0, &planned, &error), FATCTX_OK);
  EXPECT_EQ(planned.size_bytes, wanted.size());
  ASSERT_EQ(fatctx_container_thin_dlc(container, nullptr, choice_of_57(), out.c_str(), 1, nullptr, &error), FATCTX_OK)
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
  choice = sized<fatctx_dlc_choice>();
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
  bare.without_layout = 1;
  bare.unit = "other";
  ASSERT_EQ(fatctx_packer_add_dlc(packer, CDlc::get().dlc().c_str(), &bare, &error), FATCTX_OK) << text_of(error);
  ASSERT_EQ(fatctx_packer_publish(packer, folder.file("m.fatctx").c_str(), nullptr, &error), FATCTX_OK)
      << text_of(error);
  EXPECT_EQ(fatctx_packer_close(packer, &error), FATCTX_OK);
  fatctx_container packed = {};
  ASSERT_EQ(fatctx_container_open(folder.file("m.fatctx").c_str(), nullptr, &packed, &error), FATCTX_OK);
  const nlohmann::json stored = stored_in(packed);
  ASSERT_EQ(stored["dlcs"].size(), 1U);
  EXPECT_EQ(stored["dlcs"][0]["layout"], "chat.dlc.layout");
  auto record = sized<fatctx_record_info>();
  EXPECT_EQ(fatctx_container_find(packed, "chat.htp.cache.57.0", &record, &error), FATCTX_OK);
  EXPECT_EQ(view_of(record.unit), "main");
  ASSERT_EQ(fatctx_container_export_dlc(packed, nullptr, out.c_str(), 1, nullptr, nullptr, &error), FATCTX_OK);
  EXPECT_EQ(read_file(out), CDlc::get().bytes());
  EXPECT_EQ(fatctx_container_close(packed, &error), FATCTX_OK);
}

}  // namespace dlc_test
}  // namespace fatctx::capi::testing
