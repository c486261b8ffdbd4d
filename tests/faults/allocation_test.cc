// The n-th allocation fails, for every n, on every way from a path to a tensor: an exception or an error, and nothing
// stays. A program of its own, because it replaces operator new.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <new>

#include "fatctx/extract.h"
#include "fatctx/model.h"
#include "fatctx/range_access.h"
#include "runtime/registry.h"
#include "runtime/small_model.h"

namespace {

constexpr long kNever = -1;
thread_local long until_failure = kNever;  // allocations of this thread that still succeed

bool may_allocate() noexcept {
  if (until_failure == kNever) return true;
  if (until_failure == 0) return false;
  --until_failure;
  return true;
}

void* checked_new(std::size_t size) {
  void* memory = may_allocate() ? std::malloc(size == 0 ? 1 : size) : nullptr;
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return checked_new(size); }
void* operator new[](std::size_t size) { return checked_new(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return may_allocate() ? std::malloc(size == 0 ? 1 : size) : nullptr;
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  const auto step = static_cast<std::size_t>(alignment);
  return may_allocate() ? std::aligned_alloc(step, (size + step - 1) / step * step) : nullptr;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace fatctx {
namespace {

using testing::Folder;

// Runs `work` again and again with a later allocation failing each time, until it gets through. Returns how often it
// failed.
int fail_each_allocation(const std::function<bool()>& work) {
  constexpr int kMost = 20'000;
  for (int n = 0; n < kMost; ++n) {
    until_failure = n;
    bool done = false;
    try {
      done = work();
    } catch (const std::bad_alloc&) {
    }
    const bool got_through = until_failure > 0;
    until_failure = kNever;
    if (done && got_through) return n;
  }
  ADD_FAILURE() << "it never got through";
  return kMost;
}

class AllocationFails : public ::testing::Test {
 protected:
  AllocationFails() : path_(folder_ / "m.fatctx") {
    testing::pack_small_model(path_);
    options_.device = Device{};
    options_.device->arch = "aarch64";
    // What is made once per process is made before anything is counted.
    (void)Model::open(path_, options_).value().begin_session().value().weight("layer/1").value();
    copying_ = options_;
    copying_.open.file_mapping = FileMapping::kDisabled;
    (void)Model::open(path_, copying_).value().begin_session().value();
    descriptors_ = testing::open_descriptors();
  }

  void expect_nothing_left() {
    EXPECT_EQ(testing::open_descriptors(), descriptors_);
    EXPECT_EQ(testing::mappings_of(path_), 0);
    EXPECT_EQ(Registry::process().live_count(), 0U);
    const auto view = Container::open(path_).value().acquire("weights");
    ASSERT_TRUE(view.ok()) << to_text(view.error());
    EXPECT_TRUE(std::ranges::equal(view.value().bytes(), testing::pattern(testing::kWeightsSize, 1)));
  }

  Folder folder_;
  std::string path_;
  ModelOptions options_;
  ModelOptions copying_;
  int descriptors_ = 0;
};

TEST_F(AllocationFails, FromAPathToATensor) {
  const int failures = fail_each_allocation([&] {
    const auto model = Model::open(path_, options_);
    if (!model.ok()) return false;
    const auto session = model.value().begin_session();
    return session.ok() && session.value().weight("layer/1").ok();
  });

  EXPECT_GT(failures, 50) << "there are that many allocations at least";
  expect_nothing_left();
}

TEST_F(AllocationFails, WithCopiesInPlaceOfTheMapping) {
  const int failures = fail_each_allocation([&] {
    const auto model = Model::open(path_, copying_);
    return model.ok() && model.value().begin_session().ok();
  });

  EXPECT_GT(failures, 50);
  expect_nothing_left();
}

TEST_F(AllocationFails, FurtherOpensOfALiveContainer) {
  const Container held = Container::open(path_).value();
  const int failures = fail_each_allocation([&] {
    const auto container = Container::open(path_);
    return container.ok() && container.value().reopen().ok() && container.value().acquire("weights").ok();
  });

  EXPECT_GT(failures, 0);
  EXPECT_TRUE(held.acquire("weights").ok());
  EXPECT_EQ(testing::mappings_of(path_), 1);
}

TEST_F(AllocationFails, FromMemory) {
  std::ifstream file(path_, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  const ByteView bytes = std::as_bytes(std::span(text));
  const int failures = fail_each_allocation([&] {
    const auto container = Container::open_memory(bytes);
    return container.ok() && container.value().acquire("weights").ok();
  });

  EXPECT_GT(failures, 20);
}

TEST_F(AllocationFails, RangesAndTheirHooks) {
  const RecordView view = Container::open(path_).value().acquire("weights").value();
  int balance = 0;
  const int failures = fail_each_allocation([&] {
    const RangeAccess access(view, {.provided = [&](ByteView) -> Status {
                                      ++balance;
                                      return Done{};
                                    },
                                    .released = [&](ByteView) { --balance; }});
    const auto range = access.provide(10, 20);
    return range.ok() && access.release(range.value().id).ok();
  });

  EXPECT_GT(failures, 0);
  EXPECT_EQ(balance, 0);
}

TEST_F(AllocationFails, VerifyDescribeAndExtract) {
  const std::string out = folder_ / "out.bin";
  const int failures = fail_each_allocation([&] {
    const auto container = Container::open(path_);
    if (!container.ok() || !container.value().describe().ok()) return false;
    const auto report = container.value().verify();
    if (!report.ok() || !report.value().findings.empty()) return false;
    const auto weights = container.value().find("weights");
    return weights.ok() && extract_record(container.value(), weights.value().id, out, true).ok();
  });

  EXPECT_GT(failures, 50);
  EXPECT_EQ(std::filesystem::file_size(out), testing::kWeightsSize);
  std::size_t files = 0;
  for ([[maybe_unused]] const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(out).parent_path()))
    ++files;
  EXPECT_EQ(files, 2U) << "the container and what was extracted: no temporary is left";
  expect_nothing_left();
}

}  // namespace
}  // namespace fatctx
