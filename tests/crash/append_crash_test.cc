// Crash states of the appender that is shipped, through the seam of the file: whatever a crash leaves, the file opens
// with the generation that was acknowledged last or a later one, and every byte of that is what was written.
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
#include "container/open.h"
#include "crash/disk.h"
#include "support/sample_container.h"

namespace fatctx::crash {
namespace {

using container::OpenedToc;
using container::SegmentKind;

std::uint64_t number_from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// A generation as its appender meant it: the whole file at its end, by the hash of its table of contents.
using Meant = std::map<Hash128, Bytes>;

struct Explored {
  std::uint64_t states = 0;
  std::uint64_t newer = 0;  // states that open with what nobody had acknowledged yet
  std::uint64_t degraded = 0;
  std::map<std::string, std::uint64_t> violations;
};

class Model {
 public:
  Model(std::uint64_t wanted_states, std::uint64_t seed) : wanted_(wanted_states), random_(seed) {}

  Explored run() {
    Bytes first = first_file();
    remember(first);
    std::uint32_t round = 0;
    while (explored_.states < wanted_ && explored_.violations.empty()) {
      ++round;
      Bytes file = first;
      std::uint64_t acknowledged = 1;
      const std::uint64_t generations = random_() % 3;
      for (std::uint64_t i = 0; i < generations; ++i)
        acknowledged = append_whole(file, round * 100 + static_cast<std::uint32_t>(i));
      attempt(file, acknowledged, round * 1'000, 0);
    }
    return explored_;
  }

 private:
  static constexpr int kDepth = 3;  // crashes in a row

  static Bytes first_file() {
    PackRecord weights = support::plain_record(RecordType::kWeightBlob, "weights", support::pattern(9'000, 1));
    return support::packed_bytes({std::move(weights)});
  }

  [[nodiscard]] std::vector<PackRecord> new_records(std::uint32_t seed) {
    PackRecord record = support::binary_record("binary " + std::to_string(seed), "v" + std::to_string(seed),
                                               support::pattern(1'000 + random_() % 9'000, seed));
    record.weights = {"weights"};
    return {std::move(record)};
  }

  // The log of one append onto `file`, which holds the result afterwards.
  std::vector<Call> log_of(Bytes& file, std::uint32_t seed) {
    std::vector<Call> log;
    auto appender = AppenderAccess::over(std::make_unique<RecordingFile>(file, log), "file", {});
    if (!appender.ok()) return fail(appender.error(), "cannot be appended to");
    for (PackRecord& record : new_records(seed)) {
      auto added = appender.value().add(std::move(record));
      if (!added.ok()) return fail(added.error(), "a record cannot be added");
    }
    auto report = appender.value().commit();
    if (!report.ok()) return fail(report.error(), "cannot be committed");
    log.push_back({Call::Kind::kAcknowledged, 0, {}});
    return log;
  }
  std::vector<Call> fail(const Error& error, const std::string& what) {
    ++explored_.violations[what + ": " + to_text(error)];
    return {};
  }

  std::uint64_t append_whole(Bytes& file, std::uint32_t seed) {
    (void)log_of(file, seed);
    remember(file);
    return opened(file, file.size()).value().header.generation;
  }

  void remember(const Bytes& file) {
    const auto toc = opened(file, file.size());
    if (toc.ok()) meant_[toc.value().header.toc_hash] = file;
  }

  static Result<OpenedToc> opened(const Bytes& bytes, std::uint64_t size) {
    return container::read_toc(ImageFile(bytes, size), size);
  }

  // One append that crashes everywhere; from some of the states another one, and so on.
  static std::string slots_of(const Bytes& image) {
    std::string slots;
    for (const std::uint64_t at : container::kSlotOffsets) {
      container::Slot slot;
      std::memcpy(&slot, image.data() + at, sizeof slot);
      slots += " " + std::to_string(slot.generation) + "/" + std::to_string(slot.committed_end) + "/" +
               std::to_string(slot.flags) + "/" + std::to_string(slot.toc_offset[0]) + "/" +
               to_hex(std::span(slot.page_hash)).substr(0, 6);
    }
    return slots;
  }
  void attempt(const Bytes& start, std::uint64_t acknowledged, std::uint32_t seed, int depth) {
    path_.resize(static_cast<std::size_t>(depth));
    path_.push_back(slots_of(start) + " size " + std::to_string(start.size()) + " opens " +
                    std::to_string(opened(start, start.size()).value().header.generation));
    Bytes file = start;
    const std::vector<Call> log = log_of(file, seed);
    if (log.empty()) return;
    remember(file);
    // What the appender found lay on the disk, acknowledged or not: it must stay.
    acknowledged = std::max(acknowledged, opened(start, start.size()).value().header.generation);
    std::vector<std::pair<Bytes, std::uint64_t>> next;  // states to go on from, with what is acknowledged
    Epoch epoch{start, {}};
    for (std::size_t i = 0; i < log.size(); ++i) {
      if (log[i].kind == Call::Kind::kWrite) {
        epoch.writes.push_back(log[i]);
        continue;
      }
      if (log[i].kind == Call::Kind::kAcknowledged) ++acknowledged;
      explore(epoch, acknowledged, depth, next);
      Bytes durable = std::move(epoch.durable);
      for (const Call& write : epoch.writes) {
        if (durable.size() < write.offset + write.bytes.size()) {
          durable.resize(static_cast<std::size_t>(write.offset + write.bytes.size()));
        }
        std::copy(write.bytes.begin(), write.bytes.end(), durable.begin() + static_cast<std::ptrdiff_t>(write.offset));
      }
      epoch = {std::move(durable), {}};
    }
    if (depth + 1 == kDepth) return;
    std::shuffle(next.begin(), next.end(), random_);
    next.resize(std::min<std::size_t>(next.size(), 3));
    std::uint32_t child = seed * 4 + 1;
    for (const auto& [image, acked] : next) attempt(image, acked, child++, depth + 1);
  }

  void explore(const Epoch& epoch, std::uint64_t acknowledged, int depth,
               std::vector<std::pair<Bytes, std::uint64_t>>& next) {
    Crashes crashes(
        epoch,
        [&](const Bytes& image, std::uint64_t size) {
          check(image, size, acknowledged);
          if (depth + 1 == kDepth || random_() % 64 != 0 || next.size() >= 12) return;
          next.emplace_back(Bytes(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(size)), acknowledged);
        },
        random_);
    crashes.run(200);
  }

  void check(const Bytes& image, std::uint64_t size, std::uint64_t acknowledged) {
    ++explored_.states;
    const auto toc = opened(image, size);
    if (!toc.ok()) {
      std::string where;
      for (const std::string& step : path_) where += "\n   " + step;
      ++explored_.violations["unopenable: " + to_text(toc.error()) + where + "\n   " + slots_of(image)];
      return;
    }
    const container::Header& header = toc.value().header;
    if (header.degraded != 0) ++explored_.degraded;
    if (header.generation < acknowledged) {
      ++explored_.violations["an acknowledged generation is lost"];
      return;
    }
    if (header.generation > acknowledged) ++explored_.newer;
    const auto meant = meant_.find(header.toc_hash);
    if (meant == meant_.end()) {
      ++explored_.violations["a generation that nobody wrote"];
      return;
    }
    for (const container::Segment& segment : toc.value().toc.segments) {
      if (segment.kind == SegmentKind::kDead) continue;
      const auto from = static_cast<std::ptrdiff_t>(segment.offset);
      const auto end = from + static_cast<std::ptrdiff_t>(segment.size);
      if (segment.offset + segment.size > size ||
          !std::equal(image.begin() + from, image.begin() + end, meant->second.begin() + from)) {
        ++explored_.violations["opened, but a segment has other bytes"];
        return;
      }
    }
  }

  std::uint64_t wanted_;
  std::mt19937_64 random_;
  Meant meant_;
  Explored explored_;
  std::vector<std::string> path_;
};

TEST(AppendCrash, EveryStateOpensWithWhatWasAcknowledgedOrLater) {
  const std::uint64_t wanted = number_from_environment("FATCTX_CRASH_STATES", 100'000);
  Model model(wanted, number_from_environment("FATCTX_CRASH_SEED", 1));
  const Explored explored = model.run();
  for (const auto& [violation, count] : explored.violations) ADD_FAILURE() << count << " x " << violation;
  EXPECT_GE(explored.states, wanted);
  EXPECT_GT(explored.newer, 0U) << "the second epoch was explored";
  EXPECT_GT(explored.degraded, 0U);
  std::printf("%llu crash states, %llu of them with a generation not yet acknowledged, %llu degraded\n",
              static_cast<unsigned long long>(explored.states), static_cast<unsigned long long>(explored.newer),
              static_cast<unsigned long long>(explored.degraded));
}

}  // namespace
}  // namespace fatctx::crash
