// The n-th allocation fails, once or from then on, in every function of the header. The function returns out_of_memory,
// leaves nothing behind, and the next call works.
#include <gtest/gtest.h>

#include <cstdlib>
#include <new>

#include "capi/entry_points.h"
#include "support/opened.h"
#include "support/process_files.h"
#include "support/sanitized.h"

// g++ compares the inlined parts of these operators with the standard ones.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

namespace {

// Counts this thread's allocations only. 0: allocations succeed.
thread_local std::size_t until_failure = 0;
thread_local bool fails_for_ever = false;
thread_local bool has_failed = false;

void* failing_new(std::size_t size) {
  if (until_failure != 0 && --until_failure == 0) {
    has_failed = true;
    if (fails_for_ever) until_failure = 1;
    throw std::bad_alloc();
  }
  void* memory = std::malloc(size == 0 ? 1 : size);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t size) { return failing_new(size); }
void* operator new[](std::size_t size) { return failing_new(size); }
// Stable sorts allocate with this operator; a sanitizer would supply its own.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return failing_new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory, const std::nothrow_t&) noexcept { std::free(memory); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

// protobuf leaks the element that it was about to add to a repeated field if no memory is left for the field. The leak
// checker of the sanitizers calls this function by name.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() { return "leak:google::protobuf::"; }

namespace fatctx::capi::testing {
namespace allocation_test {

using support::read_file;

class CAllocation : public CModel, public ::testing::WithParamInterface<bool> {
 protected:
  CAllocation() : memory(read_file(path)), other(folder.file("other.fatctx")) {
    support::write_file(other, memory);
    (void)first_line_of_a_trace();  // created before allocations fail, like the folder and the file
    (void)cache_folder();
    (void)appended_file();
    (void)KeyFolder::get();
    (void)rewritten_files();
    (void)weight_files();
  }

  // Runs `entry` with its n-th allocation failing. Returns false if it made fewer.
  bool fails_at(const EntryPoint& entry, std::size_t n) {
    const Handles handles = open_all(path);
    bool failed = false;
    {
      Call call(handles, true, other, &memory, folder.file("out"));
      (void)call.descriptor();
      has_failed = false;
      fails_for_ever = GetParam();
      until_failure = n;
      const std::int32_t code = entry.call(call);
      until_failure = 0;
      failed = has_failed;
      if (failed) {
        // An allocation that only makes something faster may fail silently.
        EXPECT_TRUE(code == FATCTX_ERROR_OUT_OF_MEMORY || code == entry.with_good)
            << entry.name << ", allocation " << n << ": " << fatctx_error_code_name(code) << ", " << call.error.message;
      } else {
        EXPECT_EQ(code, entry.with_good) << entry.name << ": " << call.error.message;
      }
    }
    close_all(handles);
    return failed;
  }

  Bytes memory;
  std::string other;
};

TEST_P(CAllocation, ThatFailsIsOutOfMemoryInEveryFunctionAndLeavesNothingBehind) {
  constexpr std::size_t kMost = 3000;
  constexpr std::size_t kStep = support::kSanitized ? 31 : 1;  // all of them take minutes under a sanitizer
  std::size_t failures = 0;
  for (const EntryPoint& entry : entry_points()) {
    const std::size_t descriptors = support::open_descriptors();
    std::size_t n = 1;
    for (; n < kMost && fails_at(entry, n); n += kStep) ++failures;
    EXPECT_LT(n, kMost) << entry.name;
    EXPECT_EQ(support::open_descriptors(), descriptors) << entry.name;
    EXPECT_EQ(support::maps_of(folder.path()), 0U) << entry.name;
    for (const std::string& name : folder.names()) {
      EXPECT_TRUE(name == "model.fatctx" || name == "other.fatctx" || name.starts_with("out"))
          << entry.name << " left " << name;
    }
  }
  EXPECT_TRUE(KeyFolder::get().has_whole_pairs());
  EXPECT_GT(failures, 500U / kStep);  // allocations did fail
}

// The steps after the new generation may be on the disk allocate no memory. On Windows the look at the file's name
// does.
TEST_P(CAllocation, ThatFailsInACommitLeavesTheGenerationThatItTells) {
  constexpr std::size_t kMost = 3000;
  const std::string file = appended_file();
  std::size_t n = 1;
  for (bool failed = true; failed && n < kMost; ++n) {
    const Handles handles = open_all(path);
    auto report = sized<fatctx_append_report>();
    has_failed = false;
    fails_for_ever = GetParam();
    until_failure = n;
    const std::int32_t code = fatctx_appender_commit(handles.appender, &report, &error);
    until_failure = 0;
    failed = has_failed;
    const std::uint64_t there = support::report_of(Container::open(file).value()).generation;
    ASSERT_EQ(there, code == FATCTX_OK || code == FATCTX_ERROR_COMMIT_UNKNOWN ? 2U : 1U)
        << "allocation " << n << ": " << error.message;
    close_all(handles);
  }
  EXPECT_GT(n, 100U);
  EXPECT_LT(n, kMost);
}

INSTANTIATE_TEST_SUITE_P(OnceAndForEver, CAllocation, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "ForEver" : "Once"; });

}  // namespace allocation_test
}  // namespace fatctx::capi::testing
