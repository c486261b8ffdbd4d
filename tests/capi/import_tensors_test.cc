// Tensors of weight files through C: read, and packed together with the caller's additions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capi/c_model.h"
#include "support/gguf_file.h"
#include "support/irpa_file.h"
#include "support/safetensors_file.h"

namespace fatctx::capi::testing {
namespace import_tensors_test {

using ::testing::ElementsAre;
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
  using Import = int32_t (*)(const char*, fatctx_imported_tensors*, fatctx_error*);
  [[nodiscard]] fatctx_imported_tensors_info import(Import how, const std::string& file) {
    EXPECT_EQ(how(file.c_str(), &tensors, &error), FATCTX_OK) << text_of(error);
    auto info = sized<fatctx_imported_tensors_info>();
    EXPECT_EQ(fatctx_imported_tensors_describe(tensors, &info, &error), FATCTX_OK) << text_of(error);
    return info;
  }
  void TearDown() override { EXPECT_EQ(fatctx_imported_tensors_close(tensors, &error), FATCTX_OK); }

  TempDir folder;
  std::string safetensors = folder.file("w.safetensors");
  std::string gguf = folder.file("w.gguf");
  std::string irpa = folder.file("w.irpa");
  fatctx_error error = fresh_error();
  fatctx_imported_tensors tensors = {};
};

TEST_F(CImportedTensors, OfASafetensorsFileSayWhatATableCannot) {
  const auto info = import(&fatctx_tensors_from_safetensors, safetensors);

  ASSERT_EQ(info.tensor_count, 2U);
  EXPECT_STREQ(info.tensors[0].name, "b");
  EXPECT_EQ(info.tensors[0].dtype, static_cast<std::uint32_t>(FATCTX_DTYPE_F16));
  EXPECT_THAT(std::span(info.tensors[0].shape, info.tensors[0].rank), ElementsAre(2, 2));
  EXPECT_EQ(info.tensors[0].size_bytes, 8U);
  EXPECT_EQ(info.tensors[0].offset_in_blob, info.data_offset);
  EXPECT_STREQ(info.tensors[1].name, "q");
  EXPECT_EQ(info.tensors[1].dtype, static_cast<std::uint32_t>(FATCTX_DTYPE_U8));
  ASSERT_EQ(info.option_count, 1U);
  EXPECT_STREQ(info.options[0].key, "tensor.q.type");
  EXPECT_STREQ(info.options[0].value, "f8_e5m2 [4]");
  EXPECT_STREQ(info.options[0].owner, "safetensors");
  EXPECT_EQ(info.file_size, support::read_file(safetensors).size());
  EXPECT_EQ(info.data_size, 12U);
  EXPECT_EQ(info.data_offset + info.data_size, info.file_size);
  EXPECT_EQ(info.splat_count, 0U);
}

TEST_F(CImportedTensors, OfAGgufFileAreInTheOrderOfItsIndex) {
  const auto info = import(&fatctx_tensors_from_gguf, gguf);

  ASSERT_EQ(info.tensor_count, 1U);
  EXPECT_STREQ(info.tensors[0].name, "q");
  EXPECT_EQ(info.tensors[0].size_bytes, 288U);
  ASSERT_EQ(info.option_count, 1U);
  EXPECT_STREQ(info.options[0].value, "q4_k [512]");
}

TEST_F(CImportedTensors, OfAnArchiveTellAliasesAndWhatHasNoBytes) {
  const auto info = import(&fatctx_tensors_from_irpa, irpa);

  ASSERT_EQ(info.tensor_count, 2U);
  EXPECT_EQ(info.tensors[0].alias, 1U);
  EXPECT_EQ(info.tensors[1].alias, 1U);
  EXPECT_EQ(info.option_count, 0U);
  EXPECT_EQ(info.splat_count, 1U);
  EXPECT_EQ(info.file_size, support::read_file(irpa).size());
  EXPECT_EQ(info.data_offset, 0U);
  EXPECT_EQ(info.data_size, info.file_size);
}

TEST_F(CImportedTensors, ArePackedWithTheirFileAndFoundAgain) {
  const auto info = import(&fatctx_tensors_from_irpa, irpa);
  std::vector<fatctx_pack_tensor> refined(info.tensors, info.tensors + info.tensor_count);
  const std::uint64_t shape[] = {4, 4};  // the archive has sizes only
  refined[0].shape = shape;
  refined[0].rank = 2;
  refined[0].dtype = FATCTX_DTYPE_F32;
  fatctx_pack_record record;
  fatctx_pack_record_init(&record, sizeof record);
  record.type = FATCTX_RECORD_WEIGHT_BLOB;
  record.name = "weights";
  record.source_path = irpa.c_str();
  record.tensors = refined.data();
  record.tensor_count = refined.size();
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
  ASSERT_EQ(fatctx_tensor_table_view(table, refined[0].name, &view, &error), FATCTX_OK) << text_of(error);
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
  EXPECT_EQ(fatctx_tensors_from_gguf(safetensors.c_str(), &tensors, &error), FATCTX_ERROR_BAD_MAGIC);
  EXPECT_THAT(error.message, HasSubstr("w.safetensors"));
  EXPECT_EQ(tensors.id, 0U);
  EXPECT_EQ(fatctx_tensors_from_irpa(gguf.c_str(), &tensors, &error), FATCTX_ERROR_BAD_MAGIC);
  EXPECT_EQ(fatctx_tensors_from_safetensors(folder.file("none").c_str(), &tensors, &error), FATCTX_ERROR_NOT_FOUND);
}

}  // namespace import_tensors_test
}  // namespace fatctx::capi::testing
