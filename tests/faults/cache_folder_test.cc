// A full disk, or one that refuses, at every call in turn while a cache folder is used. The error names the cause, the
// files in the folder are whole, nothing else is left there, and memory is not used instead.
#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <string>

#include "fatctx/metrics.h"
#include "fatctx/packer.h"
#include "fatctx/view_cache.h"
#include "faults/os_faults.h"
#include "faults/work_count.h"
#include "support/chip_corpus.h"
#include "support/opened.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"
#include "support/temp_dir.h"

namespace fatctx {
namespace cache_folder_test {

using faults::Injected;
using support::is_ok;

class CacheFolderFaults : public ::testing::Test {
 protected:
  CacheFolderFaults() {
    PackOptions options;
    options.sharing = Sharing::kBytes;
    const support::ChipCorpus corpus = support::make_chip_corpus(3, {.tensors = 4});
    support::write_file(path_, support::packed_bytes({support::binary_record("chip 0", "x86-64-v2", corpus.chips[0]),
                                                      support::binary_record("chip 2", "x86-64-v3", corpus.chips[2])},
                                                     options));
  }
  [[nodiscard]] Result<RecordView> acquire(const Container& container) const {
    for (const RecordInfo& record : support::records_in(container)) {
      if (record.recipe) return container.acquire(record.id);
    }
    return Error{ErrorCode::kInternal, "no record is a recipe"};
  }

  const support::TempDir folder_;
  const support::TempDir cache_;  // made with mode 0700
  const std::string path_ = folder_.file("chips.fatctx");
};

TEST_F(CacheFolderFaults, AreErrorsThatSaySoAndLeaveOnlyWholeFiles) {
  // Memory is permitted as well, but must not be used.
  const OpenOptions options{.max_copied_bytes = std::uint64_t{1} << 30, .cache_folder = cache_.path()};
  const Container container = Container::open(path_, options).value();
  ASSERT_TRUE(is_ok(acquire(container)));
  for (const bool made : {true, false}) {
    for (const int number : {ENOSPC, EROFS, EACCES}) {
      for (const bool for_ever : {false, true}) {
        long call = 0;
        for (bool met = true; met; ++call) {
          ASSERT_LT(call, 1000);
          if (made) {
            ASSERT_TRUE(is_ok(collect_view_cache(cache_.path(), 0)));
          }
          std::string at;
          auto view = [&] {
            const Injected injected({.error_number = number, .call = call, .for_ever = for_ever});
            auto done = acquire(container);
            met = injected.met();
            at = injected.call();
            return done;
          }();
          SCOPED_TRACE(std::to_string(number) + (for_ever ? " for ever" : " once") + " from call " +
                       std::to_string(call) + (made ? ", made" : ", found"));
          if (view.ok()) {
            EXPECT_EQ(view.value().copied_bytes(), 0U) << "memory in place of the folder";
            EXPECT_GT(view.value().cached_bytes(), 0U);
            EXPECT_FALSE(at == "fallocate" && number == ENOSPC) << "a full disk is told before anything is written";
          } else {
            EXPECT_EQ(view.error().where.os_error, number) << to_text(view.error());
            if (number == ENOSPC) {
              EXPECT_EQ(view.error().code, ErrorCode::kNoSpace) << to_text(view.error());
            }
          }
          const auto files = list_view_cache(cache_.path());
          ASSERT_TRUE(is_ok(files));
          for (const ViewCacheFile& file : files.value()) EXPECT_TRUE(file.whole);
          EXPECT_EQ(cache_.names().size(), files.value().size()) << "something else was left";
          EXPECT_EQ(container_metrics(container).composed_bytes, 0U);
          if (HasFailure()) return;
        }
        EXPECT_GT(call, made ? 15 : 5) << "are the library's calls led through the faults at all?";
      }
    }
  }
  EXPECT_TRUE(is_ok(acquire(container)));
}

TEST_F(CacheFolderFaults, AFileThatSomebodyRemovesWhileTheFolderIsListedIsLeftOut) {
  const OpenOptions options{.cache_folder = cache_.path()};
  { ASSERT_TRUE(is_ok(acquire(Container::open(path_, options).value()))); }
  const std::string file = cache_.path() + "/" + list_view_cache(cache_.path()).value().at(0).name;

  // The first openat() opens the folder for its list; any later one opens a file of the list.
  int opens = 0;
  const faults::Before before("openat", [&] {
    if (++opens > 1) std::filesystem::remove(file);
  });
  const auto listed = list_view_cache(cache_.path());

  ASSERT_TRUE(is_ok(listed));
  EXPECT_TRUE(listed.value().empty());
  EXPECT_FALSE(std::filesystem::exists(file)) << "was it removed in between at all?";
}

TEST_F(CacheFolderFaults, AFileThatSomebodyRemovesAgainAndAgainIsAnErrorInTheEnd) {
  const Container container = Container::open(path_, {.cache_folder = cache_.path()}).value();
  const faults::Counted counted;
  const faults::Before before("openat", [&] {
    for (const std::string& name : cache_.names()) std::filesystem::remove(cache_.path() + "/" + name);
  });
  const auto view = acquire(container);

  ASSERT_TRUE(support::fails_with(view, ErrorCode::kChanged));
  EXPECT_NE(view.error().message.find("taken away or replaced again and again"), std::string::npos);
  EXPECT_NE(view.error().message.find(cache_.path()), std::string::npos);
  EXPECT_EQ(counted.calls().at("fallocate"), 8) << "one for each attempt";
}

TEST_F(CacheFolderFaults, ATouchOfAFileIsLookedIntoOnce) {
  const Container container = Container::open(path_, {.cache_folder = cache_.path()}).value();
  const RecordView view = acquire(container).value();
  const auto again = [&] { ASSERT_TRUE(is_ok(container.acquire(view.record_id()))); };
  const std::string before = faults::work_of(again);
  const std::string file = cache_.path() + "/" + list_view_cache(cache_.path()).value().at(0).name;
  std::filesystem::last_write_time(file, std::filesystem::file_time_type::clock::now() + std::chrono::seconds(5));

  EXPECT_NE(faults::work_of(again), before) << "its bytes are compared";
  EXPECT_EQ(faults::work_of(again), before);
}

}  // namespace cache_folder_test
}  // namespace fatctx
