// Tensors of weight files through C: read, and packed together with the caller's additions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capi/c_model.h"
#include "support/gguf_file.h"
#include "support/irpa_file.h"
#include "support/safetensors_file.h"

namespace fatctx::capi::testing {
namespace import_tensors_test {

using ::testing::HasSubstr;

class CImportedTensors : public ::testing::Test {
 protected:
  void SetUp() override {
    support::write_file(safetensors,
                        support::safetensors_file(R"({"b":{"dtype":"F16","shape":[2,2],"data_offsets":[0,8]},)"
                                                  R"("q":{"dtype":"F8_E5M2","shape":[4],"data_offsets":[8,12]}})",
                                                  12));
    support::GgufWriter blocks;
    blocks.tensor("q", {512}, support::GgufWriter::kQ4K, 0, 288);
    support::write_file(gguf, blocks.write());
    support::IrpaWriter archive;
    archive.data("first", 0, 64);
    archive.data("again", 0, 64);
    archive.splat("zeros", 4096, 1);
    support::write_file(irpa, archive.write(64));
  }
  [[nodiscard]] nlohmann::json import(std::uint32_t format, const std::string& file) {
    return json_from([&](char* buffer, std::size_t capacity, std::size_t* size) {
      return fatctx_tensors_json(file.c_str(), format, buffer, capacity, size, &error);
    });
  }

  TempDir folder;
  std::string safetensors = folder.file("w.safetensors");
  std::string gguf = folder.file("w.gguf");
  std::string irpa = folder.file("w.irpa");
  fatctx_error error = fresh_error();
};

TEST_F(CImportedTensors, OfASafetensorsFileSayWhatATableCannot) {
  const nlohmann::json said = import(FATCTX_WEIGHTS_SAFETENSORS, safetensors);

  EXPECT_EQ(said["schema"], "fatctx.tensors/1");
  EXPECT_EQ(said["file"], safetensors);
  EXPECT_EQ(said["format"], "safetensors");
  ASSERT_EQ(said["tensors"].size(), 2U);
  const nlohmann::json& first = said["tensors"][0];
  EXPECT_EQ(first["name"], "b");
  EXPECT_EQ(first["dtype"], "float16");
  EXPECT_EQ(first["shape"], nlohmann::json({2, 2}));
  EXPECT_EQ(first["size_bytes"], 8);
  EXPECT_EQ(first["offset"], said["data_offset"]);
  EXPECT_EQ(said["tensors"][1]["dtype"], "uint8");
  ASSERT_EQ(said["options"].size(), 1U);
  EXPECT_EQ(said["options"][0]["key"], "tensor.q.type");
  EXPECT_EQ(said["options"][0]["value"], "f8_e5m2 [4]");
  EXPECT_EQ(said["options"][0]["owner"], "safetensors");
  EXPECT_EQ(said["file_size"], support::read_file(safetensors).size());
  EXPECT_EQ(said["data_size"], 12);
  EXPECT_EQ(said["splat_count"], 0);
}

TEST_F(CImportedTensors, OfAGgufFileAreInTheOrderOfItsIndex) {
  const nlohmann::json said = import(FATCTX_WEIGHTS_GGUF, gguf);

  ASSERT_EQ(said["tensors"].size(), 1U);
  EXPECT_EQ(said["tensors"][0]["name"], "q");
  EXPECT_EQ(said["tensors"][0]["size_bytes"], 288);
  EXPECT_EQ(said["options"][0]["value"], "q4_k [512]");
}

TEST_F(CImportedTensors, OfAnArchiveTellAliasesAndWhatHasNoBytes) {
  const nlohmann::json said = import(FATCTX_WEIGHTS_IRPA, irpa);

  ASSERT_EQ(said["tensors"].size(), 2U);
  EXPECT_EQ(said["tensors"][0]["alias"], true);
  EXPECT_EQ(said["tensors"][1]["alias"], true);
  EXPECT_EQ(said["options"].size(), 0U);
  EXPECT_EQ(said["splat_count"], 1);
  EXPECT_EQ(said["data_offset"], 0);
  EXPECT_EQ(said["data_size"], said["file_size"]);
}

TEST_F(CImportedTensors, ArePackedWithTheirFileAndFoundAgain) {
  const nlohmann::json said = import(FATCTX_WEIGHTS_IRPA, irpa);
  const std::string name = said["tensors"][0]["name"];
  const std::string again = said["tensors"][1]["name"];
  const std::uint64_t shape[] = {4, 4};  // the archive knows sizes only
  const std::uint64_t bytes[] = {64};
  const std::uint64_t offset = said["tensors"][0]["offset"];
  const fatctx_pack_tensor refined[] = {{name.c_str(), shape, 2, offset, 64, FATCTX_DTYPE_F32, 1},
                                        {again.c_str(), bytes, 1, offset, 64, FATCTX_DTYPE_U8, 1}};
  fatctx_pack_record record;
  fatctx_pack_record_init(&record, sizeof record);
  record.type = FATCTX_RECORD_WEIGHT_BLOB;
  record.name = "weights";
  record.source_path = irpa.c_str();
  record.tensors = refined;
  record.tensor_count = std::size(refined);
  fatctx_packer packer = {};
  ASSERT_EQ(fatctx_packer_create(nullptr, &packer, &error), FATCTX_OK);
  ASSERT_EQ(fatctx_packer_add(packer, &record, &error), FATCTX_OK) << text_of(error);
  const std::string path = folder.file("model.fatctx");
  ASSERT_EQ(fatctx_packer_publish(packer, path.c_str(), nullptr, &error), FATCTX_OK) << text_of(error);
  ASSERT_EQ(fatctx_packer_close(packer, &error), FATCTX_OK);

  fatctx_container container = {};
  ASSERT_EQ(fatctx_container_open(path.c_str(), nullptr, &container, &error), FATCTX_OK) << text_of(error);
  auto found = sized<fatctx_record_info>();
  ASSERT_EQ(fatctx_container_find(container, "weights", &found, &error), FATCTX_OK);
  fatctx_tensor_table table = {};
  ASSERT_EQ(fatctx_container_tensors(container, found.id, &table, &error), FATCTX_OK) << text_of(error);
  fatctx_view view;
  ASSERT_EQ(fatctx_tensor_table_view(table, name.c_str(), &view, &error), FATCTX_OK) << text_of(error);
  auto tensor = sized<fatctx_tensor_info>();
  ASSERT_EQ(fatctx_view_tensor(view, &tensor, &error), FATCTX_OK);
  EXPECT_EQ(tensor.dtype, static_cast<std::uint32_t>(FATCTX_DTYPE_F32));
  EXPECT_EQ(tensor.alias, 1U);
  auto listed = sized<fatctx_tensor_info>();
  ASSERT_EQ(fatctx_tensor_table_at(table, 0, &listed, &error), FATCTX_OK);
  EXPECT_EQ(listed.alias, 1U);
  EXPECT_EQ(fatctx_view_close(view, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_tensor_table_close(table, &error), FATCTX_OK);
  EXPECT_EQ(fatctx_container_close(container, &error), FATCTX_OK);
}

TEST_F(CImportedTensors, OfAFileOfAnotherKindAreAnErrorThatNamesIt) {
  const auto code = [&](const std::string& file, std::uint32_t format) {
    return fatctx_tensors_json(file.c_str(), format, nullptr, 0, nullptr, &error);
  };
  EXPECT_EQ(code(safetensors, FATCTX_WEIGHTS_GGUF), FATCTX_ERROR_BAD_MAGIC);
  EXPECT_THAT(error.message, HasSubstr("w.safetensors"));
  EXPECT_EQ(code(gguf, FATCTX_WEIGHTS_IRPA), FATCTX_ERROR_BAD_MAGIC);
  EXPECT_EQ(code(folder.file("none"), FATCTX_WEIGHTS_SAFETENSORS), FATCTX_ERROR_NOT_FOUND);
  EXPECT_EQ(code(gguf, 0), FATCTX_ERROR_INVALID_ARGUMENT);
  EXPECT_THAT(error.message, HasSubstr("FATCTX_WEIGHTS_SAFETENSORS (1)"));
}

}  // namespace import_tensors_test
}  // namespace fatctx::capi::testing
