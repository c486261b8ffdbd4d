// Crash states of the appender that is shipped, through the seam of the file: whatever a crash leaves, the file opens
// with the generation that was acknowledged last or a later one, every byte of that and of every earlier one is what
// was written, and the next append works.
//
// FATCTX_CRASH_STATES is how many states at least (100,000), FATCTX_CRASH_SEED where chance begins (1). Shows promises
// 3 and 4 of docs/testing.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <string>

#include "container/append.h"
#include "crash/disk.h"
#include "crash/oracle.h"
#include "support/sample_container.h"

namespace fatctx::crash {
namespace {

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

struct Explored {
  std::uint64_t states = 0;
  std::uint64_t newer = 0;  // states that open with what nobody had acknowledged yet
  std::uint64_t degraded = 0;
  std::uint64_t damaged = 0;   // states that lost a page of the header on top
  std::uint64_t appended = 0;  // states on which another append was tried
  std::uint64_t restored = 0;  // appends that restored a mirror first, and crashed on the way
  std::uint64_t roots = 0;     // appends that crashed, by themselves or after other crashes
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
        (void)log_of(file, round * 100 + static_cast<std::uint32_t>(i));
        note(oracle_.remember(file));
      }
      if (explored_.violations.empty()) attempt(file, 1 + generations, round * 1'000, 0);
    }
    return explored_;
  }

 private:
  static constexpr int kDepth = 3;              // crashes in a row
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

  // The log of one append onto `file`, which holds the result afterwards; empty if it failed.
  std::vector<Call> log_of(Bytes& file, std::uint32_t seed) {
    std::vector<Call> log;
    const auto done = [&]() -> Result<AppendReport> {
      FATCTX_ASSIGN(Appender appender, AppenderAccess::over(std::make_unique<RecordingFile>(file, log), "file", {}));
      for (PackRecord& record : new_records(seed)) FATCTX_TRY(appender.add(std::move(record)));
      return appender.commit();
    }();
    if (!done.ok()) {
      note("an append failed: " + to_text(done.error()));
      return {};
    }
    if (!done.value().restored.empty()) ++explored_.restored;
    log.push_back({Call::Kind::kAcknowledged, 0, {}});
    return log;
  }

  // One append that crashes everywhere; from some of the states another one, and so on.
  void attempt(const Bytes& start, std::uint64_t acknowledged, std::uint32_t seed, int depth) {
    ++explored_.roots;
    Bytes file = start;
    const std::vector<Call> log = log_of(file, seed);
    if (log.empty()) return;
    note(oracle_.remember(file));
    // What the appender found lay on the disk, acknowledged or not: it must stay.
    acknowledged = std::max(acknowledged, generation_of(start));
    std::vector<std::pair<Bytes, std::uint64_t>> next;  // states to go on from, with what is acknowledged
    Epoch epoch{start, {}};
    for (const Call& call : log) {
      if (call.kind == Call::Kind::kWrite) {
        epoch.writes.push_back(call);
        continue;
      }
      if (call.kind == Call::Kind::kAcknowledged) ++acknowledged;
      explore(epoch, acknowledged, depth, next);
      if (call.kind == Call::Kind::kSync) epoch = {after(epoch), {}};
    }
    if (depth + 1 == kDepth || !explored_.violations.empty()) return;
    std::shuffle(next.begin(), next.end(), random_);
    next.resize(std::min(next.size(), kChildren));
    std::uint32_t child = seed * 4 + 1;
    for (const auto& [image, acked] : next) attempt(image, acked, child++, depth + 1);
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

  void explore(const Epoch& epoch, std::uint64_t acknowledged, int depth,
               std::vector<std::pair<Bytes, std::uint64_t>>& next) {
    Crashes crashes(
        epoch,
        [&](const Bytes& image, std::uint64_t size, bool torn) {
          check(image, size, acknowledged);
          // Torn slots and lost mirrors are what the next append has to live with, so more of them go on.
          if (depth + 1 == kDepth || next.size() >= 40 || random_() % (torn ? 16 : 64) != 0) return;
          next.emplace_back(Bytes(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size)), acknowledged);
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
    if (log_of(file, 1'000'000'000).empty()) return;
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
  std::printf(
      "%llu crash states of %llu appends, 0 violations; %llu states open with a generation not yet "
      "acknowledged, %llu degraded; %llu damaged on top, %llu appended to; %llu appends restored a mirror\n",
      static_cast<unsigned long long>(explored.states), static_cast<unsigned long long>(explored.roots),
      static_cast<unsigned long long>(explored.newer), static_cast<unsigned long long>(explored.degraded),
      static_cast<unsigned long long>(explored.damaged), static_cast<unsigned long long>(explored.appended),
      static_cast<unsigned long long>(explored.restored));
}

}  // namespace
}  // namespace fatctx::crash
