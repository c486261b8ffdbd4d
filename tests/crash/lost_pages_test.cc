// A disk that loses the page around every sector that it writes. An append and a repair start from files with every
// combination of bad copies in the header. At each of their steps, all pages with a sector in flight are lost at once.
// The file then opens as the old or the new generation. Syncs fail too: the disk has then lost these pages, reads show
// the written bytes, and another append or repair goes on from there.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "container/edit/append.h"
#include "container/edit/repair.h"
#include "crash/both_forms.h"
#include "crash/oracle.h"
#include "support/result_matchers.h"

namespace fatctx::crash {
namespace lost_pages_test {

using container::kSectorSize;

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kPaddingInPage = 0x700;  // behind each sector that begins a page, and before the slot behind it
constexpr unsigned kSectors = 6;                 // two prologues, four slots
constexpr unsigned kPadding = 1U << kSectors;    // the bit that stands for padding in every page with a sector
constexpr unsigned kCombinations = kPadding << 1U;

enum class Operation { kAppend, kRepair };

std::vector<std::uint64_t> sectors_of(const container::HeaderForm& form) {
  std::vector<std::uint64_t> sectors(form.prologues.begin(), form.prologues.end());
  sectors.insert(sectors.end(), form.slots.begin(), form.slots.end());
  return sectors;
}

Bytes damaged(Bytes file, const container::HeaderForm& form, unsigned combination) {
  const std::vector<std::uint64_t> sectors = sectors_of(form);
  for (std::size_t i = 0; i < sectors.size(); ++i) {
    if ((combination >> i & 1U) != 0) {
      std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(sectors[i]), kSectorSize, std::byte{0x5a});
    }
    const std::uint64_t page = sectors[i] / kPage * kPage;
    if ((combination & kPadding) != 0) file[static_cast<std::size_t>(page + kPaddingInPage)] = std::byte{0x5a};
  }
  return file;
}

// The content of the disk and that of the page cache, and the generation that must stay.
struct State {
  Bytes disk;
  Bytes cache;
  std::uint64_t acknowledged = 0;
};

struct Counts {
  std::uint64_t states = 0;
  std::uint64_t second = 0;  // of these, in an operation after a failed sync
};

class Disk {
 public:
  explicit Disk(const container::HeaderForm& form) : form_(form) {}

  // Runs an operation and loses the pages of each step. `failing_sync`: 0 if none fails. Returns the state behind a
  // failed sync; nothing if no sync failed.
  std::optional<State> run(const State& start, Operation operation, std::uint64_t failing_sync) {
    State after = start;
    std::vector<Call> log;
    Status done = Done{};
    auto file = std::make_unique<RecordingFile>(after.cache, log, failing_sync);
    if (operation == Operation::kRepair) {
      const auto report = container::repair_file(*file, "file", {.threads = 1});
      if (!report.ok()) done = report.error();
    } else {
      done = append_with(std::move(file));
    }
    const bool failed =
        std::any_of(log.begin(), log.end(), [](const Call& call) { return call.kind == Call::Kind::kFailedSync; });
    EXPECT_TRUE(failed || support::is_ok(done));
    std::set<std::uint64_t> in_flight;
    for (const Call& call : log) {
      if (call.kind == Call::Kind::kWrite) {
        write(after.disk, call);
        in_flight.insert(call.offset / kPage);
        look(after.disk, in_flight, start.acknowledged);
      } else if (call.kind == Call::Kind::kSync) {
        in_flight.clear();
      } else {
        break;
      }
    }
    if (!failed) {
      EXPECT_EQ(generation_of(after.disk), generation_of(after.cache));
      return std::nullopt;
    }
    after.disk = without(after.disk, in_flight);
    return after;
  }

  std::uint64_t states = 0;

 private:
  Status append_with(std::unique_ptr<RecordingFile> file) {
    FATCTX_ASSIGN(Appender appender, appender_over(std::move(file), "file", {}));
    const std::string number = std::to_string(++appends_);
    PackRecord record = support::binary_record("new " + number, "arch " + number, support::pattern(3'000, 5));
    record.key.features = {"replaced"};
    FATCTX_TRY(appender.add(std::move(record)));
    return appender.commit().ok() ? Status(Done{}) : Status(Error{ErrorCode::kIo, "the append failed"});
  }

  static void write(Bytes& disk, const Call& call) {
    if (disk.size() < call.offset + call.bytes.size()) {
      disk.resize(static_cast<std::size_t>(call.offset + call.bytes.size()));
    }
    std::copy(call.bytes.begin(), call.bytes.end(), disk.begin() + static_cast<std::ptrdiff_t>(call.offset));
  }

  [[nodiscard]] Bytes without(Bytes disk, const std::set<std::uint64_t>& pages) const {
    for (const std::uint64_t page : pages) {
      if (page * kPage >= form_.size) continue;  // payload and tables: append_crash_test
      std::fill_n(disk.begin() + static_cast<std::ptrdiff_t>(page * kPage), kPage, std::byte{0xa5});
    }
    return disk;
  }

  void look(const Bytes& disk, const std::set<std::uint64_t>& in_flight, std::uint64_t acknowledged) {
    ++states;
    const Bytes crashed = without(disk, in_flight);
    const auto toc = opened(crashed, crashed.size());
    ASSERT_TRUE(support::is_ok(toc));
    EXPECT_GE(toc.value().header.generation, acknowledged);
  }

  container::HeaderForm form_;
  std::uint64_t appends_ = 0;
};

Bytes appended_to(const Bytes& first) {
  Bytes file = first;
  std::vector<Call> log;
  Appender appender = appender_over(std::make_unique<RecordingFile>(file, log), "file", {}).value();
  EXPECT_TRUE(support::is_ok(appender.add(support::binary_record("second", "arch", support::pattern(500, 4)))));
  EXPECT_TRUE(support::is_ok(appender.commit()));
  return file;
}

// Every operation, alone and after each failed sync of another one. Pair A is the present one in the first file, pair B
// in the second.
Counts lose_pages(const FormSample& sample) {
  Counts counts;
  Disk disk(sample.form);
  for (const Bytes& whole : {sample.first, appended_to(sample.first)}) {
    const std::uint64_t generation = generation_of(whole);
    for (unsigned combination = 0; combination < kCombinations; ++combination) {
      const Bytes file = damaged(whole, sample.form, combination);
      const auto toc = opened(file, file.size());
      if (!toc.ok() || toc.value().header.generation != generation) continue;  // more is lost than the format survives
      for (const Operation operation : {Operation::kAppend, Operation::kRepair}) {
        SCOPED_TRACE(testing::Message() << "generation " << generation << ", combination " << combination
                                        << (operation == Operation::kAppend ? ", append" : ", repair"));
        const State start{file, file, generation};
        EXPECT_FALSE(disk.run(start, operation, 0));
        for (std::uint64_t failing_sync = 1;; ++failing_sync) {
          const std::optional<State> failed = disk.run(start, operation, failing_sync);
          if (!failed) break;
          const std::uint64_t before = disk.states;
          for (const Operation second : {Operation::kAppend, Operation::kRepair}) {
            SCOPED_TRACE(testing::Message() << "sync " << failing_sync << " failed, then "
                                            << (second == Operation::kAppend ? "append" : "repair"));
            (void)disk.run(*failed, second, 0);
          }
          counts.second += disk.states - before;
          if (testing::Test::HasFailure()) return counts;
        }
      }
    }
  }
  counts.states = disk.states;
  return counts;
}

TEST(LostPages, AroundSectorsInFlightLeaveTheOldOrTheNewGeneration) {
  for (const FormSample& sample : samples()) {
    SCOPED_TRACE(name_of_form(sample.extent_log2));
    const Counts counts = lose_pages(sample);
    if (HasFailure()) return;
    EXPECT_GT(counts.states, 10'000U);
    EXPECT_GT(counts.second, counts.states / 2);
    std::printf("%llu crash states with lost pages, %llu of them after a failed sync\n",
                static_cast<unsigned long long>(counts.states), static_cast<unsigned long long>(counts.second));
  }
}

}  // namespace lost_pages_test
}  // namespace fatctx::crash
