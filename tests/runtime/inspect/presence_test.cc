// Files on disk that have only a part of their container: they open, choose and describe as usual. A record that is not
// present is refused with its bytes and the remedy.
#include "fatctx/presence.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "fatctx/appender.h"
#include "fatctx/extract.h"
#include "fatctx/info.h"
#include "fatctx/memory.h"
#include "fatctx/model.h"
#include "fatctx/repair.h"
#include "fatctx/rewrite.h"
#include "fatctx/signature.h"
#include "runtime/large_model.h"
#include "runtime/small_model.h"
#include "support/result_matchers.h"
#include "support/temp_dir.h"

namespace fatctx {
namespace presence_test {

using support::fails_with;
using support::is_ok;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kV2 = "small.x86-64-v2";
constexpr const char* kV3 = "small.x86-64-v3";
constexpr const char* kV4 = "small.x86-64-v4";
constexpr std::uint64_t kPage = 4096;

// The rule depends on the absent part: a leaf, a table, a description.
template <typename T>
::testing::AssertionResult is_absent(const Result<T>& result) {
  if (!result.ok() && result.error().code == ErrorCode::kNotPresent) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << (result.ok() ? "no error" : to_text(result.error()));
}

class Presence : public ::testing::Test {
 protected:
  void SetUp() override { testing::pack_small_model(path_); }

  [[nodiscard]] ByteRange place_of(const std::string& name) const {
    const RecordInfo record = Container::open(path_).value().find(name).value();
    return {record.file_offset, record.stored_bytes};
  }
  // Replaces the file by one in which these ranges are zeros, as holes if the filesystem has them.
  void lose(const std::vector<ByteRange>& ranges, bool as_holes = true) const {
    std::ifstream in(path_, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), {});
    in.close();  // Windows replaces no file that is open here
    for (const ByteRange& range : ranges) {
      std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(range.offset), range.size, '\0');
    }
    const std::string copy = path_ + ".partial";
    std::ofstream out(copy, std::ios::binary);
    for (std::size_t at = 0; at < bytes.size(); at += kPage) {
      const std::string page = bytes.substr(at, kPage);
      if (as_holes && page.find_first_not_of('\0') == std::string::npos) continue;
      out.seekp(static_cast<std::streamoff>(at));
      out.write(page.data(), static_cast<std::streamsize>(page.size()));
    }
    out.close();
    std::filesystem::resize_file(copy, bytes.size());
    support::replace_file(copy, path_);
  }
  [[nodiscard]] Container open(const OpenOptions& options = {}) const {
    return Container::open(path_, options).value();
  }

  const testing::Folder folder_;
  const std::string path_ = folder_ / "m.fatctx";
};

TEST_F(Presence, AWholeFileLacksNothing) {
  const auto report = find_absent(open(), {.read_payload = true});
  ASSERT_TRUE(is_ok(report));
  EXPECT_EQ(report.value().absent_bytes, 0U);
  EXPECT_THAT(report.value().absent, IsEmpty());
  ASSERT_EQ(report.value().records.size(), open().record_count());
  for (const RecordPresence& record : report.value().records) EXPECT_EQ(record.absent_bytes, 0U);
}

TEST_F(Presence, ARecordThatIsNotPresentIsNamedWithItsBytesAndTheRemedy) {
  const ByteRange gone = place_of(kV4);
  lose({gone});
  const Container container = open();
  const RecordInfo record = container.find(kV4).value();
  for (const PresenceOptions& options : {PresenceOptions{.read_payload = true}, PresenceOptions{}}) {
    const auto report = find_absent(container, options);
    ASSERT_TRUE(is_ok(report));
    EXPECT_THAT(report.value().absent, ElementsAre(gone)) << options.read_payload;
    EXPECT_THAT(find_absent(container, record.id, options).value(), ElementsAre(gone));
    EXPECT_THAT(find_absent(container, container.find(kV3).value().id, options).value(), IsEmpty());
  }
  EXPECT_TRUE(fails_with(find_absent(container, 77, PresenceOptions{}), ErrorCode::kNotFound));

  const auto refused = container.acquire(kV4);
  ASSERT_TRUE(fails_with(refused, ErrorCode::kNotPresent, "F26"));
  EXPECT_EQ(refused.error().where.record_id, record.id);
  EXPECT_EQ(refused.error().where.file_offset, gone.offset);
  for (const char* part :
       {kV4, "are not present", "fatctx fetch SOURCE --more --record small.x86-64-v4 -o FILE", path_.c_str()}) {
    EXPECT_THAT(to_text(refused.error()), HasSubstr(part));
  }
  EXPECT_TRUE(is_absent(extract_record(container, record.id, folder_ / "out", false)));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "out"));
  std::vector<std::byte> memory(static_cast<std::size_t>(record.size_bytes));
  EXPECT_TRUE(is_absent(read_record(container, record.id, memory)));
  EXPECT_TRUE(is_ok(container.acquire(kV3)));
  EXPECT_TRUE(is_ok(container.acquire("weights")));
}

TEST_F(Presence, ZerosThatWereWrittenAreFoundInThePayloadOnly) {
  const ByteRange gone = place_of(kV4);
  lose({gone}, false);
  EXPECT_EQ(find_absent(open()).value().absent_bytes, 0U) << "they are no hole";
  EXPECT_THAT(find_absent(open(), {.read_payload = true}).value().absent, ElementsAre(gone));
  EXPECT_TRUE(is_absent(open().acquire(kV4)));
}

TEST_F(Presence, TheBestTargetThatIsPresentIsTakenOnRequest) {
  lose({place_of(kV4)});
  ModelOptions options;
  options.device = testing::cpu("x86-64-v4");
  const Model refusing = Model::open(path_, options).value();
  EXPECT_TRUE(is_absent(refusing.begin_session()));

  options.on_damage = OnDamage::kNext;
  const Model model = Model::open(path_, options).value();
  ASSERT_THAT(model.selection().chosen, ElementsAre(open().find(kV3).value().id));
  EXPECT_THAT(model.selection().warnings, ElementsAre("damaged_choice"));
  ASSERT_EQ(model.selection().damaged.size(), 1U);
  EXPECT_EQ(model.selection().damaged[0].error.code, ErrorCode::kNotPresent);
  EXPECT_THAT(model.explain(), HasSubstr("not present"));
  EXPECT_TRUE(is_ok(model.begin_session()));
}

TEST_F(Presence, ATensorOfPresentLeavesIsHandedOutAndOthersAreNot) {
  const ByteRange weights = place_of("weights");
  lose({{weights.offset + 131'072, weights.size - 131'072}});
  const Container container = open();
  const std::uint32_t id = container.find("weights").value().id;
  EXPECT_TRUE(is_ok(container.tensor(id, "layer/0")));
  EXPECT_TRUE(is_absent(container.tensor(id, "layer/1")));
}

TEST_F(Presence, AnAbsentTensorTableOrDescriptionIsNotPresent) {
  lose({place_of("weights.tensors"), place_of("description")});  // one packed segment, and one leaf
  const Container container = open();
  const std::uint32_t id = container.find("weights").value().id;
  EXPECT_TRUE(is_absent(container.tensors(id)));
  EXPECT_TRUE(is_absent(container.tensor(id, "layer/0")));
  EXPECT_TRUE(is_absent(container.describe()));
  EXPECT_TRUE(is_ok(container.acquire("weights")));
}

TEST_F(Presence, TheCheckTellsAbsentFromDamaged) {
  const ByteRange gone = place_of(kV4);
  lose({gone});
  const VerifyReport report = verify_file(path_).value();
  ASSERT_EQ(report.findings.size(), 1U);
  EXPECT_EQ(report.findings[0].error.code, ErrorCode::kNotPresent);
  EXPECT_EQ(report.absent_bytes, gone.size);
  testing::flip_byte(path_, place_of(kV3).offset);
  EXPECT_EQ(verify_file(path_).value().findings.size(), 2U);
  const RepairReport repaired = repair(path_).value();
  EXPECT_THAT(repaired.restored, IsEmpty());
  EXPECT_EQ(repaired.remaining.size(), 2U);
}

TEST_F(Presence, WritersRefuseWhatTheyNeedAndDoTheRest) {
  lose({place_of(kV4)});
  const std::string out = folder_ / "out.fatctx";
  EXPECT_TRUE(is_absent(rewrite_container(path_, out, {})));
  EXPECT_TRUE(is_absent(rewrite_container(path_, path_, {})));
  testing::pack_small_model(folder_ / "other.fatctx");  // equal records are compared
  const std::vector<std::string> both = {path_, folder_ / "other.fatctx"};
  EXPECT_TRUE(is_absent(merge_containers(both, out, {})));
  ASSERT_TRUE(is_ok(make_keys(folder_ / "key")));
  const auto signed_one = sign_container(path_, folder_ / "key.key", out);
  ASSERT_TRUE(is_absent(signed_one));
  EXPECT_THAT(to_text(signed_one.error()), HasSubstr(kV4));
  EXPECT_FALSE(std::filesystem::exists(out));

  // Without the record that is not present, nothing is missing.
  RewriteOptions without;
  without.keep.emplace();
  const Container partial = open();
  const auto records = partial.records().value();
  for (const RecordInfo& record : records) {
    if (record.name != kV4) without.keep->push_back(record.id);
  }
  ASSERT_TRUE(is_ok(rewrite_container(path_, out, without)));
  EXPECT_THAT(verify_file(out).value().findings, IsEmpty());

  Appender appender = Appender::open(path_).value();
  PackRecord added;
  added.type = RecordType::kOpaque;
  added.name = "added";
  added.source.bytes = testing::pattern(90'000, 99);
  ASSERT_TRUE(is_ok(appender.add(std::move(added))));
  ASSERT_TRUE(is_ok(appender.commit()));
  EXPECT_TRUE(is_ok(open().acquire("added")));
  EXPECT_TRUE(is_absent(open().acquire(kV4))) << "and it stays what it was";
}

TEST_F(Presence, ASignatureHoldsOverAPartialFile) {
  const KeyFiles keys = make_keys(folder_ / "key").value();
  ASSERT_TRUE(is_ok(sign_container(path_, folder_ / "key.key", path_)));
  const OpenOptions trusted{.trusted_keys = {keys.public_key}};
  lose({place_of(kV2), place_of(kV4)});
  const Container container = open(trusted);
  EXPECT_TRUE(container.report().value().signature_verified);
  EXPECT_TRUE(is_ok(container.acquire(kV3)));
  EXPECT_TRUE(is_ok(container.acquire("weights")));
  EXPECT_TRUE(is_absent(container.acquire(kV4)));

  // Its SHA-256 leaves are needed by readers with a key, and by them only.
  const std::vector<FileExtent> extents = file_extents(container).value();
  const auto leaves = std::find_if(extents.begin(), extents.end(),
                                   [](const FileExtent& extent) { return extent.kind == "sha256 leaves"; });
  ASSERT_NE(leaves, extents.end());
  lose({leaves->range});
  EXPECT_TRUE(is_absent(open(trusted).acquire("weights")));
  EXPECT_TRUE(is_ok(open().acquire("weights")));
  const std::uint32_t id = open().find("weights").value().id;
  EXPECT_THAT(find_absent(open(), id, {.read_payload = true}).value(), IsEmpty());
  EXPECT_EQ(find_absent(open(trusted), id, {.read_payload = true}).value().size(), 1U);
}

TEST_F(Presence, ProgressCountsThePayloadAndMayStop) {
  lose({place_of(kV4)});
  std::uint64_t last = 0;
  std::uint64_t all = 0;
  const auto told = [&](std::uint64_t done, std::uint64_t total) {
    EXPECT_GE(done, last);
    last = done;
    all = total;
  };
  ASSERT_TRUE(is_ok(find_absent(open(), {.read_payload = true, .progress = told})));
  EXPECT_EQ(last, all);
  EXPECT_GT(all, testing::kWeightsSize);
}

}  // namespace presence_test
}  // namespace fatctx
