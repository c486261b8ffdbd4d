// Several processes share one file: appenders take turns and lose nothing, readers never meet an error.
//
// FATCTX_APPENDS_EACH is the number of appends that each appender must complete (10), FATCTX_READER_OPENS the minimum
// number of opens (1,000). Shows promises 4 and 5 of docs/testing.md.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <set>
#include <vector>

#include "crash/append_loop.h"
#include "support/amount.h"
#include "support/opened.h"
#include "support/result_matchers.h"

namespace fatctx::crash {
namespace many_processes_test {

using support::amount;
using support::is_ok;

constexpr int kProcesses = 8;

// A group of children that report through a pipe. A message written in one call is read in one call.
template <typename Message>
class Children {
 public:
  using Report = std::function<void(const Message&)>;

  Children() {
    if (::pipe2(ends_, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  }
  ~Children() {
    for (const int end : ends_) ::close(end);
  }
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  void start(const std::function<int(const Report&)>& work) {
    std::fflush(nullptr);
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("no process");
    if (child == 0) {
      ::alarm(250);  // ends a child after the parent has given up
      ::_exit(work([this](const Message& message) {
        if (::write(ends_[1], &message, sizeof message) != sizeof message) ::_exit(99);
      }));
    }
    children_.push_back(child);
  }
  // Returns all messages once all children have ended. Fails the test if a child exits with another status than 0.
  [[nodiscard]] std::vector<Message> messages() {
    ::close(std::exchange(ends_[1], -1));
    std::vector<Message> all;
    Message message;
    while (::read(ends_[0], &message, sizeof message) == sizeof message) all.push_back(message);
    for (const pid_t child : children_) {
      int status = -1;
      EXPECT_EQ(::waitpid(child, &status, 0), child);
      EXPECT_EQ(status, 0) << "exit " << WEXITSTATUS(status) << ", signal " << WTERMSIG(status);
    }
    return all;
  }

 private:
  int ends_[2] = {-1, -1};
  std::vector<pid_t> children_;
};

struct Acknowledged {
  int process = 0;
  int number = 0;
  std::uint64_t generation = 0;
};

std::string name_of(int process, int number) {
  return "process " + std::to_string(process) + ", record " + std::to_string(number);
}
Bytes bytes_of(int process, int number) {
  return support::pattern(100 + static_cast<std::size_t>(number) * 1'777 % 20'000,
                          static_cast<std::uint32_t>(process * 10'000 + number));
}

int append_many(const std::string& path, int process, int many, const Children<Acknowledged>::Report& report) {
  for (int number = 0; number < many;) {
    const auto done = [&]() -> Result<std::uint64_t> {
      FATCTX_ASSIGN(Appender appender, Appender::open(path, {.threads = 1}));
      FATCTX_TRY(appender.add(
          support::plain_record(RecordType::kOpaque, name_of(process, number), bytes_of(process, number))));
      FATCTX_ASSIGN(const AppendReport made, appender.commit());
      return made.generation;
    }();
    if (done.ok()) {
      report({process, number++, done.value()});
    } else if (done.error().code == ErrorCode::kLocked) {
      ::usleep(static_cast<useconds_t>(200 + process * 137));
    } else {
      std::fprintf(stderr, "%s\n", to_text(done.error()).c_str());
      return 1;
    }
  }
  return 0;
}

TEST(ManyProcesses, AppendersTakeTurnsAndEveryAcknowledgedRecordIsThere) {
  const int many = amount("FATCTX_APPENDS_EACH", 10);
  const support::TempDir folder;
  const std::string path = folder.file("m.fatctx");
  write_first_generation(path);
  Children<Acknowledged> appenders;
  for (int process = 0; process < kProcesses; ++process) {
    appenders.start([&, process](const auto& report) { return append_many(path, process, many, report); });
  }
  const std::vector<Acknowledged> all = appenders.messages();

  ASSERT_EQ(all.size(), static_cast<std::size_t>(kProcesses * many));
  std::set<std::uint64_t> generations;
  for (const Acknowledged& one : all) generations.insert(one.generation);
  EXPECT_EQ(generations.size(), all.size()) << "two were told of one generation";
  EXPECT_EQ(*generations.begin(), 2U);
  EXPECT_EQ(*generations.rbegin(), all.size() + 1) << "one is missing";
  const auto container = Container::open(path);
  ASSERT_TRUE(is_ok(container));
  EXPECT_EQ(support::report_of(container.value()).generation, all.size() + 1);
  EXPECT_TRUE(support::report_of(container.value()).degraded.empty());
  for (const Acknowledged& one : all) {
    const auto view = container.value().acquire(name_of(one.process, one.number));
    ASSERT_TRUE(is_ok(view));
    EXPECT_TRUE(std::ranges::equal(view.value().bytes(), bytes_of(one.process, one.number)));
  }
  std::printf("%zu appends by %d processes\n", all.size(), kProcesses);
}

struct Read {
  std::uint64_t opens = 0;
  std::uint64_t generations = 0;  // number of different ones
};

// Opens `path` in a loop until it has the generation `last`.
int read_all_the_while(const std::string& path, std::uint64_t last, const Children<Read>::Report& report) {
  Read read;
  std::uint64_t seen = 0;
  while (seen < last) {
    const auto container = Container::open(path);
    if (!container.ok()) {
      std::fprintf(stderr, "%s\n", to_text(container.error()).c_str());
      return 1;
    }
    const std::uint64_t generation = support::report_of(container.value()).generation;
    if (generation < seen) return 2;
    if (generation != seen) ++read.generations;
    seen = generation;
    const auto view = container.value().acquire(record_name(generation));
    if (!view.ok() || !std::ranges::equal(view.value().bytes(), record_bytes(generation))) return 3;
    ++read.opens;
  }
  report(read);
  return 0;
}

TEST(ManyProcesses, ReadersNeverMeetAnErrorAndNeverAnOlderGeneration) {
  const auto wanted = static_cast<std::uint64_t>(amount("FATCTX_READER_OPENS", 1'000));
  constexpr std::uint64_t kLast = 40;
  Read all;
  int rounds = 0;
  for (; all.opens < wanted && !HasFailure(); ++rounds) {
    const support::TempDir folder;
    const std::string path = folder.file("m.fatctx");
    write_first_generation(path);
    Children<Read> readers;
    for (int i = 0; i < kProcesses; ++i) {
      readers.start([&](const auto& report) { return read_all_the_while(path, kLast, report); });
    }
    for (std::uint64_t generation = 2; generation <= kLast; ++generation) {
      const auto made = append_next(path);
      ASSERT_TRUE(is_ok(made));
      ASSERT_EQ(made.value(), generation);
    }
    for (const Read& one : readers.messages()) {
      all.opens += one.opens;
      all.generations += one.generations;
    }
  }
  EXPECT_GT(all.generations, static_cast<std::uint64_t>(rounds * kProcesses * 2)) << "they came too late";
  std::printf("%llu opens in %d rounds, %llu changes of generation seen\n", static_cast<unsigned long long>(all.opens),
              rounds, static_cast<unsigned long long>(all.generations));
}

}  // namespace many_processes_test
}  // namespace fatctx::crash
