// Everything at once in one process, for a given time: all kinds of readers next to appends, killed appends, rewriting,
// replacing, cutting, signing and forking. Every byte that is handed out was written for that record and generation.
// Generations only grow. After each round no resource is held any more.
//
// FATCTX_SOAK_SECONDS is the duration (3). Shows promises 2, 4, 5 and 7 of docs/testing.md.
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "crash/soak_files.h"
#include "fatctx/extract.h"
#include "fatctx/mapping_guard.h"
#include "fatctx/signature.h"
#include "support/amount.h"
#include "support/child_process.h"
#include "support/look.h"
#include "support/opened.h"
#include "support/process_files.h"
#include "support/result_matchers.h"
#include "support/sanitized.h"

namespace fatctx::crash::soak {
namespace soak_test {

using support::is_ok;
using Clock = std::chrono::steady_clock;
using Codes = std::set<ErrorCode>;
using Random = std::mt19937_64;

const Codes kNone = {};
// Another writer writes to the file, or has replaced it.
const Codes kTaken = {ErrorCode::kLocked, ErrorCode::kChanged};
// The list of records to keep came from an earlier generation, and a writer has replaced the record since.
const Codes kTakenOrReplaced = {ErrorCode::kLocked, ErrorCode::kChanged, ErrorCode::kNotFound};
// The codes that HazardOfACut lists. After a cut to a few bytes the file's former content cannot be recognized.
const Codes kCut = {ErrorCode::kTruncated,        ErrorCode::kChanged,  ErrorCode::kMappingLost,
                    ErrorCode::kChecksumMismatch, ErrorCode::kBadMagic, ErrorCode::kMalformed};

constexpr std::uint64_t kCutLine = 0;  // of the file that is cut; all others count from 1

// A memory of the content of each generation. The content is the same for every reader, and for one reader the
// generations only grow.
class Oracle {
 public:
  [[nodiscard]] bool agrees(const std::string& file, std::uint64_t generation, std::uint64_t content) {
    const std::lock_guard lock(mutex_);
    return contents_.emplace(std::pair(file, generation), content).first->second == content;
  }
  void forget() { contents_.clear(); }

 private:
  std::mutex mutex_;
  std::map<std::pair<std::string, std::uint64_t>, std::uint64_t> contents_;
};

std::uint64_t content_of(const Container& container) {
  std::string text;
  for (const RecordInfo& record : support::records_in(container)) {
    text += record.name;
    text += '\n';
    text.append(reinterpret_cast<const char*>(record.hash.bytes.data()), record.hash.bytes.size());
  }
  return std::hash<std::string>{}(text);
}

// Checks one record, as a view or, if it is compressed, as a stream. Returns an empty string if its bytes are right.
std::string record_complaint(const Container& container, const RecordInfo& record) {
  const std::uint64_t generation = support::report_of(container).generation;
  Bytes streamed;
  if (record.codec == Codec::kNone) {
    const auto view = container.acquire(record.id);
    return view.ok() ? complaint_about(record.name, generation, view.value().bytes()) : to_text(view.error());
  }
  const auto done = stream_record(container, record.id, [&](ByteView part) -> Status {
    streamed.insert(streamed.end(), part.begin(), part.end());
    return Done{};
  });
  return done.ok() ? complaint_about(record.name, generation, streamed) : to_text(done.error());
}

bool has_label(const RecordInfo& record) {
  return record.type != RecordType::kDescription && record.type != RecordType::kTensorTable;
}

class Soak : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(is_ok(install_mapping_guard()));
    for (const std::string& file : files_) ASSERT_TRUE(is_ok(begin_line(file, ++lines_)));
    ASSERT_TRUE(is_ok(begin_line(cut_, kCutLine)));
    cut_bytes_ = support::read_file(cut_);
    keys_ = make_keys(folder_.file("key")).value();
    other_key_ = make_keys(folder_.file("other")).value().public_key;
    ASSERT_TRUE(is_ok(sign_container(files_[0], keys_.secret_path, signed_)));
  }

  [[nodiscard]] bool going_on() const { return Clock::now() < end_of_round_.load() && !HasFailure(); }

  void did(const std::string& what) {
    const std::lock_guard lock(mutex_);
    ++done_[what];
  }

  // Counts a success. An error must be one of the expected ones.
  template <typename T>
  bool did(const std::string& what, const Result<T>& result, const Codes& expected) {
    if (result.ok()) {
      did(what);
      return true;
    }
    EXPECT_TRUE(expected.contains(result.error().code)) << what << ": " << to_text(result.error());
    did("expected errors");
    return false;
  }

  [[nodiscard]] OpenOptions options_for(const std::string& path) const {
    OpenOptions options;
    if (path == signed_) options.trusted_keys = {keys_.public_key};
    return options;
  }
  [[nodiscard]] const std::string& any_file(Random& random) const { return files_[random() % files_.size()]; }

  // The newest generation that one reader has seen, by path and uuid.
  using Newest = std::map<std::string, std::uint64_t>;

  void look_at(const std::string& path, const Container& container, Newest& newest, Random& random) {
    const OpenReport report = support::report_of(container);
    const std::string file = path + " " + report.uuid;
    if (report.generation == report.newest_generation) {
      EXPECT_GE(report.generation, newest[file]) << file << " has become older";
      newest[file] = report.generation;
    }
    EXPECT_TRUE(oracle_.agrees(file, report.generation, content_of(container))) << file << " is two things at once";
    EXPECT_EQ(report.signature_verified, path == signed_);
    const auto records = support::records_in(container);
    const RecordInfo& record = records[random() % records.size()];
    if (!has_label(record)) return;
    EXPECT_EQ(record_complaint(container, record), "") << file;
    did(record.codec == Codec::kNone ? "views" : "streams");
  }

  // Does one of the things that readers may do with a container.
  void use(const Container& container, Random& random) {
    const auto weights = container.find(kWeights);
    ASSERT_TRUE(is_ok(weights));
    switch (random() % 8) {
      case 0: {
        const auto report = container.verify({.threads = 1});
        if (!did("verifies", report, kNone)) return;
        for (const VerifyFinding& finding : report.value().findings) {
          // A kill between the writes of a slot's two mirrors leaves one of them behind; the next append restores it.
          EXPECT_EQ(finding.error.where.rule, "F6") << to_text(finding.error);
        }
        return;
      }
      case 1:
        (void)did("prefetches", container.prefetch(weights.value().id), kNone);
        return;
      case 2: {
        const auto table = container.tensors(weights.value().id);
        ASSERT_TRUE(is_ok(table));
        const auto tensor = table.value().view("t");
        if (!did("tensors", tensor, kNone)) return;
        const auto whole = container.acquire(weights.value().id);
        ASSERT_TRUE(is_ok(whole));
        EXPECT_EQ(std::memcmp(tensor.value().bytes().data(), whole.value().data(), kTensorBytes), 0);
        return;
      }
      default:
        return;
    }
  }

  // The roles that run at the same time, each on its own thread.

  void read(Random& random) {
    struct Held {
      Container container;
      RecordView view;
    };
    std::deque<Held> held;  // old generations and files, which must stay as they were
    Newest newest;
    while (going_on()) {
      const std::string& path = random() % 4 == 0 ? signed_ : any_file(random);
      const auto opened = Container::open(path, options_for(path));
      if (!did("opens", opened, kNone)) continue;
      const Container& container = opened.value();
      look_at(path, container, newest, random);
      use(container, random);
      const auto reopened = container.reopen();
      if (did("reopens", reopened, kNone)) look_at(path, reopened.value(), newest, random);
      open_earlier(path, support::report_of(container), newest, random);
      auto view = container.acquire(kState);
      ASSERT_TRUE(is_ok(view));
      held.push_back({container, std::move(view).value()});
      if (held.size() < 6) continue;
      const Held& oldest = held.front();
      EXPECT_EQ(complaint_about(kState, support::report_of(oldest.container).generation, oldest.view.bytes()), "");
      EXPECT_TRUE(is_ok(oldest.container.acquire(kState)));
      held.pop_front();
    }
  }

  void open_earlier(const std::string& path, const OpenReport& report, Newest& newest, Random& random) {
    if (report.earlier_generations.empty() || random() % 8 != 0) return;
    OpenOptions options;
    options.generation = report.earlier_generations[random() % report.earlier_generations.size()].number;
    const auto earlier = Container::open(path, options);
    // A rewrite removes the earlier generations.
    if (did("opens of earlier generations", earlier, {ErrorCode::kNotFound})) {
      look_at(path, earlier.value(), newest, random);
    }
  }

  void append(Random& random) {
    while (going_on()) {
      const std::string& path = any_file(random);
      if (random() % 10 == 0) {
        kill_an_append(path, random);
        continue;
      }
      const auto report = append_version(path);
      if (!did("appends", report, kTaken)) continue;
      const auto container = Container::open(path);
      ASSERT_TRUE(is_ok(container));
      if (support::report_of(container.value()).uuid != report.value().uuid) continue;  // replaced
      EXPECT_GE(support::report_of(container.value()).generation, report.value().generation)
          << "an acknowledged one is lost";
    }
  }

  void kill_an_append(const std::string& path, Random& random) {
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      ::alarm(60);
      for (;;) (void)append_version(path);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 20'000));
    ::kill(child, SIGKILL);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL) << "it ended by itself";
    did("kills");
  }

  void change(Random& random) {
    while (going_on()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5 + random() % 20));
      const std::string& path = any_file(random);
      switch (random() % 3) {
        case 0:
          (void)did("compactions", rewrite_version(path, SIZE_MAX), kTakenOrReplaced);
          break;
        case 1:
          (void)did("strips", rewrite_version(path, 4), kTakenOrReplaced);
          break;
        default:
          (void)did("replacements", begin_line(path, ++lines_), kNone);
      }
    }
  }

  void cut(Random& random) {
    while (going_on()) {
      const std::uint64_t size = random() % cut_bytes_.size();
      std::filesystem::resize_file(cut_, size);
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 2'000));
      std::ofstream file(cut_, std::ios::binary | std::ios::app);
      file.write(reinterpret_cast<const char*>(cut_bytes_.data() + size),
                 static_cast<std::streamsize>(cut_bytes_.size() - size));
      file.close();
      did("cuts");
      EXPECT_TRUE(opens_whole_again()) << "after a cut at " << size;
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 4'000));
    }
  }

  // Returns true once the file opens whole. A reader that met the cut may notice it only now, as may every reader that
  // shares its mapping.
  [[nodiscard]] bool opens_whole_again() {
    for (int i = 0; i < 20; ++i) {
      const auto container = Container::open(cut_);
      if (!did("opens", container, kCut)) continue;
      const auto view = container.value().acquire(kWeights);
      if (!did("views", view, kCut)) continue;
      if (support::look(view.value().bytes(), bytes_of(kWeights, {kCutLine, 1})) == "right") return true;
    }
    return false;
  }

  void read_the_cut_one(Random& random) {
    const Bytes right = bytes_of(kWeights, {kCutLine, 1});
    while (going_on()) {
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 500));
      const auto container = Container::open(cut_);
      if (!did("opens", container, kCut)) continue;
      const auto view = container.value().acquire(kWeights);
      std::this_thread::sleep_for(std::chrono::microseconds(random() % 1'000));
      if (did("views", view, kCut)) {
        EXPECT_NE(support::look(view.value().bytes(), right), "other");
      }
      (void)did("prefetches", container.value().prefetch(container.value().find(kWeights).value().id), kCut);
      (void)did("checks", container.value().check(), kCut);
    }
  }

  void sign(Random& random) {
    while (going_on()) {
      (void)did("signatures", sign_container(files_[0], keys_.secret_path, signed_, {.overwrite = true}), kTaken);
      OpenOptions options;
      options.trusted_keys = {other_key_};
      EXPECT_TRUE(support::fails_with(Container::open(signed_, options), ErrorCode::kSignatureBad));
      options.trusted_keys = {keys_.public_key};
      EXPECT_TRUE(support::fails_with(Container::open(any_file(random), options), ErrorCode::kSignatureMissing));
      did("refusals");
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
    }
  }

  void fork_and_read(Random& random) {
    while (going_on()) {
      fork_one_that_reads(random);
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
    }
  }

  void fork_one_that_reads(Random& random) {
    const std::string& path = random() % 2 == 0 ? signed_ : any_file(random);
    const int code = support::in_child([&] {
      ::alarm(60);
      const auto container = Container::open(path, options_for(path));
      if (!container.ok()) return 1;
      for (const RecordInfo& record : support::records_in(container.value())) {
        if (has_label(record) && !record_complaint(container.value(), record).empty()) return 2;
      }
      return 0;
    });
    EXPECT_EQ(code, 0);
    did("forks");
  }

  void round(std::chrono::milliseconds length, std::uint64_t seed) {
    using Role = void (Soak::*)(Random&);
    std::vector<Role> roles = {
        &Soak::read, &Soak::read, &Soak::read, &Soak::append, &Soak::change, &Soak::cut, &Soak::read_the_cut_one,
        &Soak::sign};
    // In the forked child of a process with many threads, a sanitizer's allocator may wait for a lock whose holder is
    // gone.
    if (!support::kSanitized) roles.push_back(&Soak::fork_and_read);
    end_of_round_ = Clock::now() + length;
    std::vector<std::thread> threads;
    for (const Role role : roles) {
      threads.emplace_back([this, role, seed = seed * 100 + threads.size()] {
        Random random(seed);
        (this->*role)(random);
      });
    }
    for (std::thread& thread : threads) thread.join();
    if (support::kSanitized) {
      Random random(seed);
      fork_one_that_reads(random);
    }
    oracle_.forget();
  }

  const support::TempDir folder_;
  const std::vector<std::string> files_ = {folder_.file("a.fatctx"), folder_.file("b.fatctx"),
                                           folder_.file("c.fatctx")};
  const std::string signed_ = folder_.file("signed.fatctx");  // files_[0], signed from time to time
  const std::string cut_ = folder_.file("cut.fatctx");
  Bytes cut_bytes_;
  KeyFiles keys_;
  PublicKey other_key_;
  std::atomic<std::uint64_t> lines_ = kCutLine;
  std::atomic<Clock::time_point> end_of_round_ = Clock::now();
  Oracle oracle_;
  std::mutex mutex_;
  std::map<std::string, std::uint64_t> done_;
};

TEST_F(Soak, EverythingAtOnceHandsOutWhatWasWrittenAndHoldsNothing) {
  const std::chrono::milliseconds all(1'000 * support::amount("FATCTX_SOAK_SECONDS", 3));
  const std::chrono::milliseconds length = std::max<std::chrono::milliseconds>(all / 20, std::chrono::seconds(1));
  const auto rounds = static_cast<std::uint64_t>(all / length);
  constexpr std::uint64_t kMargin = 32 << 20;  // of memory that the allocator keeps
  constexpr std::size_t kMoreMaps = 64;        // arenas of the allocator, and thread stacks
  const std::size_t descriptors = support::open_descriptors();
  std::uint64_t memory = 0;  // after the first round
  std::size_t maps = 0;

  for (std::uint64_t number = 0; number < rounds && !HasFailure(); ++number) {
    SCOPED_TRACE("round " + std::to_string(number));
    round(length, number);
    EXPECT_EQ(support::open_descriptors(), descriptors);
    EXPECT_EQ(support::maps_of(folder_.path()), 0U);
    const std::uint64_t memory_now = support::anonymous_bytes();
    const std::size_t maps_now = support::maps_of("");
    std::printf("after round %llu: %llu KiB of memory, %zu maps, %zu descriptors\n",
                static_cast<unsigned long long>(number + 1), static_cast<unsigned long long>(memory_now / 1024),
                maps_now, support::open_descriptors());
    if (number == 0) {
      memory = memory_now;
      maps = maps_now;
    }
    // A sanitizer keeps freed memory and the stacks of all earlier threads.
    if (support::kSanitized) continue;
    EXPECT_LE(memory_now, memory + kMargin);
    EXPECT_LE(maps_now, maps + kMoreMaps);
  }

  for (const char* what : {"opens", "reopens", "opens of earlier generations", "views", "streams", "tensors",
                           "verifies", "prefetches", "checks", "appends", "kills", "compactions", "strips",
                           "replacements", "cuts", "signatures", "refusals", "forks"}) {
    EXPECT_GT(done_[what], 0U) << what;
  }
  for (const auto& [what, often] : done_) {
    std::printf("%llu %s\n", static_cast<unsigned long long>(often), what.c_str());
  }
}

}  // namespace soak_test
}  // namespace fatctx::crash::soak
