// An append that takes back records of an earlier one, and an appender after its commit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "container/check/verify.h"
#include "container/edit/append.h"
#include "container/read/opened_file.h"
#include "support/appended.h"
#include "support/result_matchers.h"

namespace fatctx::container {
namespace leave_out_test {

using support::Appended;
using support::Bytes;
using support::fails_with;
using support::is_ok;
using ::testing::HasSubstr;

// Appends with whatever `prepare` asks of the appender.
Appended append(Bytes file, const std::function<Status(Appender&)>& prepare) {
  auto memory = std::make_unique<support::MemoryFile>(std::move(file));
  support::MemoryFile& kept = *memory;
  Appender appender = appender_over(std::move(memory), "m.fatctx", {}).value();
  auto prepared = prepare(appender);
  if (!prepared.ok()) return {std::move(prepared).error(), kept.bytes()};
  auto report = appender.commit();
  return {std::move(report), kept.bytes()};
}

PackRecord extra() { return support::plain_record(RecordType::kOpaque, "extra", support::pattern(70'000, 91)); }

TEST(LeaveOut, TheRecordIsGoneAndItsBytesAreDead) {
  const Appended with = support::append(support::unsealed_sample(), {extra()});
  ASSERT_TRUE(is_ok(with.report));
  const std::uint32_t id = Opened(with.bytes).record("extra").id;

  const Appended without = append(with.bytes, [&](Appender& appender) { return leave_out(appender, id, "extra"); });

  ASSERT_TRUE(is_ok(without.report));
  EXPECT_EQ(without.report.value().generation, 3U);
  EXPECT_GE(without.report.value().dead_bytes, 70'000U);
  const Opened now(without.bytes);
  EXPECT_EQ(now.toc.toc.find(id), nullptr);
  EXPECT_EQ(now.toc.toc.records.size(), Opened(support::unsealed_sample()).toc.toc.records.size());
  EXPECT_EQ(now.bytes_of("weights").value(), support::pattern(support::kSampleWeightsSize, 11));
  EXPECT_TRUE(verify_container(now.file, {}).value().findings.empty());
}

TEST(LeaveOut, AnotherRecordOfThatIdOrNameIsNotTaken) {
  const Opened sample(support::unsealed_sample());
  const std::uint32_t id = sample.record("weights").id;
  struct Wrong {
    std::uint32_t id;
    std::string name;
  };
  for (const Wrong& wrong : {Wrong{id, "cpu-aarch64"}, Wrong{id + 90, "weights"}}) {
    const Appended refused = append(support::unsealed_sample(),
                                    [&](Appender& appender) { return leave_out(appender, wrong.id, wrong.name); });

    ASSERT_TRUE(fails_with(refused.report, ErrorCode::kNotFound));
    EXPECT_THAT(refused.report.error().message,
                HasSubstr("m.fatctx: record " + std::to_string(wrong.id) + " is not \"" + wrong.name));
    EXPECT_TRUE(refused.bytes == support::unsealed_sample());
  }
}

TEST(LeaveOut, WeightsOfARecordThatStaysAreRefused) {
  const std::uint32_t id = Opened(support::unsealed_sample()).record("weights").id;

  const Appended refused =
      append(support::unsealed_sample(), [&](Appender& appender) { return leave_out(appender, id, "weights"); });

  ASSERT_TRUE(fails_with(refused.report, ErrorCode::kBadReference, "F27"));
  EXPECT_THAT(
      refused.report.error().message,
      HasSubstr(
          "record \"cpu-aarch64\" refers to weights \"weights\", which cannot be left out under it; leave out it too"));
  EXPECT_TRUE(refused.bytes == support::unsealed_sample());
}

TEST(LeaveOut, ATensorTableGoesWithItsWeights) {
  const Opened sample(support::unsealed_sample());

  const Appended done = append(support::unsealed_sample(), [&](Appender& appender) -> Status {
    for (const char* name : {"cpu-x86-64-v2", "cpu-x86-64-v3", "cpu-x86-64-v4", "cpu-aarch64", "weights"}) {
      FATCTX_TRY(leave_out(appender, sample.record(name).id, name));
    }
    return appender.add(extra());
  });

  ASSERT_TRUE(is_ok(done.report));
  const Opened now(done.bytes);
  EXPECT_EQ(now.toc.toc.records.size(), 2U) << "the new record and the description";
  EXPECT_EQ(now.bytes_of("extra").value(), support::pattern(70'000, 91));
}

TEST(SpentAppender, TakesNothingAndCommitsNothing) {
  const Bytes before = support::unsealed_sample();
  const std::uint32_t id = Opened(before).record("cpu-aarch64").id;
  auto memory = std::make_unique<support::MemoryFile>(before);
  support::MemoryFile& kept = *memory;
  Appender appender = appender_over(std::move(memory), "m.fatctx", {}).value();
  ASSERT_TRUE(is_ok(appender.add(extra())));
  ASSERT_TRUE(is_ok(appender.commit()));
  const Bytes committed = kept.bytes();
  ASSERT_FALSE(committed == before);

  const EvidenceNote note = {"phone", "tool 1", "latency_ms", "3.1", "2026-11-22"};
  for (const Status& refused :
       {appender.add(extra()), appender.note("weights", note), leave_out(appender, id, "cpu-aarch64")}) {
    ASSERT_TRUE(fails_with(refused, ErrorCode::kOperationNotPermitted));
    EXPECT_EQ(refused.error().message, "m.fatctx: this append is over; open it again");
  }
  EXPECT_TRUE(fails_with(appender.commit(), ErrorCode::kOperationNotPermitted));
  EXPECT_TRUE(kept.bytes() == committed);
}

}  // namespace leave_out_test
}  // namespace fatctx::container
