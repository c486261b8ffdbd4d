// Crash states of the appender that is shipped, through the seam of the file: whatever a crash leaves, the file opens
// with the generation that was acknowledged last or a later one, every byte of that and of every earlier one is what
// was written, and the next append works. Syncs fail as well: the disk then has any part of what was written, reads
// show all of it, and the next append or repair begins there.
//
// FATCTX_CRASH_STATES is how many states at least (100,000), FATCTX_CRASH_SEED where chance begins (1). Shows promises
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
  std::uint64_t newer = 0;  // states that open with what nobody had acknowledged yet
  std::uint64_t degraded = 0;
  std::uint64_t damaged = 0;    // states that lost a page of the header on top
  std::uint64_t appended = 0;   // states on which another append was tried
  std::uint64_t restored = 0;   // appends that restored a mirror first, and crashed on the way
  std::uint64_t roots = 0;      // appends that crashed, by themselves or after other crashes
  std::uint64_t differing = 0;  // of these, on a file of which the cache showed what the disk did not have
  std::uint64_t repairs = 0;
  std::uint64_t repaired_whole = 0;  // that found nothing to restore
  std::map<std::string, std::uint64_t> violations;
};

class Model {
 public:
  Model(std::uint64_t wanted_states, std::uint64_t seed) : wanted_(wanted_states), random_(seed) {}

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
  static constexpr int kDepth = 4;              // crashes and failed syncs in a row
  static constexpr std::size_t kChildren = 3;   // states of an attempt that the next one starts from
  static constexpr std::uint64_t kSample = 64;  // one state of so many is damaged further, or appended to

  static Bytes first_file() {
    return support::packed_bytes({support::plain_record(RecordType::kWeightBlob, "weights", support::pattern(9'000, 1)),
                                  support::plain_record(RecordType::kOpaque, "note", support::pattern(300, 2))});
  }

  // Of sizes that take one extent or several, so that what an append writes lies elsewhere than what another one did.
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

  // One append, or now and then a repair, on what the page cache shows.
  struct Attempt {
    Bytes cache;  // as it is afterwards
    std::vector<Call> log;
    bool failed = false;  // a sync did, as was asked for
  };

  // `failing_sync`: that one fails, from 1; 0: none.
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
    FATCTX_ASSIGN(Appender appender, AppenderAccess::over(std::move(file), "file", {}));
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

  // What the disk has, and what reads show of it. They differ where a sync failed since the cache was empty: the system
  // drops the pages that it could not write, and goes on showing them.
  struct State {
    Bytes disk;
    Bytes cache;
    std::uint64_t acknowledged = 0;
  };

  // One append that crashes everywhere; from some of the states another one, and so on.
  void attempt(const State& start, std::uint32_t seed, int depth) {
    ++explored_.roots;
    const bool differ = start.disk != start.cache;
    if (differ) ++explored_.differing;
    const std::uint64_t failing_sync = random_() % 3 == 0 ? 1 + random_() % 3 : 0;
    const bool repair = depth > 0 && random_() % 6 == 0;
    const Attempt made = attempt_on(start.cache, seed, failing_sync, repair);
    if (!explored_.violations.empty()) return;
    note(oracle_.remember_generation(made.cache));
    // What the appender found on the disk, acknowledged or not, must stay. What it found in the cache need not.
    std::uint64_t acknowledged = start.acknowledged;
    if (!differ) acknowledged = std::max(acknowledged, generation_of(start.disk));
    std::vector<State> next;  // to go on from
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
    // A state in which the cache differs is rare, and what this is about.
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

  // `failed`: a sync has ended the epoch and failed; that is what the cache shows from then on.
  void explore(const Epoch& epoch, std::uint64_t acknowledged, int depth, const Bytes* failed,
               std::vector<State>& next) {
    Crashes crashes(
        epoch,
        [&](const Bytes& image, std::uint64_t size, bool torn) {
          check(image, size, acknowledged);
          // Torn slots and lost mirrors are what the next append has to live with, so more of them go on.
          if (depth + 1 == kDepth || next.size() >= 60 || random_() % (torn ? 16 : 64) != 0) return;
          Bytes disk(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size));
          if (failed != nullptr && random_() % 4 != 0) {
            next.push_back({std::move(disk), *failed, acknowledged});
          } else {
            next.push_back({disk, disk, acknowledged});  // the machine starts anew
          }
        },
        random_);
    crashes.run(200);
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
      damage(image, size, acknowledged);
    }
  }

  void append_to(const Bytes& image, std::uint64_t size) {
    ++explored_.appended;
    Bytes file(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size));
    const std::uint64_t before = generation_of(file);
    file = attempt_on(file, 1'000'000'000).cache;
    note(oracle_.remember(file));
    note(oracle_.look(file, file.size(), before + 1).violation);
    oracle_.forget(file);  // no disk of the model has ever seen it
  }

  // A page of the header is lost on top, as long as that is the only mirror of the generation.
  void damage(const Bytes& image, std::uint64_t size, std::uint64_t acknowledged) {
    ++explored_.damaged;
    Bytes file(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size));
    const std::uint64_t page = container::kSlotOffsets[random_() % 4];
    std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(page), container::kPageSize, std::byte{0x5a});
    const Found found = oracle_.look(file, size, acknowledged);
    if (!found.violation.empty()) note("with a page lost: " + found.violation);
  }

  std::uint64_t wanted_;
  std::mt19937_64 random_;
  Oracle oracle_;
  Explored explored_;
};

TEST(AppendCrash, EveryStateOpensWithWhatWasAcknowledgedOrLater) {
  const std::uint64_t wanted = number_from_environment("FATCTX_CRASH_STATES", 100'000);
  Model model(wanted, number_from_environment("FATCTX_CRASH_SEED", 1));
  const Explored explored = model.run();
  for (const auto& [violation, count] : explored.violations) ADD_FAILURE() << count << " x " << violation;
  if (!explored.violations.empty()) return;
  EXPECT_GE(explored.states, wanted);
  // Of what the model is for there has to be some.
  EXPECT_GT(explored.newer, explored.states / 100) << "crashes between the barriers";
  EXPECT_GT(explored.degraded, explored.states / 100);
  EXPECT_GT(explored.damaged, explored.states / 1'000);
  EXPECT_GT(explored.appended, explored.states / 1'000);
  EXPECT_GT(explored.restored, 0U);
  EXPECT_GT(explored.roots, explored.states / 10'000) << "crashes after crashes";
  EXPECT_GT(explored.differing, explored.roots / 20) << "the cache is not the disk";
  EXPECT_GT(explored.repairs, explored.roots / 20);
  std::printf(
      "%llu crash states of %llu appends, 0 violations; %llu states open with a generation not yet "
      "acknowledged, %llu degraded; %llu damaged on top, %llu appended to; %llu appends restored a mirror; %llu began "
      "on a cache that differs from "
      "the disk, %llu were repairs\n",
      static_cast<unsigned long long>(explored.states), static_cast<unsigned long long>(explored.roots),
      static_cast<unsigned long long>(explored.newer), static_cast<unsigned long long>(explored.degraded),
      static_cast<unsigned long long>(explored.damaged), static_cast<unsigned long long>(explored.appended),
      static_cast<unsigned long long>(explored.restored), static_cast<unsigned long long>(explored.differing),
      static_cast<unsigned long long>(explored.repairs));
}

}  // namespace append_crash_test
}  // namespace fatctx::crash
