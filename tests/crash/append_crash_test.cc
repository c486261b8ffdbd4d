// Crash states of the shipped appender, produced through the file seam. After every crash the file opens with the last
// acknowledged generation or a later one. Every byte of that generation and of the earlier ones is as written, and the
// next append works. Syncs fail too: then the disk holds any part of the written bytes, reads show all of them, and the
// next append or repair starts from there.
//
// FATCTX_CRASH_STATES is the minimum number of states (100,000), FATCTX_CRASH_SEED the random seed (1). Shows promises
// 3 and 4 of docs/testing.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <string>

#include "container/edit/append.h"
#include "container/edit/repair.h"
#include "crash/disk.h"
#include "crash/oracle.h"
#include "support/sample_container.h"

namespace fatctx::crash {
namespace append_crash_test {

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Explored {
  std::uint64_t states = 0;
  std::uint64_t newer = 0;  // states that open with a generation not acknowledged yet
  std::uint64_t degraded = 0;
  std::uint64_t lost = 0;       // states with lost pages
  std::uint64_t damaged = 0;    // states with an additional lost header page
  std::uint64_t appended = 0;   // states on which another append was tried
  std::uint64_t restored = 0;   // appends that restored a mirror first and crashed meanwhile
  std::uint64_t roots = 0;      // crashing appends, on an intact file or after other crashes
  std::uint64_t differing = 0;  // of these, on a file whose cache and disk content differ
  std::uint64_t repairs = 0;
  std::uint64_t repaired_whole = 0;  // repairs that found nothing to restore
  std::map<std::string, std::uint64_t> violations;
};

class Model {
 public:
  Model(std::uint8_t extent_log2, std::uint64_t wanted_states, std::uint64_t seed)
      : extent_log2_(extent_log2), wanted_(wanted_states), random_(seed) {}

  Explored run() {
    const Bytes first = first_file();
    std::uint32_t round = 0;
    while (explored_.states < wanted_ && explored_.violations.empty()) {
      ++round;
      oracle_ = {};
      Bytes file = first;
      note(oracle_.remember(file));
      const std::uint64_t generations = random_() % 4;
      for (std::uint64_t i = 0; i < generations; ++i) {
        file = attempt_on(file, round * 100 + static_cast<std::uint32_t>(i)).cache;
        note(oracle_.remember(file));
      }
      if (explored_.violations.empty()) attempt({file, file, 1 + generations}, round * 1'000, 0);
    }
    return explored_;
  }

 private:
  static constexpr int kDepth = 4;             // crashes and failed syncs in a row
  static constexpr std::size_t kChildren = 3;  // states of an attempt that the next attempts start from
  static constexpr std::uint64_t kPage = 4096;
  static constexpr std::uint64_t kSample = 64;  // one state in kSample is damaged further, or appended to

  [[nodiscard]] const container::HeaderForm& form() const { return container::header_form(extent_log2_); }

  [[nodiscard]] Bytes first_file() const {
    PackOptions options;
    options.extent_log2 = extent_log2_;
    return support::packed_bytes({support::plain_record(RecordType::kWeightBlob, "weights", support::pattern(9'000, 1)),
                                  support::plain_record(RecordType::kOpaque, "note", support::pattern(300, 2))},
                                 std::move(options));
  }

  // Returns records of varying size, one extent or several, so that two appends write to different places.
  [[nodiscard]] std::vector<PackRecord> new_records(std::uint32_t seed) {
    const std::size_t size = random_() % 3 == 0 ? 66'000 + random_() % 70'000 : 1'000 + random_() % 9'000;
    PackRecord record = support::binary_record("binary " + std::to_string(seed), "v" + std::to_string(seed),
                                               support::pattern(size, seed));
    record.weights = {"weights"};
    return {std::move(record)};
  }

  void note(const std::string& violation) {
    if (!violation.empty()) ++explored_.violations[violation];
  }

  // An append, or sometimes a repair, applied to the content that the page cache shows.
  struct Attempt {
    Bytes cache;  // the content afterwards
    std::vector<Call> log;
    bool failed = false;  // a sync failed, as requested
  };

  // Sync number `failing_sync` fails, counted from 1; 0 means that none fails.
  Attempt attempt_on(const Bytes& cache, std::uint32_t seed, std::uint64_t failing_sync = 0, bool repair = false) {
    Attempt attempt{cache, {}, false};
    auto file = std::make_unique<RecordingFile>(attempt.cache, attempt.log, failing_sync);
    const Status done = repair ? repair_with(*file) : append_with(std::move(file), seed);
    if (done.ok()) {
      if (!repair) attempt.log.push_back({Call::Kind::kAcknowledged, 0, {}});
      return attempt;
    }
    attempt.failed = std::any_of(attempt.log.begin(), attempt.log.end(),
                                 [](const Call& call) { return call.kind == Call::Kind::kFailedSync; });
    const ErrorCode code = done.error().code;
    const bool as_promised = code == ErrorCode::kIo || (code == ErrorCode::kCommitUnknown && !repair);
    if (!attempt.failed || !as_promised) {
      note(std::string(repair ? "a repair" : "an append") + " failed: " + to_text(done.error()));
    }
    return attempt;
  }

  Status append_with(std::unique_ptr<RecordingFile> file, std::uint32_t seed) {
    FATCTX_ASSIGN(Appender appender, appender_over(std::move(file), "file", {}));
    for (PackRecord& record : new_records(seed)) FATCTX_TRY(appender.add(std::move(record)));
    FATCTX_ASSIGN(const AppendReport report, appender.commit());
    if (!report.restored.empty()) ++explored_.restored;
    return Done{};
  }

  Status repair_with(RecordingFile& file) {
    ++explored_.repairs;
    FATCTX_ASSIGN(const RepairReport report, container::repair_file(file, "file", {.threads = 1}));
    if (report.restored.empty() && report.remaining.empty()) ++explored_.repaired_whole;
    return Done{};
  }

  // A pair of the content on the disk and the content that reads show. They differ after a failed sync until the cache
  // is emptied: the system drops the pages that it could not write, and continues to show them.
  struct State {
    Bytes disk;
    Bytes cache;
    std::uint64_t acknowledged = 0;
  };

  // Runs one append that crashes at every point, and continues with another one from some of the states.
  void attempt(const State& start, std::uint32_t seed, int depth) {
    ++explored_.roots;
    const bool differ = start.disk != start.cache;
    if (differ) ++explored_.differing;
    const std::uint64_t failing_sync = random_() % 3 == 0 ? 1 + random_() % 3 : 0;
    const bool repair = depth > 0 && random_() % 6 == 0;
    const Attempt made = attempt_on(start.cache, seed, failing_sync, repair);
    if (!explored_.violations.empty()) return;
    note(oracle_.remember_generation(made.cache));
    // Everything that the appender found on the disk must stay, acknowledged or not. Content found only in the cache
    // need not.
    std::uint64_t acknowledged = start.acknowledged;
    if (!differ) acknowledged = std::max(acknowledged, generation_of(start.disk));
    std::vector<State> next;  // states to continue from
    Epoch epoch{start.disk, {}};
    for (const Call& call : made.log) {
      if (call.kind == Call::Kind::kWrite) {
        epoch.writes.push_back(call);
        continue;
      }
      if (call.kind == Call::Kind::kAcknowledged) acknowledged = generation_of(made.cache);
      explore(epoch, acknowledged, depth, call.kind == Call::Kind::kFailedSync ? &made.cache : nullptr, next);
      if (call.kind == Call::Kind::kSync) epoch = {after(epoch), {}};
    }
    if (depth + 1 == kDepth || !explored_.violations.empty()) return;
    std::shuffle(next.begin(), next.end(), random_);
    // States whose cache differs are rare, and they are the subject of this test.
    std::stable_partition(next.begin(), next.end(), [](const State& state) { return state.disk != state.cache; });
    next.resize(std::min(next.size(), kChildren));
    std::uint32_t child = seed * 4 + 1;
    for (const State& state : next) attempt(state, child++, depth + 1);
  }

  static Bytes after(Epoch& epoch) {
    Bytes durable = std::move(epoch.durable);
    for (const Call& write : epoch.writes) {
      if (durable.size() < write.offset + write.bytes.size()) {
        durable.resize(static_cast<std::size_t>(write.offset + write.bytes.size()));
      }
      std::copy(write.bytes.begin(), write.bytes.end(), durable.begin() + static_cast<std::ptrdiff_t>(write.offset));
    }
    return durable;
  }

  // `failed`: the content that the cache shows after a failed sync ended the epoch; null if no sync failed.
  void explore(const Epoch& epoch, std::uint64_t acknowledged, int depth, const Bytes* failed,
               std::vector<State>& next) {
    Crashes crashes(
        epoch, form(),
        [&](const Bytes& image, std::uint64_t size, bool torn) {
          check(image, size, acknowledged);
          // Torn slots and lost mirrors are the hard cases for the next append, so more of them are kept.
          if (depth + 1 == kDepth || next.size() >= 60 || random_() % (torn ? 16 : 64) != 0) return;
          Bytes disk(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size));
          if (failed != nullptr && random_() % 4 != 0) {
            next.push_back({std::move(disk), *failed, acknowledged});
          } else {
            next.push_back({disk, disk, acknowledged});  // the machine restarts
          }
        },
        random_);
    crashes.run(200);
    explored_.lost += crashes.lost_pages();
  }

  void check(const Bytes& image, std::uint64_t size, std::uint64_t acknowledged) {
    ++explored_.states;
    const Found found = oracle_.look(image, size, acknowledged);
    note(found.violation);
    if (!found.violation.empty()) return;
    if (found.degraded != 0) ++explored_.degraded;
    if (found.generation > acknowledged) ++explored_.newer;
    if (random_() % kSample != 0) return;
    if (random_() % 2 == 0) {
      append_to(image, size);
    } else if (found.pair_whole) {
      damage(image, size, acknowledged, found.degraded);
    }
  }

  void append_to(const Bytes& image, std::uint64_t size) {
    ++explored_.appended;
    Bytes file(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size));
    const std::uint64_t before = generation_of(file);
    file = attempt_on(file, 1'000'000'000).cache;
    note(oracle_.remember(file));
    note(oracle_.look(file, file.size(), before + 1).violation);
    oracle_.forget(file);  // no disk of the model has ever held it
  }

  // Loses a slot in addition; the caller makes sure that this is the only lost mirror of the generation. Loses the
  // whole page of the slot if both copies of the prologue are good.
  void damage(const Bytes& image, std::uint64_t size, std::uint64_t acknowledged, std::uint32_t degraded) {
    ++explored_.damaged;
    Bytes file(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size));
    const std::uint64_t slot = form().slots[random_() % 4];
    ByteRange lost{slot, container::kSectorSize};
    if ((degraded & (container::kDegradedPrologue0 | container::kDegradedPrologue1)) == 0) {
      lost = {slot / kPage * kPage, kPage};
    }
    std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(lost.offset), lost.size, std::byte{0x5a});
    const Found found = oracle_.look(file, size, acknowledged);
    if (!found.violation.empty()) note("with a page lost: " + found.violation);
  }

  std::uint8_t extent_log2_;
  std::uint64_t wanted_;
  std::mt19937_64 random_;
  Oracle oracle_;
  Explored explored_;
};

void explore_form(std::uint8_t extent_log2) {
  const std::uint64_t wanted = number_from_environment("FATCTX_CRASH_STATES", 100'000);
  Model model(extent_log2, wanted, number_from_environment("FATCTX_CRASH_SEED", 1));
  const Explored explored = model.run();
  for (const auto& [violation, count] : explored.violations) ADD_FAILURE() << count << " x " << violation;
  if (!explored.violations.empty()) return;
  EXPECT_GE(explored.states, wanted);
  // Every kind of state that the model is for must have occurred.
  EXPECT_GT(explored.newer, explored.states / 100) << "crashes between the barriers";
  EXPECT_GT(explored.degraded, explored.states / 100);
  EXPECT_GT(explored.lost, explored.states / 100) << "lost pages";
  EXPECT_GT(explored.damaged, explored.states / 1'000);
  EXPECT_GT(explored.appended, explored.states / 1'000);
  EXPECT_GT(explored.restored, 0U);
  EXPECT_GT(explored.roots, explored.states / 10'000) << "crashes after crashes";
  EXPECT_GT(explored.differing, explored.roots / 20) << "the cache is not the disk";
  EXPECT_GT(explored.repairs, explored.roots / 20);
  std::printf(
      "%llu crash states of %llu appends, 0 violations; %llu states open with a generation not yet "
      "acknowledged, %llu degraded, %llu with lost pages; %llu damaged on top, %llu appended to; %llu appends restored "
      "a "
      "mirror; %llu began on a cache that differs from the disk, %llu were repairs\n",
      static_cast<unsigned long long>(explored.states), static_cast<unsigned long long>(explored.roots),
      static_cast<unsigned long long>(explored.newer), static_cast<unsigned long long>(explored.degraded),
      static_cast<unsigned long long>(explored.lost), static_cast<unsigned long long>(explored.damaged),
      static_cast<unsigned long long>(explored.appended), static_cast<unsigned long long>(explored.restored),
      static_cast<unsigned long long>(explored.differing), static_cast<unsigned long long>(explored.repairs));
}

TEST(AppendCrash, EveryStateOpensWithWhatWasAcknowledgedOrLater) { explore_form(container::kExtentLog2); }
TEST(AppendCrash, EveryStateOfASmallFileOpensToo) { explore_form(container::kSmallExtentLog2); }

}  // namespace append_crash_test
}  // namespace fatctx::crash
