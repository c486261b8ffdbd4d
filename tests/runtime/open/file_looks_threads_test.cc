// A mapped file may look changed any number of times: each time costs no memory, and closing costs no stack. Run under
// ThreadSanitizer as well (preset tsan).
//
// FATCTX_LOOKS is the number of looks at one mapping (1,000,000).
#include "runtime/open/file_looks.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <optional>
#include <thread>
#include <vector>

#include "fatctx/model.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/mapped_container.h"
#include "runtime/small_model.h"
#include "support/amount.h"
#include "support/process_files.h"
#include "support/result_matchers.h"
#include "support/sanitized.h"

namespace fatctx {
namespace file_looks_threads_test {

using mapping::FileIdentity;
using support::is_ok;

FileIdentity looking(std::int64_t number) {
  return {.device = 1,
          .inode = 2,
          .size = static_cast<std::uint64_t>(number),
          .modified = {number, number},
          .changed = {number, number},
          .regular = true};
}

// Sets the times of the file, so that it looks changed at the next check.
void touch(const std::string& path, std::int64_t number) {
  const timespec times[2] = {{number, 1}, {number, 2}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), times, 0), 0);
}

// Runs `body` on a thread with a stack of this size, or the least of the system if that is more (128 KiB on aarch64).
void on_small_stack(std::size_t stack_bytes, void (*body)(void*), void* argument) {
  struct Call {
    void (*body)(void*);
    void* argument;
  } call{body, argument};
  pthread_attr_t attributes;
  ASSERT_EQ(::pthread_attr_init(&attributes), 0);
  const auto least = static_cast<std::size_t>(std::max(::sysconf(_SC_THREAD_STACK_MIN), 0L));
  ASSERT_EQ(::pthread_attr_setstacksize(&attributes, std::max(stack_bytes, least)), 0);
  pthread_t thread;
  const auto run = [](void* given) -> void* {
    const Call& asked = *static_cast<Call*>(given);
    asked.body(asked.argument);
    return nullptr;
  };
  ASSERT_EQ(::pthread_create(&thread, &attributes, run, &call), 0);
  EXPECT_EQ(::pthread_join(thread, nullptr), 0);
  ::pthread_attr_destroy(&attributes);
}

TEST(FileLooks, ALookHasANumberAndNothingOfEarlierOnes) {
  FileLooks looks(looking(1));
  EXPECT_EQ(looks.number(), 1U) << "0 is the number of no look";
  EXPECT_TRUE(looks.last_was(looking(1)));
  EXPECT_FALSE(looks.last_was(looking(2)));
  looks.begin(looking(2), looks.number());
  EXPECT_EQ(looks.number(), 2U);
  EXPECT_TRUE(looks.last_was(looking(2)));
  EXPECT_FALSE(looks.last_was(looking(1)));
  looks.begin(looking(1), looks.number());
  EXPECT_EQ(looks.number(), 3U) << "the same look again is another one";
  looks.begin(looking(4), 2);
  EXPECT_EQ(looks.number(), 3U) << "somebody has begun one since";
  EXPECT_TRUE(looks.last_was(looking(4)));
}

TEST(FileLooks, EveryFieldOfTheIdentityCounts) {
  const FileIdentity one = looking(7);
  const FileLooks looks(one);
  std::vector<FileIdentity> others(10, one);
  ++others[0].device;
  ++others[1].inode;
  ++others[2].inode_high;
  ++others[3].size;
  ++others[4].base;
  ++others[5].modified.seconds;
  ++others[6].modified.nanoseconds;
  ++others[7].changed.seconds;
  ++others[8].changed.nanoseconds;
  others[9].regular = false;
  for (std::size_t i = 0; i < others.size(); ++i) EXPECT_FALSE(looks.last_was(others[i])) << i;
}

TEST(FileLooksThreads, WhoFindsALookHasALaterNumberAndNobodySeesHalfOfOne) {
  constexpr std::int64_t kLooks = 20'000;
  FileLooks looks(looking(0));
  std::vector<std::atomic<std::uint64_t>> known(kLooks + 1);
  std::atomic<std::int64_t> begun{0};
  std::atomic<int> writers{2};
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int writer = 0; writer < 2; ++writer) {
    threads.emplace_back([&] {
      for (std::int64_t i = ++begun; i <= kLooks; i = ++begun) {
        const auto at = static_cast<std::size_t>(i);
        known[at] = looks.number();
        looks.begin(looking(i), known[at]);
        if (looks.number() <= known[at]) ++wrong;
      }
      --writers;
    });
  }
  for (int reader = 0; reader < 2; ++reader) {
    threads.emplace_back([&] {
      std::uint64_t highest = 0;
      while (writers != 0) {
        const std::int64_t asked = std::min<std::int64_t>(begun, kLooks);
        FileIdentity half = looking(asked);
        half.changed = looking(asked + 1).changed;
        if (looks.last_was(half)) ++wrong;
        const bool found = looks.last_was(looking(asked));
        const std::uint64_t number = looks.number();
        if (found && asked != 0 && number <= known[static_cast<std::size_t>(asked)]) ++wrong;
        if (number < highest) ++wrong;
        highest = number;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(looks.number(), static_cast<std::uint64_t>(kLooks) / 4) << "hardly any look had a number of its own";
}

TEST(FileLooksThreads, AMillionLooksTakeNoMemoryAndTheMappingClosesOnASmallStack) {
  const int looks = support::amount("FATCTX_LOOKS", support::kSanitized ? 100'000 : 1'000'000);
  const testing::Folder folder;
  const std::string path = folder / "m.fatctx";
  testing::pack_small_model(path);
  std::optional<Container> container = Container::open(path).value();
  ASSERT_TRUE(is_ok(container->acquire("weights")));
  const MappedContainer& mapped = *mapped_of(*container);
  const std::uint64_t before = support::anonymous_bytes();

  for (int i = 0; i < looks; ++i) mapped.renew(looking(i + 1));

  const std::uint64_t after = support::anonymous_bytes();
  EXPECT_LT(after - std::min(before, after), 1'000'000U) << "of " << looks << " looks something is kept";
  EXPECT_TRUE(is_ok(container->acquire("weights"))) << "the file is as it was";
  constexpr std::size_t kStack = support::kSanitized ? std::size_t{1} << 20 : std::size_t{64} << 10;
  on_small_stack(
      kStack, [](void* held) { static_cast<std::optional<Container>*>(held)->reset(); }, &container);
  EXPECT_FALSE(container.has_value());
  EXPECT_EQ(testing::mappings_of(path), 0);
}

TEST(FileLooksThreads, EveryTouchMakesTheSessionVerifyAgain) {
  const testing::Folder folder;
  const std::string path = folder / "m.fatctx";
  testing::pack_small_model(path);
  ModelOptions options;
  options.device = Device{};
  options.device->arch = "x86-64-v3";
  const Model model = Model::open(path, options).value();
  const MappedContainer& mapped = *mapped_of(*model.container());
  const RecordInfo weights = model.container()->find("weights").value();
  Session session = model.begin_session().value();
  for (int i = 1; i <= 100; ++i) {
    touch(path, i);
    const std::uint64_t look = mapped.look();
    ASSERT_TRUE(is_ok(model.container()->acquire("weights")));
    EXPECT_EQ(mapped.look(), look + 1);
    ASSERT_TRUE(is_ok(model.container()->acquire("weights")));
    EXPECT_EQ(mapped.look(), look + 1) << "it looks as it did";
  }
  testing::flip_byte(path, weights.file_offset + 70'000);
  const Status ended = session.end();
  EXPECT_TRUE(support::fails_with(ended, ErrorCode::kChecksumMismatch, "F26"));
}

TEST(FileLooksThreads, ReadersVerifyWhileTheFileIsTouchedAndSeeDamageAtOnce) {
  const testing::Folder folder;
  const std::string path = folder / "m.fatctx";
  testing::pack_small_model(path);
  const Container container = Container::open(path).value();
  const RecordInfo weights = container.find("weights").value();
  const auto expected = testing::pattern(testing::kWeightsSize, 1);
  std::atomic<bool> go_on{true};
  std::atomic<int> wrong{0};
  std::vector<std::thread> readers;
  for (int i = 0; i < 6; ++i) {
    readers.emplace_back([&] {
      while (go_on) {
        const auto view = container.acquire("weights");
        if (!view.ok() || !std::ranges::equal(view.value().bytes(), expected)) ++wrong;
      }
    });
  }
  for (int i = 1; i <= 300; ++i) touch(path, i);
  go_on = false;
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(wrong, 0);

  // Checks that succeeded before the change do not count after it, on any thread.
  testing::flip_byte(path, weights.file_offset + 70'000);
  std::vector<std::thread> threads;
  std::atomic<int> refused{0};
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) refused += container.acquire("weights").ok() ? 0 : 1;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(refused, 120);
}

}  // namespace file_looks_threads_test
}  // namespace fatctx
