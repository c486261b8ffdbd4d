// Appending to a file that is open: readers keep their generation, new opens get the newest.
#include "fatctx/appender.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "fatctx/container.h"
#include "fatctx/model.h"
#include "fatctx/rewrite.h"
#include "fatctx/signature.h"
#include "fatctx/trace.h"
#include "support/child_process.h"
#include "support/opened.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx {
namespace append_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

class AppendToOpenFile : public ::testing::Test {
 protected:
  AppendToOpenFile() { support::write_file(path_, support::unsealed_sample()); }

  [[nodiscard]] Result<AppendReport> append(const std::string& name, const AppendOptions& options = {}) const {
    PackRecord record = support::binary_record(name, name, support::pattern(3'000, 42));
    record.weights = {"weights"};
    FATCTX_ASSIGN(Appender appender, Appender::open(path_, options));
    FATCTX_TRY(appender.add(std::move(record)));
    return appender.commit();
  }
  [[nodiscard]] std::uint64_t generation_now() const {
    return support::report_of(Container::open(path_).value()).generation;
  }

  const support::TempDir folder_;
  const std::string path_ = folder_.file("m.fatctx");
};

TEST_F(AppendToOpenFile, ReadersKeepTheirGenerationAndReopenGivesTheNewOne) {
  const Container before = Container::open(path_).value();
  const RecordView view = before.acquire("weights").value();
  ASSERT_TRUE(is_ok(append("new")));

  EXPECT_EQ(support::report_of(before).generation, 1U);
  EXPECT_TRUE(fails_with(before.find("new"), ErrorCode::kNotFound));
  EXPECT_TRUE(is_ok(before.check()));
  EXPECT_TRUE(is_ok(before.acquire("cpu-aarch64")));

  const Container after = before.reopen().value();
  EXPECT_EQ(support::report_of(after).generation, 2U);
  EXPECT_TRUE(is_ok(after.acquire("new")));
  const RecordView same = after.acquire("weights").value();
  EXPECT_TRUE(std::ranges::equal(same.bytes(), view.bytes()));
}

TEST_F(AppendToOpenFile, WhoeverOpensGetsTheNewestAlsoWhileAnOlderOneIsAlive) {
  const Container before = Container::open(path_).value();
  ASSERT_TRUE(is_ok(append("new")));
  ASSERT_TRUE(is_ok(before.acquire("weights")));  // it has checked the changed file again and accepted it
  EXPECT_EQ(generation_now(), 2U);
  EXPECT_EQ(support::report_of(before).generation, 1U);
}

TEST_F(AppendToOpenFile, AnEarlierGenerationCanBeAskedFor) {
  ASSERT_TRUE(is_ok(append("new")));
  PackRecord newer = support::binary_record("newer", "x86-64-v3", support::pattern(999, 8));
  newer.weights = {"weights"};
  {
    Appender appender = Appender::open(path_, {.replace = true}).value();
    ASSERT_TRUE(is_ok(appender.add(std::move(newer))));
    ASSERT_TRUE(is_ok(appender.commit()));
  }
  const Container newest = Container::open(path_).value();
  EXPECT_EQ(support::report_of(newest).generation, 3U);
  EXPECT_TRUE(fails_with(newest.find("cpu-x86-64-v3"), ErrorCode::kNotFound));
  for (const std::uint64_t generation : {1U, 2U, 3U}) {
    const Container one = Container::open(path_, {.generation = generation}).value();
    EXPECT_EQ(support::report_of(one).generation, generation);
    EXPECT_EQ(one.find("new").ok(), generation >= 2);
    EXPECT_EQ(one.find("cpu-x86-64-v3").ok(), generation <= 2);
    for (const RecordInfo& record : support::records_in(one)) EXPECT_TRUE(is_ok(one.acquire(record.id))) << record.name;
  }
  EXPECT_TRUE(fails_with(Container::open(path_, {.generation = 4}), ErrorCode::kNotFound));
}

TEST_F(AppendToOpenFile, TheReportTellsWhatIsThereAndWhatIsDead) {
  const OpenReport packed = support::report_of(Container::open(path_).value());
  EXPECT_EQ(packed.newest_generation, 1U);
  EXPECT_TRUE(packed.earlier_generations.empty());
  EXPECT_EQ(packed.dead_bytes, 0U);
  const AppendReport second = append("new").value();
  const AppendReport third = append("x86-64-v3", {.replace = true}).value();

  const OpenReport newest = support::report_of(Container::open(path_).value());
  const std::vector<GenerationInfo> earlier = {{1, packed.committed_end}, {2, second.file_size}};
  EXPECT_EQ(newest.earlier_generations, earlier);
  EXPECT_EQ(newest.newest_generation, 3U);
  EXPECT_EQ(newest.dead_bytes, third.dead_bytes);
  EXPECT_GT(newest.dead_bytes, second.dead_bytes);
  const OpenReport middle = support::report_of(Container::open(path_, {.generation = 2}).value());
  EXPECT_EQ(middle.newest_generation, 3U);
  EXPECT_EQ(middle.earlier_generations, std::vector<GenerationInfo>(earlier.begin(), earlier.begin() + 1));
  EXPECT_EQ(middle.dead_bytes, second.dead_bytes);
  EXPECT_EQ(middle.file_size, second.file_size);
  EXPECT_EQ(middle.tail_bytes, 0U);
  const auto missing = Container::open(path_, {.generation = 9});
  ASSERT_TRUE(fails_with(missing, ErrorCode::kNotFound));
  EXPECT_NE(missing.error().message.find("generation 9 is not in the file; there are 1, 2 and 3"), std::string::npos);
}

TEST_F(AppendToOpenFile, AnEarlierGenerationIsVerifiedForItself) {
  ASSERT_TRUE(is_ok(append("x86-64-v3", {.replace = true})));
  Bytes bytes = support::read_file(path_);
  const std::uint64_t replaced =
      Container::open(path_, {.generation = 1}).value().find("cpu-x86-64-v3").value().file_offset;
  bytes[static_cast<std::size_t>(replaced)] ^= std::byte{1};  // dead in the newest one
  support::write_file(path_, bytes);
  EXPECT_TRUE(Container::open(path_).value().verify().value().findings.empty());
  const VerifyReport earlier = Container::open(path_, {.generation = 1}).value().verify().value();
  ASSERT_EQ(earlier.findings.size(), 1U);
  EXPECT_EQ(earlier.findings[0].error.where.file_offset, replaced);
}

TEST_F(AppendToOpenFile, AReplayOpensTheGenerationThatWasOpened) {
  ASSERT_TRUE(is_ok(append("new")));
  std::string trace;
  set_trace([&](std::string_view line) { trace.append(line).append("\n"); });
  ASSERT_TRUE(is_ok(Container::open(path_, {.generation = 1})));
  set_trace({});
  const auto report = replay_trace(trace);
  ASSERT_TRUE(is_ok(report));
  EXPECT_EQ(report.value().calls, 1U);
  EXPECT_TRUE(report.value().differences.empty());
}

TEST_F(AppendToOpenFile, AnAppendedModelIsChosenByItsTarget) {
  ASSERT_TRUE(is_ok(append("riscv64")));
  Device device;
  device.arch = "riscv64";
  const Model model = Model::open(path_, {.device = device}).value();
  const Session session = model.begin_session().value();
  const RecordView binary = session.binary("main").value();
  EXPECT_TRUE(std::ranges::equal(binary.bytes(), support::pattern(3'000, 42)));
  EXPECT_EQ(session.weights().size(), 1U);
}

TEST_F(AppendToOpenFile, AChildCannotAppendWithItsParentsAppender) {
  Appender appender = Appender::open(path_).value();
  ASSERT_TRUE(is_ok(appender.add(support::binary_record("a", "a", support::pattern(10, 1)))));
  const int in_child = support::in_child([&] {
    const auto report = appender.commit();
    return !report.ok() && report.error().code == ErrorCode::kOperationNotPermitted ? 0 : 1;
  });
  EXPECT_EQ(in_child, 0);
  EXPECT_TRUE(is_ok(appender.commit()));
}

TEST_F(AppendToOpenFile, OneAppenderAtATime) {
  const auto first = Appender::open(path_);
  ASSERT_TRUE(is_ok(first));
  EXPECT_TRUE(fails_with(Appender::open(path_), ErrorCode::kLocked));
}

TEST_F(AppendToOpenFile, AnAppenderIsSpentAfterItsCommit) {
  Appender appender = Appender::open(path_).value();
  EXPECT_TRUE(fails_with(appender.commit(), ErrorCode::kInvalidArgument));
  EXPECT_TRUE(fails_with(appender.commit(), ErrorCode::kOperationNotPermitted));
  EXPECT_TRUE(fails_with(appender.add(support::binary_record("a", "a", {})), ErrorCode::kOperationNotPermitted));
}

TEST_F(AppendToOpenFile, ASealedFileSaysHowToGetOneThatIsNot) {
  const std::string sealed = folder_.file("sealed.fatctx");
  support::write_file(sealed, support::sealed_sample());
  const auto refused = Appender::open(sealed);
  ASSERT_TRUE(fails_with(refused, ErrorCode::kOperationNotPermitted));
  EXPECT_NE(refused.error().message.find("fatctx compact"), std::string::npos);
}

TEST_F(AppendToOpenFile, GenerationsOnlyGrowForThoseWhoOpenMeanwhile) {
  std::atomic<bool> done = false;
  std::atomic<int> opens = 0;
  std::vector<std::thread> readers;
  for (int i = 0; i < 3; ++i) {
    readers.emplace_back([&] {
      std::uint64_t last = 0;
      while (!done) {
        const auto container = Container::open(path_);
        ASSERT_TRUE(is_ok(container));
        const std::uint64_t generation = support::report_of(container.value()).generation;
        ASSERT_GE(generation, last);
        last = generation;
        ASSERT_TRUE(is_ok(container.value().acquire("weights")));
        ++opens;
      }
    });
  }
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(is_ok(append("chip" + std::to_string(i))));
  done = true;
  for (std::thread& reader : readers) reader.join();
  EXPECT_GT(opens, 0);
  EXPECT_EQ(generation_now(), 41U);
}

TEST_F(AppendToOpenFile, AnAppendToAFileThatLosesItsNameIsNotAcknowledged) {
  for (const bool replaced : {true, false}) {
    support::write_file(path_, support::unsealed_sample());
    Appender appender = Appender::open(path_).value();
    ASSERT_TRUE(is_ok(appender.add(support::binary_record("a", "a", support::pattern(10, 1)))));
    ASSERT_TRUE(is_ok(Container::open(path_)));
    std::filesystem::remove(path_);
    if (replaced) support::write_file(path_, support::sealed_sample());

    const auto report = appender.commit();

    ASSERT_TRUE(fails_with(report, ErrorCode::kChanged)) << replaced;
    EXPECT_NE(report.error().message.find(path_ + ": another file took its place"), std::string::npos)
        << report.error().message;
    if (replaced) {
      EXPECT_EQ(support::read_file(path_), support::sealed_sample());
    }
  }
}

TEST_F(AppendToOpenFile, ANameIsThatOfTheFolderItWasOpenedIn) {
  const int in_child = support::in_child([&] {
    std::filesystem::current_path(folder_.path());
    auto appender = Appender::open("m.fatctx");
    if (!appender.ok() || !appender.value().add(support::binary_record("a", "a", support::pattern(10, 1))).ok())
      return 1;
    std::filesystem::current_path("/");
    return appender.value().commit().ok() ? 0 : 2;
  });
  EXPECT_EQ(in_child, 0);
  EXPECT_EQ(generation_now(), 2U);
}

TEST_F(AppendToOpenFile, NoCommandTakesItsPlaceMeanwhile) {
  const std::string other = folder_.file("other.fatctx");
  support::write_file(other, support::sealed_sample());
  const KeyFiles keys = make_keys(folder_.file("key")).value();
  const auto expect_locked = [&](auto&& replace, const char* name) {
    {
      Appender appender = Appender::open(path_).value();
      ASSERT_TRUE(is_ok(appender.add(support::binary_record(name, name, support::pattern(10, 1)))));
      EXPECT_TRUE(fails_with(replace(), ErrorCode::kLocked)) << name;
      const int in_child = support::in_child([&] {
        const auto report = replace();
        return !report.ok() && report.error().code == ErrorCode::kLocked ? 0 : 1;
      });
      EXPECT_EQ(in_child, 0) << name;
      ASSERT_TRUE(is_ok(appender.commit())) << name;
    }
    EXPECT_TRUE(is_ok(Container::open(path_).value().find(name))) << "what was acknowledged is there";
    EXPECT_TRUE(is_ok(replace())) << name;
  };
  PackOptions pack;
  pack.overwrite = true;
  expect_locked([&] { return support::pack(support::cpu_records(), path_, pack); }, "pack");
  expect_locked([&] { return rewrite_container(other, path_, {.seal = false, .overwrite = true}); }, "compact");
  expect_locked([&] { return merge_containers(std::vector{path_, other}, path_, {.overwrite = true}); }, "merge");
  expect_locked([&] { return sign_container(other, keys.secret_path, path_, {.overwrite = true}); }, "sign");
}

}  // namespace append_test
}  // namespace fatctx
