// A model whose best target is damaged: the effect of on_damage, for every way in which a file stores a record.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "fatctx/extract.h"
#include "fatctx/metrics.h"
#include "fatctx/trace.h"
#include "runtime/chip_model.h"
#include "runtime/large_model.h"
#include "runtime/sliced_model.h"
#include "support/aligned_memory.h"

namespace fatctx {
namespace on_damage_test {

using support::fails_with;
using support::is_ok;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kV2 = "small.x86-64-v2";
constexpr const char* kV3 = "small.x86-64-v3";
constexpr const char* kV4 = "small.x86-64-v4";

ModelOptions for_device(const std::string& arch, const OpenOptions& open = {}) {
  ModelOptions options;
  options.open = open;
  options.device = testing::cpu(arch);
  options.on_damage = OnDamage::kNext;
  return options;
}

std::vector<std::string> names(const Container& container, const std::vector<std::uint32_t>& ids) {
  std::vector<std::string> found;
  for (const std::uint32_t id : ids) found.emplace_back(container.record(id).value().name);
  return found;
}

std::vector<std::string> chosen(const Model& model) { return names(*model.container(), model.selection().chosen); }

std::vector<std::string> damaged(const Model& model) {
  std::vector<std::string> found;
  for (const DamagedRecord& record : model.selection().damaged) found.push_back(record.name);
  return found;
}

std::map<std::string, std::string> axes(const Model& model) {
  std::map<std::string, std::string> found;
  for (const Verdict& verdict : model.selection().verdicts) {
    found.emplace(model.container()->record(verdict.record_id).value().name, axis_id(verdict.axis));
  }
  return found;
}

class OnDamageNext : public ::testing::Test {
 protected:
  void SetUp() override { testing::pack_small_model(path_); }
  // Damages one byte in the middle of the record.
  std::uint64_t damage(const std::string& name) const { return damage_in(path_, name); }
  static std::uint64_t damage_in(const std::string& path, const std::string& name) {
    const RecordInfo record = Container::open(path).value().find(name).value();
    const std::uint64_t at = record.file_offset + record.stored_bytes / 2;
    testing::flip_byte(path, at);
    return at;
  }

  const testing::Folder folder_;
  const std::string path_ = folder_ / "m.fatctx";
};

TEST_F(OnDamageNext, ChangesNothingForAFileThatIsWhole) {
  const Model model = Model::open(path_, for_device("x86-64-v4")).value();

  EXPECT_THAT(chosen(model), ElementsAre(kV4));
  EXPECT_THAT(model.selection().damaged, IsEmpty());
  EXPECT_THAT(model.selection().warnings, IsEmpty());
  ModelOptions failing = for_device("x86-64-v4");
  failing.on_damage = OnDamage::kFail;
  EXPECT_EQ(model.explain_json(), Model::open(path_, failing).value().explain_json());
}

TEST_F(OnDamageNext, IsNotTheDefault) {
  damage(kV4);
  const Model model = Model::open(path_, {.device = testing::cpu("x86-64-v4")}).value();

  EXPECT_THAT(chosen(model), ElementsAre(kV4));
  EXPECT_TRUE(fails_with(model.begin_session(), ErrorCode::kChecksumMismatch, "F26"));
}

TEST_F(OnDamageNext, TakesTheNextTargetAndSaysWhatItPassedOver) {
  const std::uint64_t at = damage(kV4);

  const Model model = Model::open(path_, for_device("x86-64-v4")).value();

  EXPECT_THAT(chosen(model), ElementsAre(kV3));
  EXPECT_EQ(model.selection().level, Level::kPreferRecompilation);
  EXPECT_THAT(model.selection().warnings, ElementsAre("damaged_choice"));
  ASSERT_THAT(damaged(model), ElementsAre(kV4));
  const std::uint64_t begin = model.container()->find(kV4).value().file_offset;  // it has one leaf
  ASSERT_LT(at - begin, 65'536U);
  const DamagedRecord& found = model.selection().damaged.front();
  EXPECT_EQ(found.error.code, ErrorCode::kChecksumMismatch);
  EXPECT_EQ(found.record_id, model.container()->find(kV4).value().id);
  EXPECT_EQ(found.error.where.record_id, found.record_id);
  EXPECT_EQ(found.error.where.file_offset, begin);
  EXPECT_THAT(found.error.message, HasSubstr(path_));
  EXPECT_EQ(axes(model)[kV4], "A2");

  EXPECT_THAT(model.explain(), HasSubstr("damaged: small.x86-64-v4: " + path_));
  EXPECT_THAT(model.explain(), HasSubstr("[damaged_choice]"));
  const auto json = nlohmann::json::parse(model.explain_json());
  EXPECT_EQ(json["decision"]["damaged"][0]["record"], kV4);
  EXPECT_EQ(json["decision"]["damaged"][0]["error"], "checksum_mismatch");
  EXPECT_EQ(json["decision"]["damaged"][0]["file_offset"], begin);
  EXPECT_EQ(json["decision"]["chosen"][0]["record"], kV3);

  const Session session = model.begin_session().value();
  const RecordView view = session.binary().value();
  EXPECT_TRUE(std::ranges::equal(view.bytes(), testing::pattern(testing::kBinarySize, 12)));
}

TEST_F(OnDamageNext, GoesOnUntilATargetIsWhole) {
  damage(kV4);
  damage(kV3);
  const Model model = Model::open(path_, for_device("x86-64-v4")).value();

  EXPECT_THAT(chosen(model), ElementsAre(kV2));
  EXPECT_THAT(damaged(model), ElementsAre(kV4, kV3)) << "in the order in which they were tried";
}

TEST_F(OnDamageNext, FailsWithTheFirstDamageIfNoTargetIsWhole) {
  for (const char* name : {kV4, kV3, kV2}) damage(name);
  const auto model = Model::open(path_, for_device("x86-64-v4"));

  ASSERT_TRUE(fails_with(model, ErrorCode::kChecksumMismatch, "F26"));
  const Container container = Container::open(path_).value();
  EXPECT_EQ(model.error().where.record_id, container.find(kV4).value().id);
  const std::string& message = model.error().message;
  const auto at = [&](const char* name) {
    return message.find("record " + std::to_string(container.find(name).value().id));
  };
  EXPECT_THAT(message, HasSubstr("no other target is whole"));
  EXPECT_LT(at(kV3), at(kV2)) << message;
  EXPECT_NE(at(kV2), std::string::npos) << message;
  EXPECT_EQ(message.find('\n'), std::string::npos);
}

TEST_F(OnDamageNext, ADamagedBlobOfAllTargetsIsNamed) {
  damage("weights");
  const auto model = Model::open(path_, for_device("x86-64-v4"));

  ASSERT_TRUE(fails_with(model, ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_EQ(model.error().where.record_id, Container::open(path_).value().find("weights").value().id);
}

TEST_F(OnDamageNext, ADeviceThatNothingFitsStaysWithoutAMatch) {
  damage(kV4);
  EXPECT_TRUE(fails_with(Model::open(path_, for_device("x86-64-v1")), ErrorCode::kNoMatch));
}

TEST_F(OnDamageNext, WhatIsNotChosenIsNotLookedAt) {
  damage(kV2);
  damage("small.aarch64");
  const Model model = Model::open(path_, for_device("x86-64-v4")).value();

  EXPECT_THAT(chosen(model), ElementsAre(kV4));
  EXPECT_THAT(model.selection().damaged, IsEmpty());
}

TEST_F(OnDamageNext, ANamedRecordIsNotReplacedByAnother) {
  damage(kV3);
  ModelOptions options = for_device("x86-64-v4");
  options.policy.record_override = kV3;
  EXPECT_TRUE(fails_with(Model::open(path_, options), ErrorCode::kChecksumMismatch, "F26"));
  options.policy.force = true;
  EXPECT_TRUE(fails_with(Model::open(path_, options), ErrorCode::kChecksumMismatch, "F26")) << "and it ends";
}

TEST_F(OnDamageNext, VerifyNoneIsRefused) {
  const auto model = Model::open(path_, for_device("x86-64-v4", {.verify = VerifyPolicy::kNone}));
  ASSERT_TRUE(fails_with(model, ErrorCode::kInvalidArgument));
  EXPECT_THAT(model.error().message, HasSubstr("verify is none"));
}

TEST_F(OnDamageNext, SessionsOfTheDamagedRecordKeepItAndHearOfItAtTheirEnd) {
  const Model before = Model::open(path_, for_device("x86-64-v4")).value();
  Session session = before.begin_session().value();
  damage(kV4);

  const Model after = Model::choose(*before.container(), for_device("x86-64-v4")).value();
  EXPECT_THAT(chosen(after), ElementsAre(kV3));
  EXPECT_THAT(chosen(before), ElementsAre(kV4)) << "a choice is for the life of the model";
  EXPECT_TRUE(fails_with(before.begin_session(), ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_EQ(session.binary().value().size_bytes(), testing::kBinarySize);
  EXPECT_TRUE(fails_with(session.end(), ErrorCode::kChecksumMismatch, "F26")) << "what it computed may be wrong";
}

TEST_F(OnDamageNext, AFileThatWasMadeWholeIsChosenFromAgain) {
  const std::uint64_t at = damage(kV4);
  const Model before = Model::open(path_, for_device("x86-64-v4")).value();
  testing::flip_byte(path_, at);

  EXPECT_THAT(chosen(Model::choose(*before.container(), for_device("x86-64-v4")).value()), ElementsAre(kV4));
}

// An allocator that counts its blocks.
class CountedAllocator final : public ViewAllocator {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "counted"; }
  [[nodiscard]] Result<Block> allocate(std::uint64_t size_bytes, std::uint64_t alignment) override {
    ++made;
    const std::uint64_t whole = (size_bytes + alignment - 1) / alignment * alignment;
    return Block{.data = static_cast<std::byte*>(support::aligned_memory(alignment, whole)), .size_bytes = whole};
  }
  void release(const Block& block) noexcept override { support::free_aligned(block.data); }

  int made = 0;
};

TEST_F(OnDamageNext, WhatWasMadeToCheckIsNotMadeAgainForTheFirstSession) {
  const auto allocator = std::make_shared<CountedAllocator>();
  const Model model = Model::open(path_, for_device("x86-64-v4", {.allocator = allocator})).value();
  EXPECT_EQ(allocator->made, 2) << "the binary and the weights";
  EXPECT_EQ(container_metrics(*model.container()).sessions, 0U);

  Session first = model.begin_session().value();
  EXPECT_EQ(allocator->made, 2);
  EXPECT_TRUE(is_ok(first.end()));
  EXPECT_TRUE(is_ok(model.begin_session()));
  EXPECT_EQ(allocator->made, 4) << "nothing was held any more";
}

TEST_F(OnDamageNext, CopiesAreCheckedAlike) {
  damage(kV4);
  for (const OpenOptions& open :
       {OpenOptions{.file_mapping = FileMapping::kDisabled}, OpenOptions{.verify = VerifyPolicy::kPrivateCopy}}) {
    const Model model = Model::open(path_, for_device("x86-64-v4", open)).value();
    EXPECT_THAT(chosen(model), ElementsAre(kV3));
    ASSERT_THAT(damaged(model), ElementsAre(kV4));
    EXPECT_EQ(model.selection().damaged.front().error.code, ErrorCode::kChecksumMismatch);
    EXPECT_TRUE(model.selection().damaged.front().error.where.file_offset.has_value());
  }
}

TEST_F(OnDamageNext, ATraceOfItGivesTheSameAgain) {
  damage(kV4);
  std::string trace;
  set_trace([&](std::string_view line) { trace.append(line).append("\n"); });
  EXPECT_TRUE(is_ok(Model::open(path_, for_device("x86-64-v4"))));
  set_trace({});

  const ReplayReport replay = replay_trace(trace).value();
  EXPECT_THAT(trace, HasSubstr("\"states\":{\"bad\":["));
  EXPECT_EQ(replay.calls, 6U) << "open, select, view, select, and the views of the binary and the weights";
  EXPECT_THAT(replay.differences, IsEmpty());
}

TEST_F(OnDamageNext, OneDamagedUnitPutsItsWholeTargetOut) {
  std::vector<PackRecord> records;
  std::uint32_t seed = 30;
  for (const char* arch : {"x86-64-v2", "x86-64-v3"}) {
    for (const char* unit : {"decode", "prefill"}) {
      records.push_back(support::binary_record(std::string(unit) + "." + arch, arch, support::pattern(9'000, ++seed)));
      records.back().key.unit = unit;
    }
  }
  const std::string path = folder_ / "units.fatctx";
  ASSERT_TRUE(is_ok(support::pack(std::move(records), path)));
  damage_in(path, "prefill.x86-64-v3");

  const Model model = Model::open(path, for_device("x86-64-v3")).value();
  EXPECT_THAT(chosen(model), ElementsAre("decode.x86-64-v2", "prefill.x86-64-v2"));
  EXPECT_EQ(axes(model)["prefill.x86-64-v3"], "A2");
  EXPECT_EQ(axes(model)["decode.x86-64-v3"], "incomplete");
}

TEST_F(OnDamageNext, ADamagedBlobRefusesThoseThatReferToItAndNobodyElse) {
  std::vector<PackRecord> records;
  std::uint32_t seed = 50;
  for (const char* arch : {"x86-64-v2", "x86-64-v3"}) {
    const std::string weights = std::string("weights.") + arch;
    records.push_back(support::plain_record(RecordType::kWeightBlob, weights, support::pattern(70'000, ++seed)));
    records.push_back(support::binary_record(arch, arch, support::pattern(9'000, ++seed)));
    records.back().weights = {weights};
  }
  const std::string path = folder_ / "weights.fatctx";
  ASSERT_TRUE(is_ok(support::pack(std::move(records), path)));
  damage_in(path, "weights.x86-64-v3");

  const Model model = Model::open(path, for_device("x86-64-v3")).value();
  EXPECT_THAT(chosen(model), ElementsAre("x86-64-v2"));
  EXPECT_THAT(damaged(model), ElementsAre("weights.x86-64-v3"));
  EXPECT_EQ(axes(model)["x86-64-v3"], "A7");
}

TEST_F(OnDamageNext, RecordsThatAreNeverMappedAreNotLookedAt) {
  std::vector<PackRecord> records;
  records.push_back(support::plain_record(RecordType::kSourceModel, "source", support::Bytes(80'000, std::byte{7})));
  records.back().codec = Codec::kLz4;
  records.push_back(support::binary_record("v2", "x86-64-v2", support::pattern(9'000, 60)));
  const std::string path = folder_ / "cold.fatctx";
  ASSERT_TRUE(is_ok(support::pack(std::move(records), path)));
  damage_in(path, "source");

  const Model model = Model::open(path, for_device("x86-64-v2")).value();
  EXPECT_THAT(model.selection().damaged, IsEmpty());
  EXPECT_FALSE(stream_record(*model.container(), model.container()->find("source").value().id, [](ByteView) -> Status {
                 return Done{};
               }).ok());
}

class OnDamageNextSliced : public ::testing::Test {};

TEST_F(OnDamageNextSliced, AStitchedRecordIsPassedOverForOneOfItsPieces) {
  support::SlicedContainer made({support::pattern(48 * support::kGranule, 41)});
  const auto sliced = [](const char* arch, std::vector<support::StoreSlice> slices) {
    return support::SlicedRecord{support::binary_record(arch, arch, {}), std::move(slices)};
  };
  constexpr std::uint64_t kGranule = support::kGranule;
  made.add(sliced("x86-64-v2", {{{3 * kGranule, kGranule}}, {{kGranule, kGranule}}}));
  made.add(sliced("x86-64-v3", {{{40 * kGranule, kGranule}}, {{20 * kGranule, kGranule}}}));
  const support::TempDir folder;
  const std::string path = folder.file("sliced.fatctx");
  support::write_file(path, made.bytes());
  testing::flip_byte(path, Container::open(path).value().find("store 0").value().file_offset + 20 * kGranule + 9);

  const Model model = Model::open(path, for_device("x86-64-v3")).value();
  EXPECT_THAT(chosen(model), ElementsAre("x86-64-v2"));
  EXPECT_THAT(damaged(model), ElementsAre("x86-64-v3"));
  EXPECT_EQ(model.begin_session().value().binary().value().access_path(), AccessPath::kStitched);
}

class OnDamageNextChips : public testing::ChipModel {
 protected:
  // Returns the recipe of the highest x86-64 level that is stored as one.
  [[nodiscard]] std::size_t best_recipe() const {
    std::size_t best = 0;
    for (const std::size_t chip : recipes()) best = chip <= 2 ? std::max(best, chip) : best;
    return best;
  }
};

TEST_F(OnDamageNextChips, ARecipeWhoseProgramIsDamagedIsPassedOver) {
  const std::size_t chip = best_recipe();
  const RecordInfo record = open().find(name(chip)).value();
  ASSERT_TRUE(record.recipe);
  testing::flip_byte(path_, record.file_offset + 3);

  for (const OpenOptions& open :
       {OpenOptions{.max_copied_bytes = kEnough}, OpenOptions{.file_mapping = FileMapping::kDisabled}}) {
    const Model model = Model::open(path_, for_device(arch(chip), open)).value();
    ASSERT_THAT(damaged(model), ElementsAre(name(chip)));
    EXPECT_EQ(model.selection().damaged.front().error.code, ErrorCode::kChecksumMismatch);
    const std::string other = chosen(model).at(0);
    EXPECT_NE(other, name(chip));
    EXPECT_TRUE(shows(model.begin_session().value().binary().value(), static_cast<std::size_t>(other.back() - '0')));
  }
}

TEST_F(OnDamageNextChips, MissingPermissionIsNotDamage) {
  const auto model = Model::open(path_, for_device(arch(best_recipe())));
  EXPECT_TRUE(fails_with(model, ErrorCode::kCopyNotAllowed)) << "another target does not take its place";
}

}  // namespace on_damage_test
}  // namespace fatctx
