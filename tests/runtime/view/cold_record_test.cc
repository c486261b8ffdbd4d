// A compressed record as an application sees it: not as a view, but as a stream and a file, with checks of both.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "fatctx/container.h"
#include "fatctx/extract.h"
#include "fatctx/packer.h"
#include "runtime/small_model.h"

namespace fatctx {
namespace cold_record_test {

constexpr std::size_t kModelSize = 900'000;

std::vector<std::byte> model_bytes() {
  constexpr std::size_t kRun = 9;
  std::vector<std::byte> bytes;
  for (const std::byte value : testing::pattern(kModelSize / kRun, 77)) bytes.insert(bytes.end(), kRun, value);
  return bytes;
}

class OnColdModel : public ::testing::Test {
 protected:
  void SetUp() override {
    Packer packer{PackOptions{}};
    PackRecord record;
    record.type = RecordType::kSourceModel;
    record.name = "model";
    record.source.bytes = model_bytes();
    record.codec = Codec::kLz4;
    ASSERT_TRUE(packer.add(std::move(record)).ok());
    const auto report = packer.publish(path);
    ASSERT_TRUE(report.ok()) << to_text(report.error());
    ASSERT_LT(report.value().stored_bytes, kModelSize * 2 / 3);
  }
  testing::Folder folder;
  std::string path = folder / "cold.fatctx";
};

TEST_F(OnColdModel, ItIsListedWithCodecAndBothSizes) {
  const Container container = Container::open(path).value();
  const RecordInfo record = container.find("model").value();
  EXPECT_EQ(record.codec, Codec::kLz4);
  EXPECT_TRUE(record.supported);
  EXPECT_EQ(record.size_bytes, kModelSize);
  EXPECT_GT(record.stored_bytes, 0U);
  EXPECT_LT(record.stored_bytes, kModelSize);
}

TEST_F(OnColdModel, AViewIsRefusedAndTheErrorSaysWhatToDo) {
  const Container container = Container::open(path).value();

  const auto view = container.acquire("model");

  ASSERT_FALSE(view.ok());
  EXPECT_EQ(view.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(view.error().message.find("stream_record()"), std::string::npos) << view.error().message;
  EXPECT_EQ(view.error().where.record_id, container.find("model").value().id);
}

TEST_F(OnColdModel, AStreamGivesItsBytesInSmallPiecesAndTellsHowFarItIs) {
  const Container container = Container::open(path).value();
  std::vector<std::byte> bytes;
  std::uint64_t last = 0;

  const auto status = stream_record(
      container, container.find("model").value().id,
      [&](ByteView piece) -> Status {
        EXPECT_LE(piece.size(), std::size_t{1} << 20);
        bytes.insert(bytes.end(), piece.begin(), piece.end());
        return Done{};
      },
      [&](std::uint64_t done, std::uint64_t total) {
        EXPECT_EQ(total, kModelSize);
        EXPECT_GE(done, last);
        last = done;
      });

  ASSERT_TRUE(status.ok()) << to_text(status.error());
  EXPECT_EQ(bytes, model_bytes());
  EXPECT_EQ(last, kModelSize);
}

TEST_F(OnColdModel, AnErrorOfTheSinkKeepsItsOwnWords) {
  const Container container = Container::open(path).value();

  const auto status = stream_record(container, container.find("model").value().id, [](ByteView) -> Status {
    return Error{ErrorCode::kNoSpace, "full"};
  });

  EXPECT_EQ(status.error().code, ErrorCode::kNoSpace);
  EXPECT_EQ(status.error().message, "full");
}

TEST_F(OnColdModel, ExtractWritesItWhole) {
  const Container container = Container::open(path).value();

  ASSERT_TRUE(extract_record(container, container.find("model").value().id, folder / "out", false).ok());

  std::ifstream file(folder / "out", std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(bytes)), model_bytes()));
}

TEST_F(OnColdModel, DamageIsNamedWithItsRangeByExtractAndVerifyAndNoFileAppears) {
  const Container container = Container::open(path).value();
  const RecordInfo record = container.find("model").value();
  testing::flip_byte(path, record.file_offset + 70'000);

  const auto status = extract_record(container, record.id, folder / "out", false);
  const auto report = container.verify_record(record.id);

  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kChecksumMismatch);
  EXPECT_EQ(status.error().where.record_id, record.id);
  EXPECT_EQ(status.error().where.file_offset, record.file_offset + 65'536);
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report.value().findings.size(), 1U);
  EXPECT_EQ(report.value().findings[0].error.where.file_offset, record.file_offset + 65'536);
}

}  // namespace cold_record_test
}  // namespace fatctx
