// Composed views at the edges of their rules: exact budgets, descriptor 0, long builds, what a cache folder may hold,
// and how far a prefetch goes.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "container/format/hash.h"
#include "container/sharing/parallel.h"
#include "fatctx/profile.h"
#include "mapping/residency.h"
#include "runtime/cached_model.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/mapped_container.h"
#include "runtime/view/composed_view.h"
#include "runtime/view/prefetch.h"
#include "runtime/view/record_read.h"
#include "support/child_process.h"
#include "support/mapped_file.h"
#include "support/sliced_container.h"

namespace fatctx {
namespace composed_edges_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::kGranule;

constexpr std::uint64_t kTrailer = 96;

std::size_t count_of(const Profile& profile, ProfileEventKind kind) {
  return static_cast<std::size_t>(
      std::ranges::count_if(profile.events, [&](const ProfileEvent& event) { return event.kind == kind; }));
}

class ComposedEdges : public testing::CachedModel {
 protected:
  [[nodiscard]] static Result<RecordView> view_on(const Container& container, std::string_view name,
                                                  std::uint64_t page_bytes) {
    StitchHost host;
    host.page_bytes = page_bytes;
    return composed_view(container, *mapped_of(container)->find(name).value(), host);
  }
  // Writes a container of "store 0" and of "record", which has two runs and one granule of it. On a host of larger
  // pages both runs can be mapped, and the granule cannot.
  [[nodiscard]] std::string two_runs_and_a_rest(support::SlicedContainer& made) const {
    made.add(support::sliced("record", {{{0, 36 * kGranule}}, {{40 * kGranule, 40 * kGranule}}, {{37 * kGranule, 5}}}));
    const std::string path = folder_.file("sliced.fatctx");
    support::write_file(path, made.bytes());
    return path;
  }
  // Returns how many records a prefetch has begun with.
  [[nodiscard]] static std::size_t begun(const Container& container, const std::vector<std::uint32_t>& ids,
                                         std::uint64_t max_bytes) {
    start_profile({.level = ProfileLevel::kDetailed});
    const auto report = prefetch_records(container, ids, {.max_bytes = max_bytes});
    const Profile profile = stop_profile();
    start_profile({.level = ProfileLevel::kOff});  // forgets the events
    EXPECT_TRUE(is_ok(report));
    EXPECT_EQ(report.value().done_bytes, max_bytes);
    return count_of(profile, ProfileEventKind::kPrefetch);
  }
  // Returns why the file in the folder was thrown away when its view was acquired.
  [[nodiscard]] std::string rejected_for(std::size_t chip) const {
    const std::uint64_t rejected = view_cache_counts().rejected;
    const Container container = open(cached());
    const auto view = container.acquire(name(chip));
    EXPECT_TRUE(is_ok(view));
    EXPECT_TRUE(view.ok() && shows(view.value(), chip));
    EXPECT_EQ(view_cache_counts().rejected, rejected + 1);
    return metrics_of(container, name(chip)).cache_rejected;
  }
  void replace(const std::string& path, const Bytes& bytes) const {
    std::filesystem::remove(path);
    support::write_file(path, bytes);
  }
};

TEST_F(ComposedEdges, TheNamedBudgetIsEnoughAlsoForAPathAndForAViewThatLives) {
  const std::size_t chip = mixed();
  const std::uint64_t needed = open().acquire(name(chip)).value().copied_bytes();
  const Container exact = open({.max_copied_bytes = needed});
  const Container less = open({.max_copied_bytes = needed - 1});
  const std::uint32_t id = exact.find(name(chip)).value().id;
  EXPECT_EQ(exact.access_path_of(id).value(), AccessPath::kComposed);
  EXPECT_TRUE(fails_with(less.access_path_of(id), ErrorCode::kCopyNotAllowed));

  const RecordView live = open().acquire(id).value();
  EXPECT_EQ(exact.access_path_of(id).value(), AccessPath::kComposed);
  EXPECT_TRUE(is_ok(exact.acquire(id)));
  EXPECT_TRUE(fails_with(less.access_path_of(id), ErrorCode::kCopyNotAllowed));
  EXPECT_TRUE(fails_with(less.acquire(id), ErrorCode::kCopyNotAllowed));
}

TEST_F(ComposedEdges, NeighboursInABufferAreADirectViewWhateverIsAllowed) {
  support::SlicedContainer made({support::pattern(32 * kGranule, 42)});
  made.add(support::sliced("together", {{{kGranule, kGranule}}, {{2 * kGranule, 77}}}));
  const Bytes bytes = made.bytes();
  const Container container = Container::open(Source::of_memory(bytes), {.max_copied_bytes = kEnough}).value();
  const auto view = container.acquire("together");
  ASSERT_TRUE(is_ok(view));
  EXPECT_EQ(view.value().access_path(), AccessPath::kDirect);
  EXPECT_EQ(container.access_path_of(view.value().record_id()).value(), AccessPath::kDirect);
  EXPECT_TRUE(std::ranges::equal(view.value().bytes(), made.expected("together")));
}

TEST_F(ComposedEdges, DescriptorZeroIsAFileLikeAnyOther) {
  support::SlicedContainer made({support::pattern(80 * kGranule, 51)});
  const std::string path = two_runs_and_a_rest(made);
  const std::size_t chip = mixed();
  const int result = support::in_child([&] {
    ::close(0);
    {
      const Container container = open();
      if (mapped_of(container)->file().descriptor() != 0) return 1;
      const auto view = container.acquire(name(chip));
      if (!view.ok() || view.value().copied_bytes() >= view.value().size_bytes()) return 2;
    }
    const Container container = Container::open(path).value();
    if (mapped_of(container)->file().descriptor() != 0) return 3;
    const auto stitched = container.acquire("record");
    if (!stitched.ok() || stitched.value().access_path() != AccessPath::kStitched) return 4;
    StitchHost host;
    host.page_bytes = 4 * kGranule;
    return is_composed(container, *mapped_of(container)->find("record").value(), host) ? 0 : 5;
  });
  EXPECT_EQ(result, 0);
}

TEST_F(ComposedEdges, TwoThreadsBuildEightMebibytesBesideThePagesThatAreMapped) {
  constexpr std::uint64_t kBuilt = std::uint64_t{8} << 20;
  support::SlicedContainer made({support::pattern(kBuilt + 40 * kGranule, 52)});
  made.add(support::sliced("record", {{{0, 36 * kGranule}}, {{37 * kGranule, kBuilt}}}));
  const std::string path = folder_.file("long.fatctx");
  support::write_file(path, made.bytes());
  const Container container = Container::open(path, {.max_copied_bytes = kEnough}).value();
  const auto view = view_on(container, "record", 4 * kGranule);
  ASSERT_TRUE(is_ok(view));
  EXPECT_EQ(view.value().copied_bytes(), kBuilt);
  EXPECT_TRUE(std::ranges::equal(view.value().bytes(), made.expected("record")));
  const auto live = live_composed(*mapped_of(container), view.value().record_id());
  EXPECT_FALSE(live->pieces().front().built);
  EXPECT_EQ(live->pieces().back().block, std::min(container::sharing::thread_count(0), 2U) - 1)
      << "one for each thread";
}

// Events of a profile.

TEST_F(ComposedEdges, EveryWayToTheBytesIsAnEventThatNamesRecordAndBytes) {
  using Kind = ProfileEventKind;
  support::SlicedContainer made({support::pattern(80 * kGranule, 51)});
  const Container sliced = Container::open(two_runs_and_a_rest(made), {.max_copied_bytes = kEnough}).value();
  const std::uint32_t record = sliced.find("record").value().id;
  const std::uint64_t size = sliced.record(record).value().size_bytes;
  const Container chips = open();
  const Container with_cache = open(cached());
  const std::size_t chip = mixed();
  const std::uint32_t recipe = chips.find(name(chip)).value().id;
  const std::uint64_t made_size = chips.record(recipe).value().size_bytes;
  Bytes out(static_cast<std::size_t>(size));
  struct Row {
    const char* what;
    std::function<std::uint64_t()> run;  // returns the expected bytes
    Kind kind;
    std::uint32_t id;  // 0: the event is about no record
  };
  std::optional<RecordView> view;
  const Row rows[] = {
      {"stitched",
       [&] {
         view = sliced.acquire(record).value();
         return size;
       },
       Kind::kMap, record},
      {"prefetched", [&] { return sliced.prefetch(record).value().done_bytes; }, Kind::kPrefetch, record},
      {"released", [&] { return sliced.release(record).value().released_bytes; }, Kind::kRelease, record},
      {"read", [&] { return read_record(sliced, record, out).value().size_bytes; }, Kind::kVerify, record},
      {"given back",
       [&] {
         view.reset();
         return size;
       },
       Kind::kUnmap, 0},
      {"composed",
       [&] {
         view = chips.acquire(recipe).value();
         return made_size;
       },
       Kind::kMap, recipe},
      {"composed and given back",
       [&] {
         view.reset();
         return made_size;
       },
       Kind::kUnmap, 0},
      {"built into a cache",
       [&] {
         view = with_cache.acquire(recipe).value();
         return made_size;
       },
       Kind::kMap, recipe}};
  for (const Row& row : rows) {
    SCOPED_TRACE(row.what);
    start_profile({.level = ProfileLevel::kDetailed});
    const std::uint64_t bytes = row.run();
    const Profile profile = stop_profile();
    start_profile({.level = ProfileLevel::kOff});  // forgets the events
    EXPECT_GT(bytes, 0U);
    const auto found = std::ranges::find_if(profile.events, [&](const ProfileEvent& event) {
      return event.kind == row.kind && event.record_id == row.id && event.bytes == bytes;
    });
    EXPECT_NE(found, profile.events.end());
    EXPECT_TRUE(std::ranges::all_of(profile.events, [](const ProfileEvent& event) { return event.ok; }));
    if (view && view->cached_bytes() != 0) {
      EXPECT_TRUE(std::ranges::any_of(profile.events, [&](const ProfileEvent& event) {
        return event.path == only_file() && event.record_id == recipe && event.bytes == view->cached_bytes();
      }));
    }
  }
  EXPECT_GT(view->cached_bytes(), 0U);
}

TEST_F(ComposedEdges, ALiveViewIsVerifiedOnce) {
  const Container container = open();
  const RecordView view = container.acquire(name(mixed())).value();
  start_profile({.level = ProfileLevel::kDetailed});
  const auto again = container.acquire(view.record_id());
  const Profile profile = stop_profile();
  start_profile({.level = ProfileLevel::kOff});  // forgets the events
  ASSERT_TRUE(is_ok(again));
  EXPECT_EQ(count_of(profile, ProfileEventKind::kVerify), 0U);
}

// Prefetch.

TEST_F(ComposedEdges, APrefetchBringsInEveryMappedRun) {
  support::SlicedContainer made({support::pattern(80 * kGranule, 51)});
  const Container container =
      Container::open(two_runs_and_a_rest(made), {.verify = VerifyPolicy::kNone, .max_copied_bytes = kEnough}).value();
  const RecordView view = view_on(container, "record", 4 * kGranule).value();
  const ByteView second = view.bytes().subspan(36 * kGranule, 40 * kGranule);
  ASSERT_EQ(mapping::resident_bytes(second).value(), 0U);
  const auto report = container.prefetch(view.record_id());
  ASSERT_TRUE(is_ok(report));
  if (report.value().method != PrefetchMethod::kPopulate) GTEST_SKIP() << "this kernel cannot populate";
  EXPECT_EQ(mapping::resident_bytes(second).value(), second.size());
}

TEST_F(ComposedEdges, AReleaseLetsTheSystemForgetTheMappedRunsAndNoOtherPages) {
  support::SlicedContainer made({support::pattern(80 * kGranule, 51)});
  const std::string path = two_runs_and_a_rest(made);
  support::drop_from_cache(path);  // dirty pages cannot be dropped
  if (support::cached_bytes(path) != 0) GTEST_SKIP() << "this filesystem keeps its files in memory";
  const Container container =
      Container::open(path, {.verify = VerifyPolicy::kNone, .max_copied_bytes = kEnough}).value();
  const RecordView view = view_on(container, "record", 4 * kGranule).value();
  std::vector<ByteRange> mapped;
  for (const mapping::MixedPiece& piece : live_composed(*mapped_of(container), view.record_id())->pieces()) {
    if (!piece.built) mapped.push_back({piece.offset, piece.size});
  }
  ASSERT_EQ(mapped.size(), 2U);
  const std::uint64_t end = mapped[0].offset + mapped[0].size;
  const ByteRange between = {end, mapped[1].offset - end};
  (void)support::read_file(path);
  ASSERT_EQ(support::cached_bytes(path, between), between.size);

  ASSERT_TRUE(is_ok(container.release(view.record_id())));

  for (const ByteRange& range : mapped) EXPECT_EQ(support::cached_bytes(path, range), 0U);
  EXPECT_EQ(support::cached_bytes(path, between), between.size);
  EXPECT_EQ(support::cached_bytes(path, {0, mapped[0].offset}), mapped[0].offset);
}

TEST_F(ComposedEdges, APrefetchGoesThroughAllRecordsOrEndsWithItsBudget) {
  support::SlicedContainer made({support::pattern(80 * kGranule, 51)});
  const Container container = Container::open(two_runs_and_a_rest(made), {.max_copied_bytes = kEnough}).value();
  const RecordInfo store = container.find("store 0").value();
  const RecordView view = view_on(container, "record", 4 * kGranule).value();

  EXPECT_EQ(begun(container, {view.record_id(), store.id}, view.size_bytes() + store.size_bytes), 2U);
  EXPECT_EQ(begun(container, {view.record_id(), store.id}, 2 * kGranule), 1U) << "after a composed view";
  EXPECT_EQ(begun(container, {store.id, view.record_id()}, store.size_bytes + view.size_bytes()), 2U);
  EXPECT_EQ(begun(container, {store.id, view.record_id()}, 2 * kGranule), 1U) << "after a direct view";

  const Container chips = open();
  const std::uint32_t recipe = chips.find(name(recipes().front())).value().id;
  const std::uint32_t other = chips.find(name(recipes().back())).value().id;
  ASSERT_NE(recipe, other);
  const std::uint64_t all = chips.record(recipe).value().stored_bytes + chips.record(other).value().stored_bytes;
  EXPECT_EQ(begun(chips, {recipe, other}, all), 2U);
  EXPECT_EQ(begun(chips, {recipe, other}, 4096), 1U) << "after the sources of a recipe";
}

// Files of a cache folder.

TEST_F(ComposedEdges, DamageOfTheContainerUnderALiveViewIsNotBlamedOnTheCacheFile) {
  const std::size_t chip = mixed();
  const Container container = open(cached());
  const RecordView view = container.acquire(name(chip)).value();
  const auto live = live_composed(*mapped_of(container), view.record_id());
  const auto run = std::ranges::find_if(live->pieces(), [](const mapping::MixedPiece& one) { return !one.built; });
  const std::uint64_t damaged = run->offset + run->size / 2;
  const char other = static_cast<char>(support::read_file(path_)[static_cast<std::size_t>(damaged)] ^ std::byte{1});
  {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(damaged));
    file.put(other);
  }
  std::filesystem::last_write_time(only_file(),
                                   std::filesystem::file_time_type::clock::now() + std::chrono::seconds(5));
  const auto refused = container.acquire(name(chip));
  ASSERT_TRUE(fails_with(refused, ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_EQ(refused.error().message.find(cache_), std::string::npos) << refused.error().message;
}

TEST_F(ComposedEdges, AFileThatIsNoWholeViewIsListedSoAndThrownAwayWithTheReason) {
  const std::size_t chip = mixed();
  { ASSERT_TRUE(is_ok(acquire(chip, cached()))); }
  const std::string path = only_file();
  const Bytes whole = support::read_file(path);
  const auto first = [&](std::size_t size) {
    return Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size));
  };
  Bytes longer = Bytes(4096, std::byte{1});
  longer.insert(longer.end(), whole.begin(), whole.end());
  Bytes shorter(whole.begin() + 4096, whole.end());
  const std::pair<Bytes, std::string> rows[] = {
      {{}, "it is cut"},
      {first(kTrailer - 1), "it is cut"},
      {first(kTrailer), "it does not end as a view does"},
      {first(whole.size() - 1), "it does not end as a view does"},
      {longer, "it has another size than its trailer says"},
      {shorter, "it has another size than its trailer says"},
  };
  for (const auto& [bytes, reason] : rows) {
    SCOPED_TRACE(bytes.size());
    replace(path, bytes);
    const std::vector<ViewCacheFile> listed = list_view_cache(cache_).value();
    ASSERT_EQ(listed.size(), 1U);
    EXPECT_FALSE(listed[0].whole);
    EXPECT_EQ(listed[0].built_bytes, 0U) << "nothing is said of a key that is not known";
    EXPECT_EQ(rejected_for(chip), path + ": " + reason);
    EXPECT_EQ(support::read_file(path), whole);
  }
}

TEST_F(ComposedEdges, WhatIsNoFileIsThrownAwayWithTheReason) {
  const std::size_t chip = mixed();
  { ASSERT_TRUE(is_ok(acquire(chip, cached()))); }
  const std::string path = only_file();
  std::filesystem::remove(path);
  std::filesystem::create_symlink(path_, path);
  EXPECT_EQ(rejected_for(chip), path + ": it is not a regular file");
  std::filesystem::remove(path);
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(rejected_for(chip), path + ": it is not a regular file");
  EXPECT_TRUE(std::filesystem::is_regular_file(path));
}

TEST_F(ComposedEdges, AForgedFileThatCannotBeReplacedLeavesNoMap) {
  const std::size_t chip = mixed();
  { ASSERT_TRUE(is_ok(acquire(chip, cached()))); }
  Bytes forged = support::read_file(only_file());
  forged[100] ^= std::byte{1};
  const std::size_t trailer = forged.size() - kTrailer;
  const auto put = [&](std::size_t at, const Hash128& hash) {
    std::copy(hash.bytes.begin(), hash.bytes.end(), forged.begin() + static_cast<std::ptrdiff_t>(at));
  };
  put(trailer + 64, container::hash128(ByteView(forged).first(trailer)));
  put(trailer + 80, container::hash128(ByteView(forged).subspan(trailer, 80)));
  replace(only_file(), forged);
  const Container container = open(cached(1));

  start_profile({.level = ProfileLevel::kDetailed});
  const auto refused = container.acquire(name(chip));
  const Profile profile = stop_profile();
  start_profile({.level = ProfileLevel::kOff});  // forgets the events

  EXPECT_TRUE(fails_with(refused, ErrorCode::kNoSpace));
  EXPECT_TRUE(files().empty());
  EXPECT_EQ(count_of(profile, ProfileEventKind::kUnmap), 0U) << "what was refused was never a view";
}

}  // namespace composed_edges_test
}  // namespace fatctx
