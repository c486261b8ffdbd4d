// Container::tensor(): the same tensor as through the table, at the price of its own bytes, checked as they are.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "fatctx/container.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx {
namespace one_tensor_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

constexpr std::uint64_t kEach = 10'000;
constexpr std::size_t kCount = 40;

class OneTensor : public ::testing::Test {
 protected:
  void pack(PackOptions options = {}) {
    PackRecord weights = support::plain_record(RecordType::kWeightBlob, "weights", support::pattern(kEach * kCount, 9));
    for (std::size_t i = 0; i < kCount; ++i) {
      weights.tensors.push_back({.name = "t" + std::to_string(i),
                                 .dtype = DType::kU8,
                                 .shape = {kEach / 10, 10},
                                 .offset_in_blob = i * kEach,
                                 .size_bytes = kEach});
    }
    content_ = weights.source.bytes;
    PackRecord plain = support::plain_record(RecordType::kWeightBlob, "plain", support::pattern(500, 3));
    std::vector<PackRecord> records;
    records.push_back(std::move(weights));
    records.push_back(std::move(plain));
    options.overwrite = true;
    ASSERT_TRUE(is_ok(support::pack(std::move(records), path_, std::move(options))));
  }
  void SetUp() override { pack(); }
  void pack_alone(const PackRecord& weights) {
    PackOptions options;
    options.overwrite = true;
    ASSERT_TRUE(is_ok(support::pack({weights}, path_, std::move(options))));
  }
  void damage(std::uint64_t at) {
    Bytes file = support::read_file(path_);
    file.at(static_cast<std::size_t>(at)) ^= std::byte{8};
    support::write_file(path_, file);
  }
  static std::uint32_t weights_of(const Container& container) { return container.find("weights").value().id; }
  [[nodiscard]] bool is_tensor(const WeightView& view, std::size_t number) const {
    const auto from = content_.begin() + static_cast<std::ptrdiff_t>(number * kEach);
    return std::equal(view.bytes().begin(), view.bytes().end(), from, from + kEach);
  }

  support::TempDir folder_;
  std::string path_ = folder_.file("m.fatctx");
  Bytes content_;
};

TEST_F(OneTensor, IsWhatTheTableSays) {
  for (const VerifyPolicy policy : {VerifyPolicy::kRecordOnAcquire, VerifyPolicy::kNone, VerifyPolicy::kPrivateCopy}) {
    const Container container = Container::open(path_, {.verify = policy}).value();
    for (const std::size_t number : {0U, 6U, 13U, 39U}) {
      const auto view = container.tensor(weights_of(container), "t" + std::to_string(number));
      ASSERT_TRUE(is_ok(view)) << number;
      EXPECT_TRUE(is_tensor(view.value(), number)) << number;
      EXPECT_EQ(view.value().name(), "t" + std::to_string(number));
      EXPECT_EQ(view.value().shape().size(), 2U);
      EXPECT_EQ(view.value().offset_in_blob(), number * kEach);
    }
  }
}

TEST_F(OneTensor, ItsOwnBytesAreCompared) {
  std::uint64_t at = 0;
  {
    const Container container = Container::open(path_).value();
    at = container.find("weights").value().file_offset;
  }
  damage(at + 25 * kEach + 17);
  const Container container = Container::open(path_).value();
  const std::uint32_t weights = weights_of(container);

  const auto damaged = container.tensor(weights, "t25");

  ASSERT_TRUE(fails_with(damaged, ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_EQ(damaged.error().where.record_id, weights);
  EXPECT_TRUE(fails_with(container.tensors(weights), ErrorCode::kChecksumMismatch, "F26")) << "the blob has the damage";
  const auto elsewhere = container.tensor(weights, "t3");
  ASSERT_TRUE(is_ok(elsewhere)) << "its leaves are whole";
  EXPECT_TRUE(is_tensor(elsewhere.value(), 3));
  EXPECT_TRUE(is_ok(Container::open(path_, {.verify = VerifyPolicy::kNone}).value().tensor(weights, "t25")));
}

TEST_F(OneTensor, OutlivesItsContainer) {
  std::optional<WeightView> view;
  {
    const Container container = Container::open(path_).value();
    view = container.tensor(weights_of(container), "t8").value();
  }
  EXPECT_TRUE(is_tensor(*view, 8));
  EXPECT_EQ(view->name(), "t8");
}

TEST_F(OneTensor, ThatDoesNotExistIsNamedWithItsNeighbour) {
  const Container container = Container::open(path_).value();
  const auto missing = container.tensor(weights_of(container), "t8x");
  ASSERT_TRUE(fails_with(missing, ErrorCode::kNotFound));
  EXPECT_NE(missing.error().message.find("the nearest is"), std::string::npos) << missing.error().message;
  EXPECT_TRUE(fails_with(container.tensor(container.find("plain").value().id, "t8"), ErrorCode::kNotFound));
  EXPECT_TRUE(fails_with(container.tensor(99, "t8"), ErrorCode::kNotFound));
  EXPECT_TRUE(fails_with(container.tensor(container.find("weights.tensors").value().id, "t8"), ErrorCode::kNotFound));
}

TEST_F(OneTensor, DamageOfTheTableNamesItsPlaceInTheFile) {
  const RecordInfo table = Container::open(path_).value().find("weights.tensors").value();
  damage(table.file_offset + table.size_bytes - 1);  // the end of the last name
  const Container container = Container::open(path_).value();

  const auto damaged = container.tensor(weights_of(container), "t8");

  ASSERT_TRUE(fails_with(damaged, ErrorCode::kChecksumMismatch, "F46"));
  EXPECT_EQ(damaged.error().where.record_id, table.id);
  ASSERT_TRUE(damaged.error().where.file_offset.has_value());
  EXPECT_GE(*damaged.error().where.file_offset, table.file_offset);
  EXPECT_LT(*damaged.error().where.file_offset, table.file_offset + table.size_bytes);
}

TEST_F(OneTensor, StridesAreThoseOfWholeBytes) {
  PackRecord weights = support::plain_record(RecordType::kWeightBlob, "weights", support::pattern(500, 3));
  weights.tensors = {{.name = "bytes", .dtype = DType::kI8, .shape = {4, 3, 5}, .size_bytes = 60},
                     {.name = "floats", .dtype = DType::kF32, .shape = {2, 0, 7}, .offset_in_blob = 64},
                     {.name = "halves", .dtype = DType::kI4, .shape = {2, 8}, .offset_in_blob = 64, .size_bytes = 8}};
  pack_alone(weights);
  const Container container = Container::open(path_).value();
  const TensorTable table = container.tensors(weights_of(container)).value();

  EXPECT_EQ(table.view("bytes").value().strides_bytes(), (std::vector<std::uint64_t>{15, 5, 1}));
  EXPECT_EQ(table.view("floats").value().strides_bytes(), (std::vector<std::uint64_t>{28, 28, 4}));
  EXPECT_TRUE(table.view("halves").value().strides_bytes().empty());
}

TEST_F(OneTensor, TheNearestNameIsTheNextOneInOrderOrElseTheLast) {
  PackRecord weights = support::plain_record(RecordType::kWeightBlob, "weights", support::pattern(500, 3));
  for (const char* name : {"b", "d", "f", "h", "j"}) {
    weights.tensors.push_back({.name = name, .dtype = DType::kU8, .shape = {1}, .size_bytes = 1});
    weights.tensors.back().offset_in_blob = weights.tensors.size();
  }
  pack_alone(weights);
  const Container container = Container::open(path_).value();
  const TensorTable table = container.tensors(weights_of(container)).value();

  for (const auto& [missing, nearest] : {std::pair("a", "b"), std::pair("c", "d"), std::pair("e", "f"),
                                         std::pair("g", "h"), std::pair("i", "j"), std::pair("k", "j")}) {
    const auto refused = table.view(missing);
    ASSERT_TRUE(fails_with(refused, ErrorCode::kNotFound)) << missing;
    EXPECT_EQ(refused.error().message,
              std::string("no tensor is named \"") + missing + "\"; the nearest is \"" + nearest + "\"");
  }
}

TEST_F(OneTensor, OfAFileThatWasCutIsAnError) {
  const Container container = Container::open(path_).value();
  std::filesystem::resize_file(path_, 50'000);
  EXPECT_TRUE(fails_with(container.tensor(weights_of(container), "t39"), ErrorCode::kChanged));
}

TEST_F(OneTensor, OfABlobInAnotherFormGoesThroughTheTable) {
  PackOptions with_digests;
  with_digests.sha256 = true;
  pack(with_digests);
  const Container digests = Container::open(path_).value();
  EXPECT_TRUE(is_tensor(digests.tensor(weights_of(digests), "t11").value(), 11));
  const Container copies = Container::open(path_, {.file_mapping = FileMapping::kDisabled}).value();
  EXPECT_TRUE(is_tensor(copies.tensor(weights_of(copies), "t11").value(), 11));
}

}  // namespace one_tensor_test
}  // namespace fatctx
