// The recorder. Shows S3.13, S3.14, S3.15.
#include "fatctx/profile.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <thread>

#include "fatctx/container.h"
#include "fatctx/model.h"
#include "runtime/large_model.h"
#include "support/child_process.h"

namespace fatctx {
namespace profile_test {

using Kind = ProfileEventKind;

class ProfileOfALoad : public ::testing::Test {
 protected:
  void SetUp() override { testing::pack_small_model(path_); }
  void TearDown() override { start_profile({.level = ProfileLevel::kOff}); }

  // Does everything that can be recorded, once.
  void load() const {
    const Model model = Model::open(path_, {.device = testing::cpu("x86-64-v3")}).value();
    const Session session = model.begin_session().value();
    ASSERT_TRUE(session.prefetch().ok());
    ASSERT_TRUE(session.release().ok());
    ASSERT_FALSE(model.container()->acquire(99).ok());
  }
  static std::map<Kind, ProfileTotal> by_kind(const Profile& profile) {
    std::map<Kind, ProfileTotal> totals;
    for (const ProfileTotal& total : profile.totals) totals[total.kind] = total;
    return totals;
  }

  const testing::Folder folder_;
#ifdef _WIN32
  const std::string path_ = folder_ / "m, small.fatctx";  // no name has quotes there
#else
  const std::string path_ = folder_ / "m, \"small\".fatctx";
#endif
};

TEST_F(ProfileOfALoad, IsOffUntilItIsSwitchedOn) {
  load();

  const Profile profile = current_profile();

  EXPECT_EQ(profile.level, ProfileLevel::kOff);
  EXPECT_TRUE(profile.totals.empty());
  EXPECT_TRUE(profile.events.empty());
}

TEST_F(ProfileOfALoad, BasicHasTotalsForEachKind) {
  start_profile();

  load();

  const Profile profile = stop_profile();
  EXPECT_EQ(profile.level, ProfileLevel::kBasic);
  EXPECT_TRUE(profile.events.empty());
  auto totals = by_kind(profile);
  EXPECT_EQ(totals.size(), kProfileEventKinds);
  EXPECT_EQ(totals[Kind::kOpen].count, 1U);
  EXPECT_EQ(totals[Kind::kMap].count, 1U);
  EXPECT_EQ(totals[Kind::kMap].bytes, totals[Kind::kOpen].bytes);
  EXPECT_EQ(totals[Kind::kVerify].count, 2U);
  EXPECT_EQ(totals[Kind::kVerify].bytes, testing::kWeightsSize + testing::kBinarySize);
  EXPECT_EQ(totals[Kind::kSelect].count, 1U);
  EXPECT_EQ(totals[Kind::kAcquire].count, 3U);
  EXPECT_EQ(totals[Kind::kAcquire].failed, 1U);
  EXPECT_EQ(totals[Kind::kAcquire].bytes, testing::kWeightsSize + testing::kBinarySize);
  EXPECT_EQ(totals[Kind::kPrefetch].bytes, testing::kWeightsSize + testing::kBinarySize);
  EXPECT_EQ(totals[Kind::kRelease].count, 2U);
  EXPECT_EQ(totals[Kind::kUnmap].bytes, totals[Kind::kMap].bytes);
  for (const auto& [kind, total] : totals) {
    EXPECT_GT(total.total_ns, 0U) << profile_event_name(kind);
    EXPECT_GE(total.total_ns, total.longest_ns);
  }
  EXPECT_GE(totals[Kind::kOpen].total_ns, totals[Kind::kMap].total_ns) << "mapping is a part of opening";
  EXPECT_GE(totals[Kind::kAcquire].total_ns, totals[Kind::kVerify].total_ns);
}

TEST_F(ProfileOfALoad, DetailedHasEveryEventWithItsRecord) {
  start_profile({.level = ProfileLevel::kDetailed});

  load();
  std::thread([&] { ASSERT_TRUE(Container::open(path_).ok()); }).join();

  const Profile profile = stop_profile();
  const auto first_of = [&](Kind kind) {
    return std::find_if(profile.events.begin(), profile.events.end(),
                        [&](const ProfileEvent& event) { return event.kind == kind; });
  };
  ASSERT_NE(first_of(Kind::kVerify), profile.events.end());
  EXPECT_EQ(first_of(Kind::kVerify)->record, "small.x86-64-v3");
  EXPECT_EQ(first_of(Kind::kVerify)->record_id, 3U);
  EXPECT_EQ(first_of(Kind::kVerify)->path, path_);
  EXPECT_EQ(first_of(Kind::kVerify)->bytes, testing::kBinarySize);
  EXPECT_EQ(first_of(Kind::kOpen)->record_id, 0U);
  EXPECT_LE(first_of(Kind::kOpen)->start_ns, first_of(Kind::kMap)->start_ns);
  EXPECT_NE(profile.events.front().thread, profile.events.back().thread);
  EXPECT_EQ(std::count_if(profile.events.begin(), profile.events.end(), [](const auto& event) { return !event.ok; }),
            1);
}

TEST_F(ProfileOfALoad, ASecondSessionVerifiesNothing) {
  const Model model = Model::open(path_, {.device = testing::cpu("x86-64-v3")}).value();
  const Session first = model.begin_session().value();
  start_profile();

  const Session second = model.begin_session().value();

  const Profile profile = stop_profile();
  const auto totals = by_kind(profile);
  EXPECT_FALSE(totals.contains(Kind::kVerify));
  EXPECT_EQ(totals.at(Kind::kAcquire).count, 2U);
}

TEST_F(ProfileOfALoad, HasTheCheckOfOneTensorWithItsRecordAndItsBytes) {
  const Container container = Container::open(path_).value();
  const std::uint32_t weights = container.find("weights").value().id;
  start_profile({.level = ProfileLevel::kDetailed});

  ASSERT_TRUE(container.tensor(weights, "layer/1").ok());

  const Profile profile = stop_profile();
  const auto check = std::ranges::find(profile.events, Kind::kVerify, &ProfileEvent::kind);
  ASSERT_NE(check, profile.events.end());
  EXPECT_TRUE(check->ok);
  EXPECT_EQ(check->record_id, weights);
  EXPECT_EQ(check->record, "weights");
  EXPECT_EQ(check->bytes, 120'000U);
}

TEST_F(ProfileOfALoad, CsvOfTotalsHasALineForEachKind) {
  start_profile();
  load();

  const std::string csv = stop_profile().csv();

  EXPECT_TRUE(csv.starts_with("event,count,failed,total_ns,longest_ns,bytes\nopen,1,0,"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + static_cast<long>(kProfileEventKinds));
  EXPECT_NE(csv.find("\nacquire,3,1,"), std::string::npos);
}

TEST_F(ProfileOfALoad, CsvOfEventsQuotesWhatWouldEndACell) {
  start_profile({.level = ProfileLevel::kDetailed});
  load();

  const Profile profile = stop_profile();
  const std::string csv = profile.csv();

  EXPECT_TRUE(csv.starts_with("start_ns,event,duration_ns,bytes,thread,ok,path,record_id,record\n"));
  EXPECT_EQ(std::count(csv.begin(), csv.end(), '\n'), 1 + static_cast<long>(profile.events.size()));
  EXPECT_NE(csv.find("m, \"\"small\"\".fatctx\",3,small.x86-64-v3\n"), std::string::npos) << csv;
  EXPECT_NE(csv.find("m, \"\"small\"\".fatctx\",,\n"), std::string::npos) << "an event about no single record";
}

TEST_F(ProfileOfALoad, KeepsAtMostTheEventsAskedForAndCountsTheRest) {
  start_profile({.level = ProfileLevel::kDetailed, .max_events = 2});

  load();

  const Profile profile = stop_profile();
  EXPECT_EQ(profile.events.size(), 2U);
  std::uint64_t all = 0;
  for (const ProfileTotal& total : profile.totals) all += total.count;
  EXPECT_EQ(profile.dropped_events, all - 2);
}

TEST_F(ProfileOfALoad, AHookIsCalledForEachEventAndMayUseTheLibrary) {
  std::vector<ProfileEvent> seen;
  start_profile({.hook = [&](const ProfileEvent& event) {
    seen.push_back(event);
    EXPECT_TRUE(Container::open(path_).ok()) << "a call from inside is not recorded, or this would never end";
    EXPECT_GE(current_profile().totals.size(), 1U) << "no lock is held";
  }});

  ASSERT_TRUE(Container::open(path_).ok());

  const Profile profile = stop_profile();
  std::uint64_t all = 0;
  for (const ProfileTotal& total : profile.totals) all += total.count;
  EXPECT_EQ(seen.size(), all);
  EXPECT_EQ(seen.front().kind, Kind::kMap);
  ASSERT_TRUE(Container::open(path_).ok());
  EXPECT_EQ(seen.size(), all) << "stopped";
}

TEST_F(ProfileOfALoad, StartsAnewEachTime) {
  start_profile();
  load();
  start_profile();

  ASSERT_TRUE(Container::open(path_).ok());

  EXPECT_EQ(by_kind(stop_profile()).at(Kind::kOpen).count, 1U);
}

TEST_F(ProfileOfALoad, GoesOnInAForkedChild) {
  start_profile();

  const int result = support::in_child([&] {
    if (!Container::open(path_).ok()) return 1;
    return by_kind(stop_profile()).at(Kind::kOpen).count == 1 ? 0 : 2;
  });

  EXPECT_EQ(result, 0);
}

TEST(ProfileNames, GoBothWays) {
  for (const ProfileLevel level : {ProfileLevel::kOff, ProfileLevel::kBasic, ProfileLevel::kDetailed}) {
    EXPECT_EQ(profile_level_from_name(profile_level_name(level)), level);
  }
  EXPECT_EQ(profile_level_from_name("Basic"), std::nullopt);
  EXPECT_EQ(profile_event_name(Kind::kUnmap), "unmap");
}

}  // namespace profile_test
}  // namespace fatctx
