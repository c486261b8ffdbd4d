// The n-th allocation fails, for every n, once or from then on, in every operation that reads or writes a container.
// The operation gives an exception or an error and leaves nothing behind. This is a program of its own, because it
// replaces operator new.
#include <gtest/gtest.h>
#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include "fatctx/appender.h"
#include "fatctx/model.h"
#include "fatctx/range_access.h"
#include "faults/allocation_count.h"
#include "faults/ways.h"
#include "runtime/open/registry.h"
#include "runtime/small_model.h"
#include "support/opened.h"
#include "support/sample_container.h"
#include "support/sanitized.h"

// g++ compares the inlined parts of these operators with the standard ones.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

namespace {

constexpr long kNever = -1;
thread_local long until_failure = kNever;  // allocations of this thread that still succeed
thread_local bool for_ever = true;         // false: only one allocation fails
thread_local bool failed = false;

thread_local long allocations = 0;

bool may_allocate() noexcept {
  ++allocations;
  if (until_failure == kNever) return true;
  if (until_failure > 0) {
    --until_failure;
    return true;
  }
  failed = true;
  if (!for_ever) until_failure = kNever;
  return false;
}

// Held during every allocation and every fork of a test: clang's address sanitizer leaves the locks of its malloc taken
// in a forked child. glibc's malloc releases its own.
constinit std::mutex in_malloc;

template <typename Call>
auto outside_of_forks(const Call& call) noexcept {
  if constexpr (!fatctx::support::kSanitized) return call();
  const std::lock_guard lock(in_malloc);
  return call();
}

[[maybe_unused]] const int fork_hooks_installed =
    ::pthread_atfork([] { in_malloc.lock(); }, [] { in_malloc.unlock(); }, [] { in_malloc.unlock(); });

void* plain_new(std::size_t size) noexcept {
  if (!may_allocate()) return nullptr;
  return outside_of_forks([&] { return std::malloc(size == 0 ? 1 : size); });
}

void* checked_new(std::size_t size) {
  void* memory = plain_new(size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void checked_delete(void* memory) noexcept {
  outside_of_forks([&] { std::free(memory); });
}

}  // namespace

long fatctx::faults::allocations_of_this_thread() noexcept { return allocations; }

void* operator new(std::size_t size) { return checked_new(size); }
void* operator new[](std::size_t size) { return checked_new(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return plain_new(size); }
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  const auto step = static_cast<std::size_t>(alignment);
  if (!may_allocate()) return nullptr;
  return outside_of_forks([&] { return std::aligned_alloc(step, (size + step - 1) / step * step); });
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  void* memory = operator new(size, alignment, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { checked_delete(memory); }
void operator delete[](void* memory) noexcept { checked_delete(memory); }
void operator delete(void* memory, std::size_t) noexcept { checked_delete(memory); }
void operator delete[](void* memory, std::size_t) noexcept { checked_delete(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { checked_delete(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { checked_delete(memory); }

// protobuf leaks the element that it was about to add to a repeated field if no memory is left for the field. The leak
// checker of the sanitizers calls this function by name.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:google::protobuf::"; }

namespace fatctx {
namespace allocation_test {

using faults::Way;
using testing::Folder;

class AllocationFails : public faults::EveryWay {};

TEST_P(AllocationFails, IsAnErrorOrAnExceptionAndLeavesNothing) {
  const Way& way = GetParam();
  // Objects that a process creates once exist before allocations are counted.
  const auto good = way.work(path_);
  ASSERT_TRUE(good.ok()) << to_text(good.error());
  const int descriptors = testing::open_descriptors();

  for (const bool all_further : {true, false}) {
    constexpr int kMost = 50'000;
    int failures = 0;
    for (bool met = true; met; failures += support::kStride) {
      ASSERT_LT(failures, kMost) << "it never got through";
      Result<std::string> result = Error{ErrorCode::kOutOfMemory, "an exception"};
      for_ever = all_further;
      failed = false;
      until_failure = failures;
      try {
        result = way.work(path_);
      } catch (const std::bad_alloc&) {
      }
      until_failure = kNever;
      met = failed;
      SCOPED_TRACE("allocation " + std::to_string(failures) + (all_further ? " and all after it" : ""));
      if (result.ok()) {
        EXPECT_EQ(result.value(), good.value()) << "success has to mean the same as ever";
      } else {
        EXPECT_TRUE(result.error().code == ErrorCode::kOutOfMemory || result.error().code == ErrorCode::kNoResource)
            << to_text(result.error());
      }
      EXPECT_EQ(testing::open_descriptors(), descriptors);
      EXPECT_EQ(testing::mappings_of(path_), 0);
      EXPECT_EQ(Registry::process().live_count(), 0U);
      EXPECT_EQ(temporaries(), 0U);
      if (HasFailure()) return;
    }
    EXPECT_GT(failures, 10) << "are allocations counted at all?";
  }
  const auto again = way.work(path_);
  ASSERT_TRUE(again.ok()) << to_text(again.error());
  EXPECT_EQ(again.value(), good.value());
}

INSTANTIATE_TEST_SUITE_P(Ways, AllocationFails, ::testing::ValuesIn(faults::ways()), faults::name_of);

TEST(AllocationFailsOnALiveContainer, AndItsHoldersNoticeNothing) {
  const Folder folder;
  const std::string path = folder / "m.fatctx";
  testing::pack_small_model(path);
  const Container held = Container::open(path).value();
  failed = true;
  for (int n = 0; failed; ++n) {
    ASSERT_LT(n, 10'000);
    for_ever = true;
    failed = false;
    until_failure = n;
    try {
      const auto container = Container::open(path);
      (void)(container.ok() && container.value().reopen().ok() && container.value().acquire("weights").ok());
    } catch (const std::bad_alloc&) {
    }
    until_failure = kNever;
  }
  EXPECT_TRUE(held.acquire("weights").ok());
  EXPECT_EQ(testing::mappings_of(path), 1);
}

// The new generation exists if and only if the append reports it.
TEST(AppendAllocationFails, AndTheFileOpensAsBeforeOrHasWhatWasReported) {
  const Folder folder;
  const std::string path = folder / "m.fatctx";
  const auto start = support::unsealed_sample();
  const auto append = [&]() -> Result<AppendReport> {
    FATCTX_ASSIGN(Appender appender, Appender::open(path, {.threads = 1}));
    PackRecord record = support::binary_record("new", "riscv64", support::pattern(70'000, 5));
    record.weights = {"weights"};
    FATCTX_TRY(appender.add(std::move(record)));
    return appender.commit();
  };
  support::write_file(path, start);
  ASSERT_TRUE(append().ok()) << "what is made once per process is made now";
  const int descriptors = testing::open_descriptors();
  for (const bool all_further : {true, false}) {
    int failures = 0;
    for (failed = true; failed; failures += support::kStride) {
      ASSERT_LT(failures, 10'000) << "it never got through";
      SCOPED_TRACE("allocation " + std::to_string(failures) + (all_further ? " and all after it" : ""));
      support::write_file(path, start);
      std::optional<ErrorCode> code = ErrorCode::kOutOfMemory;
      for_ever = all_further;
      failed = false;
      until_failure = failures;
      try {
        const auto done = append();
        until_failure = kNever;
        code = done.ok() ? std::nullopt : std::optional(done.error().code);
      } catch (const std::bad_alloc&) {
      }
      until_failure = kNever;
      EXPECT_TRUE(!code || code == ErrorCode::kOutOfMemory || code == ErrorCode::kNoResource);
      EXPECT_EQ(testing::open_descriptors(), descriptors);
      const auto container = Container::open(path);
      ASSERT_TRUE(container.ok()) << to_text(container.error());
      EXPECT_EQ(support::report_of(container.value()).generation, code ? 1U : 2U);
      const auto now = support::read_file(path);
      if (code) {
        EXPECT_TRUE(now.size() >= start.size() && std::equal(start.begin(), start.end(), now.begin()));
      }
      if (HasFailure()) return;
    }
    EXPECT_GT(failures, 100) << "are allocations counted at all?";
    std::printf("%d allocations failed%s\n", failures - 1, all_further ? ", and all after each" : " alone");
  }
  EXPECT_TRUE(Appender::open(path).ok()) << "the lock is free";
}

TEST(AllocationFailsInRanges, AndHooksStayInPairs) {
  const Folder folder;
  const std::string path = folder / "m.fatctx";
  testing::pack_small_model(path);
  const RecordView view = Container::open(path).value().acquire("weights").value();
  int balance = 0;
  failed = true;
  for (int n = 0; failed; ++n) {
    ASSERT_LT(n, 10'000);
    for_ever = true;
    failed = false;
    until_failure = n;
    try {
      const RangeAccess access(view, {.provided = [&](ByteView) -> Status {
                                        ++balance;
                                        return Done{};
                                      },
                                      .released = [&](ByteView) { --balance; }});
      const auto range = access.provide(10, 20);
      if (range.ok()) (void)access.release(range.value().id);
    } catch (const std::bad_alloc&) {
    }
    until_failure = kNever;
    EXPECT_EQ(balance, 0) << "at allocation " << n;
  }
}

}  // namespace allocation_test
}  // namespace fatctx
