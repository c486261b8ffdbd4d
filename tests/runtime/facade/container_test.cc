#include "fatctx/container.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "container/read/open.h"
#include "fatctx/extract.h"
#include "fatctx/model.h"
#include "fatctx/packer.h"
#include "runtime/small_model.h"
#include "support/opened.h"

namespace fatctx {
namespace container_test {

Device device(const std::string& arch) {
  Device d;
  d.arch = arch;
  return d;
}

class OnSmallModel : public ::testing::Test {
 protected:
  void SetUp() override { testing::pack_small_model(path); }

  const testing::Folder folder;
  const std::string path = folder / "m.fatctx";
};

TEST_F(OnSmallModel, RecordsAreListedInCanonicalOrderWithTheirFacts) {
  const auto container = Container::open(path);
  ASSERT_TRUE(container.ok()) << to_text(container.error());

  std::vector<std::string> names;
  for (const RecordInfo& record : support::records_in(container.value())) names.emplace_back(record.name);

  EXPECT_EQ(names, (std::vector<std::string>{"small.aarch64", "small.x86-64-v2", "small.x86-64-v3", "small.x86-64-v4",
                                             "weights", "weights.tensors", "description"}));
  const RecordInfo v3 = container.value().find("small.x86-64-v3").value();
  EXPECT_EQ(v3.id, 3U);
  EXPECT_EQ(v3.key.arch, "x86-64-v3");
  EXPECT_EQ(v3.size_bytes, testing::kBinarySize);
  EXPECT_EQ(std::vector<std::uint32_t>(v3.weights.begin(), v3.weights.end()), std::vector<std::uint32_t>{5});
  EXPECT_EQ(v3.file_offset % 4'096, 0U);
}

// Shows S5.4: a view points into the mapping itself.
TEST_F(OnSmallModel, AViewLiesInTheMappingAndHoldsTheRecordsBytes) {
  const Container container = Container::open(path).value();
  const auto view = container.acquire("weights");
  ASSERT_TRUE(view.ok());

  EXPECT_TRUE(std::ranges::equal(view.value().bytes(), testing::pattern(testing::kWeightsSize, 1)));
  std::ifstream maps("/proc/self/maps");
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    if (!line.ends_with(path)) continue;
    const auto start = std::stoull(line, nullptr, 16);
    const auto end = std::stoull(line.substr(line.find('-') + 1), nullptr, 16);
    const auto at = reinterpret_cast<std::uintptr_t>(view.value().data());
    inside = at >= start && at + view.value().size_bytes() <= end && line.find(" r--s ") != std::string::npos;
  }
  EXPECT_TRUE(inside);
}

TEST_F(OnSmallModel, ATensorIsAViewWithTypeShapeAndStrides) {
  const Container container = Container::open(path).value();
  const auto table = container.tensors(container.find("weights").value().id);
  ASSERT_TRUE(table.ok()) << to_text(table.error());

  const auto view = table.value().view("layer/0");

  ASSERT_TRUE(view.ok());
  EXPECT_EQ(view.value().dtype(), DType::kF32);
  EXPECT_TRUE(std::ranges::equal(view.value().shape(), std::vector<std::uint64_t>{100, 200}));
  EXPECT_EQ(view.value().strides_bytes(), (std::vector<std::uint64_t>{800, 4}));
  const RecordView blob = container.acquire("weights").value();
  EXPECT_EQ(view.value().bytes().data(), blob.data());
  EXPECT_EQ(table.value().view("layer/2").error().code, ErrorCode::kNotFound);
}

TEST_F(OnSmallModel, ATensorOutlivesEverythingItCameFrom) {
  std::optional<WeightView> view;
  {
    const Container container = Container::open(path).value();
    view = container.tensors(container.find("weights").value().id).value().view("layer/1").value();
  }
  std::filesystem::remove(path);

  const auto expected = testing::pattern(testing::kWeightsSize, 1);

  EXPECT_TRUE(std::ranges::equal(view->bytes(), ByteView(expected).subspan(80'000)));
  EXPECT_EQ(view->name(), "layer/1");
}

// Promise: payload damage is found before a view is handed out, and the error names record and offset.
TEST_F(OnSmallModel, DamagedPayloadIsRefusedByDefaultAndHandedOutOnlyWhenAskedFor) {
  const RecordInfo weights = Container::open(path).value().find("weights").value();
  testing::flip_byte(path, weights.file_offset + 131'072 + 5);

  const auto refused = Container::open(path).value().acquire("weights");
  const auto vouched = Container::open(path, {.verify = VerifyPolicy::kNone}).value().acquire("weights");

  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kChecksumMismatch);
  EXPECT_EQ(refused.error().where.record_id, weights.id);
  EXPECT_EQ(refused.error().where.file_offset, weights.file_offset + 131'072);
  EXPECT_NE(refused.error().message.find(path), std::string::npos);
  EXPECT_TRUE(vouched.ok());
}

TEST_F(OnSmallModel, VerifyNamesRecordAndRangeOfDamage) {
  const Container container = Container::open(path).value();
  EXPECT_TRUE(container.verify().value().findings.empty());
  const RecordInfo weights = container.find("weights").value();
  testing::flip_byte(path, weights.file_offset + 10);
  testing::flip_byte(path, weights.file_offset + 65'536);

  const auto report = verify_file(path);

  ASSERT_TRUE(report.ok());
  ASSERT_EQ(report.value().findings.size(), 1U);  // adjacent leaves make one range
  const Error& finding = report.value().findings[0].error;
  EXPECT_EQ(finding.where.record_id, weights.id);
  EXPECT_EQ(finding.where.file_offset, weights.file_offset);
}

TEST_F(OnSmallModel, VerifyOfOneRecordLooksAtThatRecordOnly) {
  const Container container = Container::open(path).value();
  const RecordInfo weights = container.find("weights").value();
  testing::flip_byte(path, weights.file_offset + 10);

  const auto damaged = container.verify_record(weights.id);
  const auto whole = container.verify_record(1);

  ASSERT_TRUE(damaged.ok()) << to_text(damaged.error());
  ASSERT_EQ(damaged.value().findings.size(), 2U);  // the leaf, and the hash of the record
  EXPECT_EQ(damaged.value().findings[0].error.where.record_id, weights.id);
  EXPECT_TRUE(whole.value().findings.empty());
  EXPECT_EQ(whole.value().checked_bytes, testing::kBinarySize);
}

TEST_F(OnSmallModel, VerifyOfOneRecordDoesNotBlameItForItsLeafHashes) {
  const Container container = Container::open(path).value();
  const RecordInfo weights = container.find("weights").value();
  const auto file = mapping::open_for_reading(path);
  const auto opened = container::read_toc(*file.value(), support::report_of(container).file_size);
  const auto of_weights =
      std::ranges::find(opened.value().toc.segments, weights.file_offset, &container::Segment::offset);
  ASSERT_NE(of_weights, opened.value().toc.segments.end());
  const container::Segment& leaves = opened.value().toc.segments[of_weights->leaves_segment];
  testing::flip_byte(path, leaves.offset + of_weights->first_leaf * sizeof(container::DiskHash));

  const auto report = container.verify_record(weights.id);

  ASSERT_TRUE(report.ok()) << to_text(report.error());
  ASSERT_EQ(report.value().findings.size(), 1U);
  EXPECT_NE(report.value().findings[0].error.message.find("the leaf hashes are damaged"), std::string::npos);
}

TEST_F(OnSmallModel, AModelChoosesForTheDeviceAndSessionsShareItsViews) {
  const auto model = Model::open(path, {.device = device("x86-64-v3")});
  ASSERT_TRUE(model.ok()) << to_text(model.error());

  const Session one = model.value().begin_session().value();
  const Session two = model.value().begin_session().value();

  const RecordView binary = one.binary().value();
  EXPECT_TRUE(std::ranges::equal(binary.bytes(), testing::pattern(testing::kBinarySize, 12)));
  const RecordView same_binary = two.binary().value();
  EXPECT_EQ(binary.data(), same_binary.data());
  ASSERT_EQ(one.weights().size(), 1U);
  EXPECT_EQ(one.weights()[0].view.data(), two.weights()[0].view.data());
  const WeightView tensor = one.weight("layer/0").value();
  const WeightView same_tensor = two.weight("layer/0").value();
  EXPECT_EQ(tensor.bytes().data(), same_tensor.bytes().data());
}

TEST_F(OnSmallModel, ASessionLooksItsTensorTablesUpOnce) {
  const Model model = Model::open(path, {.device = device("x86-64-v3")}).value();
  Session session = model.begin_session().value();
  const Session copy = session;
  const WeightView first = session.weight("layer/0").value();

  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);

  const auto anew = model.container()->tensors(session.weights()[0].view.record_id());
  ASSERT_FALSE(anew.ok());
  const WeightView again = session.weight("layer/0").value();
  EXPECT_EQ(again.bytes().data(), first.bytes().data());
  EXPECT_TRUE(copy.weight("layer/1").ok());
  const Status ended = session.end();
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().code, anew.error().code);
  const auto gone = session.weight("layer/0");
  ASSERT_FALSE(gone.ok());
  EXPECT_EQ(gone.error().code, ErrorCode::kNotFound);
  EXPECT_NE(gone.error().message.find("the session has ended"), std::string::npos) << gone.error().message;
  EXPECT_EQ(session.binary().error().code, ErrorCode::kNotFound);
}

TEST_F(OnSmallModel, NoMatchNamesEveryRecordWithItsReason) {
  const auto model = Model::open(path, {.device = device("x86-64-v1")});

  ASSERT_FALSE(model.ok());
  EXPECT_EQ(model.error().code, ErrorCode::kNoMatch);
  for (const char* name : {"small.aarch64", "small.x86-64-v2", "small.x86-64-v3", "small.x86-64-v4"}) {
    EXPECT_NE(model.error().message.find(name), std::string::npos) << name;
  }
}

TEST_F(OnSmallModel, TheDescriptionComesBack) {
  const auto description = Container::open(path).value().describe();

  ASSERT_TRUE(description.ok());
  EXPECT_EQ(description.value().name, "small");
}

TEST_F(OnSmallModel, ExtractGivesTheRecordsBytesAndRefusesToOverwrite) {
  const Container container = Container::open(path).value();
  const RecordInfo record = container.find("weights").value();

  ASSERT_TRUE(extract_record(container, record.id, folder / "out", false).ok());
  const auto again = extract_record(container, record.id, folder / "out", false);

  EXPECT_EQ(again.error().code, ErrorCode::kExists);
  std::ifstream file(folder / "out", std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(file), {});
  EXPECT_TRUE(std::ranges::equal(std::as_bytes(std::span(bytes)), testing::pattern(testing::kWeightsSize, 1)));
}

TEST_F(OnSmallModel, ExtractOfADamagedRecordLeavesNoFile) {
  const Container container = Container::open(path).value();
  const RecordInfo record = container.find("weights").value();
  testing::flip_byte(path, record.file_offset + 150'000);

  const auto status = extract_record(container, record.id, folder / "out", false);

  EXPECT_EQ(status.error().code, ErrorCode::kChecksumMismatch);
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(std::filesystem::path(path).parent_path()), {}), 1);
}

// The names are sorted neither by key nor by the order of adding, and some are prefixes of others.
TEST(ContainerByName, EveryRecordIsFoundByItsNameAndNothingElseIs) {
  const testing::Folder folder;
  const std::string path = folder / "many.fatctx";
  constexpr std::uint32_t kCount = 97;
  Packer packer({});
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < kCount; ++i) {
    PackRecord record;
    names.push_back("r" + std::to_string(i * 61 % kCount));
    record.name = names.back();
    record.key.variant = std::to_string(kCount - i);
    record.source.bytes.assign(i + 1, static_cast<std::byte>(i + 1));
    ASSERT_TRUE(packer.add(std::move(record)).ok());
  }
  ASSERT_TRUE(packer.publish(path).ok());
  const Container container = Container::open(path).value();
  for (std::uint32_t i = 0; i < kCount; ++i) {
    const auto found = container.find(names[i]);
    ASSERT_TRUE(found.ok()) << names[i];
    EXPECT_EQ(found.value().name, names[i]);
    EXPECT_EQ(found.value().size_bytes, i + 1);
  }
  for (const char* absent : {"", "a", "r", "r0 ", "r00", "r97", "z"}) {
    const auto found = container.find(absent);
    ASSERT_FALSE(found.ok()) << absent;
    EXPECT_EQ(found.error().code, ErrorCode::kNotFound);
  }
}

TEST(ContainerWeights, ABinaryListsItsOwnWeightsAndNobodyElses) {
  const testing::Folder folder;
  const std::string path = folder / "weights.fatctx";
  Packer packer({});
  for (const char* name : {"w1", "w2", "w3"}) {
    PackRecord weights;
    weights.type = RecordType::kWeightBlob;
    weights.name = name;
    weights.source.bytes.assign(64, static_cast<std::byte>(name[1]));
    ASSERT_TRUE(packer.add(std::move(weights)).ok());
  }
  const std::vector<std::pair<std::string, std::vector<std::string>>> binaries = {
      {"b0", {"w3", "w1"}}, {"b1", {}}, {"b2", {"w2"}}, {"b3", {"w1", "w2", "w3"}}};
  for (const auto& [name, weights] : binaries) {
    PackRecord binary;
    binary.type = RecordType::kContextBinary;
    binary.name = name;
    binary.key.backend = "cpu";
    binary.key.variant = name;
    binary.source.bytes.assign(64, static_cast<std::byte>(name[1]));
    binary.weights = weights;
    ASSERT_TRUE(packer.add(std::move(binary)).ok());
  }
  ASSERT_TRUE(packer.publish(path).ok());
  const Container container = Container::open(path).value();
  for (const auto& [name, weights] : binaries) {
    std::vector<std::string> listed;
    const RecordInfo binary = container.find(name).value();
    for (const std::uint32_t id : binary.weights) {
      listed.emplace_back(container.record(id).value().name);
    }
    EXPECT_THAT(listed, ::testing::UnorderedElementsAreArray(weights)) << name;
  }
}

}  // namespace container_test
}  // namespace fatctx
