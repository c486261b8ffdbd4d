#include "runtime/view/stitched_view.h"

#include <unistd.h>

#include <algorithm>
#include <vector>

#include "fatctx/extract.h"
#include "fatctx/info.h"
#include "fatctx/mapping_guard.h"
#include "fatctx/metrics.h"
#include "fatctx/range_access.h"
#include "mapping/map_count.h"
#include "mapping/page_advice.h"
#include "mapping/residency.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/mapped_container.h"
#include "runtime/sliced_model.h"
#include "support/child_process.h"
#include "support/mapped_file.h"
#include "support/opened.h"
#include "support/process_files.h"

namespace fatctx {
namespace stitched_view_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::kGranule;
using support::SlicedContainer;
using support::StoreSlice;

std::uint64_t map_limit = 0;

class StitchedView : public testing::SlicedModel {
 protected:
  [[nodiscard]] static Result<RecordView> view_on(const Container& container, std::string_view name,
                                                  const StitchHost& host) {
    const container::Toc& toc = mapped_of(container)->toc();
    const RecordInfo& record = *toc.find(id(container, name));
    return pieced_view(container, record, container::pieces_of(toc, record), host);
  }
  static std::uint64_t mapped_lines() { return support::maps_of("sliced.fatctx"); }
};

TEST_F(StitchedView, ShowsTheBytesOfTheRecordWithoutACopy) {
  const Container container = open();
  for (const char* name : {"even", "odd", "weights"}) {
    const auto view = container.acquire(name);
    ASSERT_TRUE(is_ok(view)) << name;
    EXPECT_EQ(view.value().access_path(), AccessPath::kStitched);
    EXPECT_TRUE(shows(view.value(), name));
    EXPECT_EQ(container.access_path_of(view.value().record_id()).value(), AccessPath::kStitched);
  }
  EXPECT_EQ(container.access_path_of(id(container, "store 0")).value(), AccessPath::kDirect);
  EXPECT_EQ(access_path_name(AccessPath::kStitched), "stitched");
  EXPECT_EQ(support::report_of(container).copied_records, 0U);
  EXPECT_TRUE(support::report_of(container).mapped);
}

TEST_F(StitchedView, BehindAShortRecordTheLastPageIsZero) {
  const Container container = open();
  const RecordView view = container.acquire("odd").value();
  ASSERT_EQ(view.size_bytes() % kGranule, 1'000U);
  const std::byte* behind = view.data() + view.size_bytes();
  EXPECT_TRUE(std::all_of(behind, behind + kGranule - 1'000, [](std::byte byte) { return byte == std::byte{0}; }));
}

// Shows S5.5, S3.70.
TEST_F(StitchedView, IsOneRangeForAllSessionsOfTheProcess) {
  const Container container = open();
  auto first = container.acquire("even").value();
  const std::byte* at = first.data();
  const std::uint64_t lines = mapped_lines();
  {
    const Container again = open();
    const RecordView second = again.acquire("even").value();
    EXPECT_EQ(second.data(), at);
    EXPECT_EQ(mapped_lines(), lines);
    first = second;
  }
  EXPECT_TRUE(shows(first, "even")) << "a view keeps its range";
  const RecordView other = container.acquire("odd").value();
  EXPECT_NE(other.data(), at);
}

TEST_F(StitchedView, GoesWithItsLastHolderInAnyOrder) {
  const std::uint64_t before = mapped_lines();
  {
    std::optional<Container> container = open();
    std::optional<RecordView> view = container->acquire("even").value();
    const std::uint64_t with_view = mapped_lines();
    EXPECT_GT(with_view, before + support::kSlicedGranules / 4);
    view.reset();
    EXPECT_LT(mapped_lines(), with_view - support::kSlicedGranules / 4);
    view = container->acquire("even").value();
    container.reset();
    EXPECT_TRUE(shows(*view, "even"));
  }
  EXPECT_EQ(mapped_lines(), before);
}

TEST_F(StitchedView, PagesThatSeveralViewsShowCountOnce) {
  const Container container = open(OpenOptions{.verify = VerifyPolicy::kNone});
  const RecordView store = container.acquire("store 1").value();
  const RecordView weights = container.acquire("weights").value();
  (void)support::touch(store.bytes());
  (void)support::touch(weights.bytes());
  const auto direct = mapping::use_of_map(mapped_of(container)->mapped()).value();
  const auto stitched = mapping::use_of_map(weights.bytes()).value();
  EXPECT_GE(stitched.resident, weights.size_bytes());
  // Each page is in two maps of this process, and each map counts half of it.
  EXPECT_LE(stitched.proportional, weights.size_bytes() * 3 / 4);
  EXPECT_LE(direct.proportional + stitched.proportional, direct.resident + stitched.resident / 4);
}

TEST_F(StitchedView, SessionsTensorsAndRangesWork) {
  ModelOptions options;
  options.device = Device{};
  options.device->arch = "x86-64-v3";
  const Model model = Model::open(path_, options).value();
  Session session = model.begin_session().value();
  EXPECT_TRUE(shows(session.binary().value(), "even"));
  EXPECT_EQ(session.weights().front().view.access_path(), AccessPath::kStitched);
  const Bytes weights = made_.expected("weights");
  const WeightView a = session.weight("a").value();
  EXPECT_TRUE(std::ranges::equal(a.bytes(), std::span(weights).subspan(1'000, 6'000))) << "over a border of slices";
  EXPECT_EQ(a.bytes().data(), session.weights().front().view.data() + 1'000);

  const RangeAccess ranges(session.weights().front().view);
  const ProvidedRange range = ranges.provide(5'000, 10'000).value();
  EXPECT_TRUE(std::equal(range.data, range.data + range.size_bytes, weights.begin() + 5'000));
  EXPECT_TRUE(is_ok(ranges.release(range.id)));
  EXPECT_TRUE(is_ok(session.end()));
}

TEST_F(StitchedView, StreamsAndExtractsAsItIsShown) {
  const Container container = open();
  ASSERT_TRUE(is_ok(extract_record(container, id(container, "weights"), folder_.file("weights"), false)));
  EXPECT_EQ(support::read_file(folder_.file("weights")), made_.expected("weights"));
  EXPECT_TRUE(container.verify().value().findings.empty());
  EXPECT_TRUE(container.verify_record(id(container, "odd")).value().findings.empty());
}

TEST_F(StitchedView, VerifiesExactlyTheLeavesUnderItsSlices) {
  // One granule of the second leaf of store 0 is damaged; "first" takes nothing of that leaf.
  SlicedContainer made({support::pattern(48 * kGranule, 41)});
  made.add(support::sliced("first", {{{3 * kGranule, kGranule}}, {{kGranule, kGranule}}}));
  made.add(support::sliced("second", {{{40 * kGranule, kGranule}}, {{20 * kGranule, kGranule}}}));
  const std::string path = folder_.file("damaged.fatctx");
  support::write_file(path, made.bytes());
  const Container whole = Container::open(path).value();
  const std::uint64_t store = whole.find("store 0").value().file_offset;
  Bytes damaged = support::read_file(path);
  damaged[static_cast<std::size_t>(store + 20 * kGranule + 9)] ^= std::byte{4};
  const std::string other = folder_.file("other.fatctx");
  support::write_file(other, damaged);

  const Container container = Container::open(other).value();
  EXPECT_TRUE(is_ok(container.acquire("first")));
  const auto refused = container.acquire("second");
  ASSERT_TRUE(fails_with(refused, ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_EQ(refused.error().where.file_offset, store + 16 * kGranule);
  EXPECT_EQ(refused.error().where.record_id, id(container, "second"));
  EXPECT_FALSE(live_stitched(*mapped_of(container), id(container, "second")));
  const ContainerMetrics metrics = container_metrics(container);
  for (const RecordMetrics& record : metrics.records) {
    if (record.name == "first") {
      EXPECT_EQ(record.verification, RecordState::kOk);
    }
    if (record.name == "second") {
      EXPECT_EQ(record.verification, RecordState::kBad);
    }
  }
}

TEST_F(StitchedView, IsRefusedIfItsLastPageWouldShowOtherBytes) {
  support::HostileFile tables = made_.tables();
  const auto& entry = SlicedContainer::record_named(tables, "odd");
  const auto& last = tables.slices.at(entry.first_slice + entry.slice_count - 1);
  const std::uint64_t behind = tables.segments.at(last.segment).offset + last.offset_in_segment + last.size;
  tables.in_payload = [behind](Bytes& file) { file[static_cast<std::size_t>(behind)] = std::byte{1}; };
  tables.rehash_payload = true;
  support::write_file(folder_.file("tail.fatctx"), tables.bytes());
  const Container container = Container::open(folder_.file("tail.fatctx")).value();
  for (int round = 0; round < 2; ++round) {
    const auto refused = container.acquire("odd");
    ASSERT_TRUE(fails_with(refused, ErrorCode::kMalformed, "F35"));
    EXPECT_EQ(refused.error().where.file_offset, behind);
  }
  EXPECT_TRUE(is_ok(container.acquire("even")));
}

TEST_F(StitchedView, NeighboursInTheFileAreADirectView) {
  SlicedContainer made({support::pattern(32 * kGranule, 42)});
  made.add(support::sliced("together", {{{4 * kGranule, kGranule}}, {{5 * kGranule, kGranule}}, {{6 * kGranule, 77}}}));
  support::write_file(folder_.file("together.fatctx"), made.bytes());
  const Container container = Container::open(folder_.file("together.fatctx")).value();
  const RecordView view = container.acquire("together").value();
  EXPECT_EQ(view.access_path(), AccessPath::kDirect);
  EXPECT_TRUE(std::ranges::equal(view.bytes(), made.expected("together")));
}

std::string file_of_single_pages(const support::TempDir& folder, SlicedContainer& made, std::size_t slices) {
  std::vector<StoreSlice> pages;
  for (std::size_t i = 0; i < slices; ++i) pages.push_back({{(i * 7 % 64) * kGranule, kGranule}});
  pages.back().range.size = 5;
  made.add(support::sliced("many", std::move(pages)));
  const std::string path = folder.file("many.fatctx");
  support::write_file(path, made.bytes());
  return path;
}

TEST_F(StitchedView, FourThousandSlicesOfOnePage) {
  SlicedContainer made({support::pattern(64 * kGranule, 43)});
  const std::string path = file_of_single_pages(folder_, made, 4096);
  const Container container = Container::open(path, {.file_mapping = FileMapping::kRequire}).value();
  const auto view = container.acquire("many");
  ASSERT_TRUE(is_ok(view));
  EXPECT_EQ(view.value().access_path(), AccessPath::kStitched);
  EXPECT_TRUE(std::ranges::equal(view.value().bytes(), made.expected("many")));
  ASSERT_TRUE(is_ok(container.prefetch(view.value().record_id())));
  EXPECT_TRUE(container.verify_record(view.value().record_id()).value().findings.empty());
}

TEST_F(StitchedView, MorePiecesThanThatAreComposedIfTheCallerAllowsIt) {
  SlicedContainer made({support::pattern(64 * kGranule, 44)});
  const std::string path = file_of_single_pages(folder_, made, 4097);
  const Container container = Container::open(path, {.max_copied_bytes = std::uint64_t{1} << 30}).value();
  const RecordView view = container.acquire("many").value();
  EXPECT_EQ(view.access_path(), AccessPath::kComposed);
  EXPECT_TRUE(std::ranges::equal(view.bytes(), made.expected("many")));
  EXPECT_EQ(support::report_of(container).copied_records, 0U);
  EXPECT_EQ(container.access_path_of(view.record_id()).value(), AccessPath::kComposed);

  for (const FileMapping how : {FileMapping::kAuto, FileMapping::kRequire}) {
    const Container strict = Container::open(path, {.file_mapping = how}).value();
    const auto refused = strict.acquire("many");
    ASSERT_TRUE(fails_with(refused, ErrorCode::kCopyNotAllowed));
    for (const std::string& part : {std::string("4097 pieces"), std::to_string(view.size_bytes())}) {
      EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().message;
    }
    EXPECT_TRUE(fails_with(strict.access_path_of(view.record_id()), ErrorCode::kCopyNotAllowed));
  }
}

TEST_F(StitchedView, OfABufferTheRecordIsCopiedOnceAndSaysSo) {
  const Bytes bytes = support::read_file(path_);
  const Container container = Container::open(Source::of_memory(bytes)).value();
  const std::uint64_t before = file_mapping_fallbacks();
  const auto first = container.acquire("even");
  ASSERT_TRUE(is_ok(first));
  EXPECT_EQ(first.value().access_path(), AccessPath::kCopied);
  EXPECT_TRUE(shows(first.value(), "even"));
  EXPECT_EQ(file_mapping_fallbacks(), before + 1);
  const RecordView second = container.acquire("even").value();
  EXPECT_EQ(second.data(), first.value().data());
  EXPECT_EQ(file_mapping_fallbacks(), before + 1) << "one copy was made";

  const auto refused =
      Container::open(Source::of_memory(bytes), {.file_mapping = FileMapping::kRequire}).value().acquire("even");
  ASSERT_TRUE(fails_with(refused, ErrorCode::kCopyNotAllowed));
  for (const std::string& part : {std::string("buffer"), std::to_string(made_.expected("even").size())}) {
    EXPECT_NE(refused.error().message.find(part), std::string::npos) << refused.error().message;
  }
}

TEST_F(StitchedView, WithoutMapsLeftTheErrorNamesTheRemedy) {
  StitchHost host;
  host.maps = [] { return std::optional(mapping::MapCount{.in_use = 65'500, .limit = 65'530}); };
  const Container container = open();
  const std::uint64_t lines = mapped_lines();
  const auto refused = view_on(container, "even", host);
  ASSERT_TRUE(fails_with(refused, ErrorCode::kNoResource));
  EXPECT_NE(refused.error().message.find("vm.max_map_count"), std::string::npos) << refused.error().message;
  EXPECT_NE(refused.error().message.find("even"), std::string::npos) << refused.error().message;
  EXPECT_EQ(mapped_lines(), lines);
  host.maps = []() -> std::optional<mapping::MapCount> { return std::nullopt; };
  EXPECT_TRUE(is_ok(view_on(container, "even", host))) << "a system that does not say is asked by mapping";
}

std::optional<mapping::MapCount> no_map_in_use() { return mapping::MapCount{.in_use = 0, .limit = map_limit}; }

TEST_F(StitchedView, NeedsAMapForEachPieceAndOneForTheRestOfItsAddresses) {
  const Container container = open();
  const container::Toc& toc = mapped_of(container)->toc();
  const std::uint64_t needed = container::pieces_of(toc, *toc.find(id(container, "even"))).size() + 1;
  StitchHost host;
  host.maps = &no_map_in_use;
  std::size_t enough = 0;
  for (map_limit = 1; map_limit < 2000; ++map_limit) {
    const bool fits = mapping::check_map_budget({.in_use = 0, .limit = map_limit}, needed).ok();
    EXPECT_EQ(view_on(container, "even", host).ok(), fits) << map_limit;
    enough += fits ? 1 : 0;
  }
  EXPECT_GT(enough, 0U);
}

TEST_F(StitchedView, ABufferIsCopiedFromAndAllocatorsAreUsed) {
  const Bytes bytes = support::read_file(path_);
  const Container buffer = Container::open(Source::of_memory(bytes)).value();
  const RecordView view = buffer.acquire("weights").value();
  EXPECT_EQ(view.access_path(), AccessPath::kCopied);
  EXPECT_TRUE(shows(view, "weights"));
  EXPECT_EQ(support::report_of(buffer).copied_records, 3U);

  const RecordView sealed = open({.verify = VerifyPolicy::kPrivateCopy}).acquire("odd").value();
  EXPECT_EQ(sealed.access_path(), AccessPath::kCopied);
  EXPECT_TRUE(shows(sealed, "odd"));
  const RecordView copied = open({.file_mapping = FileMapping::kDisabled}).acquire("odd").value();
  EXPECT_EQ(copied.access_path(), AccessPath::kCopied);
  EXPECT_TRUE(shows(copied, "odd"));
}

TEST_F(StitchedView, APartOfALargerFileIsStitchedToo) {
  Bytes archive = support::pattern(3 * kGranule, 9);
  const Bytes content = support::read_file(path_);
  archive.insert(archive.end(), content.begin(), content.end());
  archive.insert(archive.end(), 10'000, std::byte{7});
  support::write_file(folder_.file("archive"), archive);
  const auto file = mapping::open_for_reading(folder_.file("archive")).value();
  const Container container =
      Container::open(Source::of_descriptor(file->descriptor(), {3 * kGranule, content.size()})).value();
  for (const char* name : {"even", "weights"}) {
    const RecordView view = container.acquire(name).value();
    EXPECT_EQ(view.access_path(), AccessPath::kStitched);
    EXPECT_TRUE(shows(view, name));
  }
}

TEST_F(StitchedView, PrefetchBringsInItsPagesAndReleaseGivesThemBack) {
  const Container container = open({.verify = VerifyPolicy::kNone});
  const std::uint32_t weights = id(container, "weights");
  const RecordView view = container.acquire(weights).value();
  const auto resident = [&] { return mapping::resident_bytes(view.bytes()).value(); };
  EXPECT_EQ(resident(), 0U);
  std::uint64_t told = 0;
  const auto done = container.prefetch(weights, {.progress = [&](std::uint64_t now, std::uint64_t) { told = now; }});
  ASSERT_TRUE(is_ok(done));
  EXPECT_EQ(done.value().done_bytes, view.size_bytes());
  EXPECT_EQ(told, view.size_bytes());
  if (done.value().method == PrefetchMethod::kPopulate) {
    EXPECT_EQ(resident(), view.size_bytes());
  }
  const ContainerMetrics metrics = container_metrics(container);
  EXPECT_EQ(metrics.stitched_bytes, view.size_bytes());
  EXPECT_GE(metrics.resident_bytes.value_or(0), resident());

  const auto released = container.release(weights);
  ASSERT_TRUE(is_ok(released));
  EXPECT_EQ(released.value().released_bytes, view.size_bytes());
  EXPECT_EQ(resident(), 0U);
  EXPECT_TRUE(shows(view, "weights")) << "it comes back";
}

TEST_F(StitchedView, PrefetchWithoutAViewBringsTheFileIn) {
  const Container container = open({.verify = VerifyPolicy::kNone});
  const auto done = container.prefetch(id(container, "weights"), {.max_bytes = 10 * kGranule});
  ASSERT_TRUE(is_ok(done));
  EXPECT_EQ(done.value().done_bytes, 10 * kGranule);
  EXPECT_EQ(container_metrics(container).stitched_bytes, 0U);
  for (const RecordMetrics& record : container_metrics(container).records) {
    if (record.name == "weights" && done.value().method == PrefetchMethod::kPopulate) {
      EXPECT_GE(record.resident_bytes.value_or(0), 10 * kGranule);
    }
  }
}

TEST_F(StitchedView, PrefetchOfACutFileNamesTheByteInTheFile) {
  const Container container = open({.verify = VerifyPolicy::kNone});
  const RecordView view = container.acquire("weights").value();
  const auto file = container.find("weights").value();
  // Its first slice is the last granule of the store. recheck() would see the cut, so the test reads the pages
  // directly.
  const ByteRange first{file.file_offset, kGranule};
  ASSERT_EQ(::truncate(path_.c_str(), static_cast<off_t>(first.offset)), 0);
  const auto failed = mapping::populate_at(mapped_of(container)->file(), view.bytes().first(kGranule), first.offset);
  ASSERT_TRUE(fails_with(failed, ErrorCode::kChanged));
  EXPECT_EQ(failed.error().where.file_offset, first.offset);
  EXPECT_TRUE(fails_with(container.prefetch(view.record_id()), ErrorCode::kChanged));
}

TEST_F(StitchedView, LocksStayUntilTheyAreDropped) {
  if (!support::locking_works()) GTEST_SKIP() << "this system or build locks nothing";
  const Container container = open();
  const std::uint32_t even = id(container, "even");
  {
    const auto lock = container.lock(even);
    ASSERT_TRUE(is_ok(lock));
    EXPECT_GE(container_metrics(container).locked_bytes.value_or(0), lock.value().size_bytes());
    EXPECT_TRUE(fails_with(container.release(even), ErrorCode::kOperationNotPermitted));
  }
  EXPECT_TRUE(is_ok(container.release(even)));
}

TEST_F(StitchedView, ACutUnderItIsAnErrorWithTheGuardForEver) {
  ASSERT_TRUE(is_ok(install_mapping_guard()));
  const Container container = open();
  {
    const RecordView view = container.acquire("weights").value();
    ASSERT_EQ(::truncate(path_.c_str(), 70'000), 0);
    EXPECT_EQ(*reinterpret_cast<const volatile unsigned char*>(view.data()), 0U) << "a zero in place of a signal";
    EXPECT_TRUE(fails_with(container.check(), ErrorCode::kMappingLost));
  }
  EXPECT_TRUE(fails_with(container.check(), ErrorCode::kMappingLost)) << "also when the view is gone";
  EXPECT_TRUE(fails_with(container.acquire("even"), ErrorCode::kMappingLost));
}

TEST_F(StitchedView, ACutThatNobodyReadIsAChange) {
  const Container container = open();
  const RecordView view = container.acquire("weights").value();
  ASSERT_EQ(::truncate(path_.c_str(), 70'000), 0);
  EXPECT_TRUE(fails_with(container.check(), ErrorCode::kChanged));
  EXPECT_TRUE(fails_with(container.acquire("weights"), ErrorCode::kChanged));
}

TEST_F(StitchedView, AForkedChildReadsWhatItHasAndMapsAnew) {
  const Container container = open();
  const RecordView view = container.acquire("even").value();
  EXPECT_EQ(support::in_child([&] {
              if (!shows(view, "even")) return 1;
              const auto again = container.acquire("even");
              if (!again.ok() || again.value().data() != view.data()) return 2;
              const auto other = container.acquire("weights");
              if (!other.ok() || other.value().access_path() != AccessPath::kStitched) return 3;
              return shows(other.value(), "weights") ? 0 : 4;
            }),
            0);
  EXPECT_TRUE(shows(view, "even"));
}

TEST_F(StitchedView, AReplacedFileLeavesOldViewsAsTheyAre) {
  const Container container = open();
  const RecordView view = container.acquire("even").value();
  support::write_file(folder_.file("new"), Bytes(100'000, std::byte{3}));
  ASSERT_EQ(::rename(folder_.file("new").c_str(), path_.c_str()), 0);
  EXPECT_TRUE(shows(view, "even"));
}

}  // namespace stitched_view_test
}  // namespace fatctx
