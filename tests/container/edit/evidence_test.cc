// Notes of evidence: the permitted notes, their place in the file, and their survival when files are rewritten.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "container/edit/evidence.h"
#include "container/read/opened_file.h"
#include "container/read/read_description.h"
#include "fatctx/appender.h"
#include "fatctx/rewrite.h"
#include "support/appended.h"
#include "support/result_matchers.h"

namespace fatctx::container {
namespace evidence_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const EvidenceNote kNote = {"Galaxy S24", "qnn-net-run 2.51", "latency_ms", "3.1", "2026-11-22"};

std::vector<EvidenceNote> notes_of(const std::string& path, const std::string& record) {
  const Opened opened(support::read_file(path));
  const std::uint32_t id = opened.record(record).id;
  const ContainerDescription description = read_description(opened.file, opened.toc.toc).value();
  for (const RecordDescription& said : description.records) {
    if (said.record_id == id) return said.notes;
  }
  return {};
}

class Evidence : public ::testing::Test {
 protected:
  Evidence() { support::write_file(path_, support::unsealed_sample()); }
  Result<AppendReport> note(const std::string& record, const EvidenceNote& note) const {
    FATCTX_ASSIGN(Appender appender, Appender::open(path_));
    FATCTX_TRY(appender.note(record, note));
    return appender.commit();
  }

  support::TempDir folder_;
  std::string path_ = folder_.file("m.fatctx");
};

TEST_F(Evidence, IsNotedWithoutTouchingAnythingElse) {
  const Bytes before = support::read_file(path_);
  const Opened old(before);

  const auto report = note("cpu-x86-64-v3", kNote);
  ASSERT_TRUE(is_ok(report));
  EvidenceNote second = kNote;
  second.value = "2.9";
  ASSERT_TRUE(is_ok(note("cpu-x86-64-v3", second)));
  ASSERT_TRUE(is_ok(note("weights", kNote)));

  EXPECT_EQ(report.value().generation, 2U);
  ASSERT_EQ(report.value().records.size(), 1U) << "nothing but a new description";
  EXPECT_EQ(report.value().records[0].name, "description");
  EXPECT_THAT(notes_of(path_, "cpu-x86-64-v3"), ElementsAre(kNote, second));
  EXPECT_THAT(notes_of(path_, "weights"), ElementsAre(kNote));
  EXPECT_THAT(notes_of(path_, "cpu-x86-64-v2"), IsEmpty());
  const Bytes after = support::read_file(path_);
  const Opened now(after);
  EXPECT_EQ(now.toc.toc.records.size(), old.toc.toc.records.size());
  EXPECT_EQ(now.record("cpu-x86-64-v3").file_offset, old.record("cpu-x86-64-v3").file_offset);
  EXPECT_TRUE(verify_container(now.file, {}).value().findings.empty());
}

TEST_F(Evidence, TheSameNoteIsThereAndNothingIsWritten) {
  ASSERT_TRUE(is_ok(note("weights", kNote)));
  const Bytes before = support::read_file(path_);

  const auto again = note("weights", kNote);

  ASSERT_TRUE(fails_with(again, ErrorCode::kExists));
  EXPECT_THAT(again.error().message, HasSubstr("\"weights\": the note of 2026-11-22 with latency_ms on Galaxy S24"));
  EXPECT_TRUE(support::read_file(path_) == before);
}

TEST_F(Evidence, EveryDigitMayStandInADate) {
  for (const char* day : {"2019-09-29", "2034-08-30", "1567-12-01"}) {
    EvidenceNote good = kNote;
    good.date = day;
    EXPECT_TRUE(is_ok(note("weights", good))) << day;
  }
}

TEST_F(Evidence, WhatIsNoNoteIsRefusedByName) {
  const auto with = [&](std::string EvidenceNote::*field, std::string text) {
    EvidenceNote wrong = kNote;
    wrong.*field = std::move(text);
    const auto result = note("weights", wrong);
    EXPECT_TRUE(fails_with(result, ErrorCode::kInvalidArgument));
    return result.ok() ? std::string() : result.error().message;
  };
  EXPECT_THAT(with(&EvidenceNote::device, ""), HasSubstr("the device of the note is missing"));
  EXPECT_THAT(with(&EvidenceNote::metric, ""), HasSubstr("the metric of the note is missing"));
  EXPECT_THAT(with(&EvidenceNote::value, "a\nb"), HasSubstr("the value"));
  EXPECT_THAT(with(&EvidenceNote::tool, std::string(256, 't')), HasSubstr("the tool"));
  for (const char* day :
       {"2026-02-29", "2026-13-01", "2026-1-1", "22.11.2026", "2026-11-22T", "2026-1/-22", "2026-11-0:"}) {
    EXPECT_THAT(with(&EvidenceNote::date, day), HasSubstr(day));
  }
  EXPECT_THAT(with(&EvidenceNote::date, ""), HasSubstr("the date of the note is missing"));
  EXPECT_TRUE(fails_with(note("nobody", kNote), ErrorCode::kNotFound));
  EXPECT_TRUE(support::read_file(path_) == support::unsealed_sample());
}

TEST_F(Evidence, ARecordThatIsReplacedMeanwhileIsNotNotedOn) {
  Appender appender = Appender::open(path_, {.replace = true}).value();
  PackRecord newer = support::binary_record("cpu-x86-64-v3", "x86-64-v3", support::pattern(800, 9));
  newer.weights = {"weights"};
  ASSERT_TRUE(is_ok(appender.add(std::move(newer))));
  ASSERT_TRUE(is_ok(appender.note("cpu-x86-64-v3", kNote)));

  EXPECT_TRUE(fails_with(appender.commit(), ErrorCode::kBadReference));
}

TEST_F(Evidence, StaysWhenTheFileIsWrittenAnewAndMerged) {
  const std::string other = folder_.file("other.fatctx");
  support::write_file(other, support::unsealed_sample());
  ASSERT_TRUE(is_ok(note("weights", kNote)));
  const std::string compacted = folder_.file("compacted.fatctx");
  const std::string merged = folder_.file("merged.fatctx");

  ASSERT_TRUE(is_ok(rewrite_container(path_, compacted)));
  ASSERT_TRUE(is_ok(merge_containers(std::vector<std::string>{other, path_}, merged)));

  EXPECT_THAT(notes_of(compacted, "weights"), ElementsAre(kNote));
  EXPECT_THAT(notes_of(merged, "weights"), ElementsAre(kNote)) << "of a record that both have";
}

}  // namespace evidence_test
}  // namespace fatctx::container
