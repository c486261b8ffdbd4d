#include "runtime/view/composed_view.h"

#include <sys/mman.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <fstream>
#include <set>

#include "fatctx/extract.h"
#include "fatctx/mapping_guard.h"
#include "fatctx/metrics.h"
#include "fatctx/range_access.h"
#include "fatctx/trace.h"
#include "mapping/page_advice.h"
#include "mapping/residency.h"
#include "runtime/chip_model.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/mapped_container.h"
#include "support/child_process.h"
#include "support/descriptors.h"
#include "support/mapped_file.h"
#include "support/opened.h"
#include "support/process_files.h"
#include "support/recipe_file.h"
#include "support/sliced_container.h"

namespace fatctx {
namespace composed_view_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;

class ComposedView : public testing::ChipModel {
 protected:
  [[nodiscard]] static Result<RecordView> view_on(const Container& container, std::string_view name,
                                                  const StitchHost& host) {
    return composed_view(container, *mapped_of(container)->find(name).value(), host);
  }
  [[nodiscard]] static bool holds(const std::string& text, std::uint64_t number) {
    return text.find(std::to_string(number)) != std::string::npos;
  }
  [[nodiscard]] static RecordMetrics metrics_of(const Container& container, std::string_view name) {
    for (const RecordMetrics& record : container_metrics(container).records) {
      if (record.name == name) return record;
    }
    return {};
  }
};

TEST_F(ComposedView, ShowsTheBytesOfEveryChip) {
  const Container container = open();
  ASSERT_EQ(recipes().size(), 3U);
  std::set<AccessPath> paths;
  for (std::size_t chip = 0; chip < corpus().chips.size(); ++chip) {
    const auto view = container.acquire(name(chip));
    ASSERT_TRUE(is_ok(view)) << chip;
    EXPECT_TRUE(shows(view.value(), chip)) << chip;
    const RecordInfo record = container.find(name(chip)).value();
    EXPECT_EQ(view.value().access_path(), record.recipe ? AccessPath::kComposed : AccessPath::kDirect);
    EXPECT_EQ(container.access_path_of(record.id).value(), view.value().access_path());
    if (!record.recipe) {
      EXPECT_EQ(view.value().copied_bytes(), 0U);
    }
    paths.insert(view.value().access_path());
  }
  EXPECT_EQ(paths.size(), 2U);
  EXPECT_EQ(access_path_name(AccessPath::kComposed), "composed");
  EXPECT_EQ(support::report_of(container).copied_records, 0U);
}

TEST_F(ComposedView, WhatFitsThePagesOfTheFileIsMappedAndOnlyTheRestIsBuilt) {
  const Container container = open();
  const std::size_t chip = mixed();
  const RecordView view = container.acquire(name(chip)).value();
  const auto live = live_composed(*mapped_of(container), view.record_id());
  ASSERT_TRUE(live);
  std::uint64_t built = 0;
  std::uint64_t shown = 0;
  for (const mapping::MixedPiece& piece : live->pieces()) {
    shown += piece.size;
    if (piece.built) {
      built += (piece.size + 4095) / 4096 * 4096;
    } else {
      EXPECT_GE(piece.size, 8U * 4096);
      EXPECT_EQ(piece.offset % 4096, 0U);
    }
  }
  EXPECT_EQ(shown, view.size_bytes());
  EXPECT_EQ(built, view.copied_bytes());
  EXPECT_EQ(built, live->memory_bytes());
  EXPECT_LT(built, view.size_bytes());
}

TEST_F(ComposedView, IsBuiltOnceForTheProcessAndFreedWithTheLastView) {
  const std::size_t chip = mixed();
  const std::size_t descriptors = support::open_descriptors();
  {
    const Container container = open();
    std::optional<RecordView> first = container.acquire(name(chip)).value();
    std::optional<RecordView> second = open().acquire(name(chip)).value();
    EXPECT_EQ(first->data(), second->data());
    const std::uint64_t built = first->copied_bytes();
    EXPECT_EQ(mapped_of(container)->composed_bytes(), built) << "once, and not for each";
    EXPECT_EQ(container_metrics(container).composed_bytes, built);
    EXPECT_EQ(metrics_of(container, name(chip)).composed_bytes, built);
    EXPECT_EQ(metrics_of(container, name(chip)).views, 2U);
    EXPECT_EQ(nlohmann::json::parse(to_json(container_metrics(container)))["container"]["composed_bytes"], built);
    first.reset();
    EXPECT_TRUE(shows(*second, chip));
    second.reset();
    EXPECT_EQ(mapped_of(container)->composed_bytes(), 0U);
    EXPECT_FALSE(live_composed(*mapped_of(container), container.find(name(chip)).value().id));
    EXPECT_EQ(container_metrics(container).composed_bytes, 0U);
  }
  EXPECT_EQ(support::open_descriptors(), descriptors);
}

TEST_F(ComposedView, NobodyCanWriteToWhatWasBuilt) {
  const Container container = open();
  const RecordView view = container.acquire(name(mixed())).value();
  std::ifstream maps("/proc/self/maps");
  bool found = false;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("memfd:fatctx") == std::string::npos) continue;
    found = true;
    EXPECT_NE(line.find(" r--"), std::string::npos) << line;
  }
  EXPECT_TRUE(found);
  for (const std::size_t at : {std::size_t{0}, view.bytes().size() - 1}) {
    auto* page = const_cast<std::byte*>(view.data() + at - reinterpret_cast<std::uintptr_t>(view.data() + at) % 4096);
    EXPECT_NE(::mprotect(page, 4096, PROT_READ | PROT_WRITE), 0) << at;
  }
}

TEST_F(ComposedView, WithoutABudgetTheErrorNamesTheBytesAndTheRemedy) {
  const std::size_t chip = mixed();
  const std::uint64_t needed = open().acquire(name(chip)).value().copied_bytes();
  for (const std::uint64_t budget : {std::uint64_t{0}, needed - 1}) {
    const Container container = open({.max_copied_bytes = budget});
    for (const auto& refused : {container.acquire(name(chip))}) {
      ASSERT_TRUE(fails_with(refused, ErrorCode::kCopyNotAllowed));
      const std::string text = to_text(refused.error());
      EXPECT_TRUE(holds(text, needed)) << text;
      EXPECT_NE(text.find("max_copied_bytes"), std::string::npos) << text;
      EXPECT_NE(text.find(name(chip)), std::string::npos) << text;
      EXPECT_NE(text.find(path_), std::string::npos) << text;
      EXPECT_EQ(text.find("in use"), std::string::npos) << text;
    }
    EXPECT_TRUE(
        fails_with(container.access_path_of(container.find(name(chip)).value().id), ErrorCode::kCopyNotAllowed));
    EXPECT_EQ(mapped_of(container)->composed_bytes(), 0U);
  }
  EXPECT_TRUE(is_ok(open({.max_copied_bytes = needed}).acquire(name(chip)))) << "what it names is enough";
}

TEST_F(ComposedView, TheBudgetIsForAllRecordsOfTheMappingTogether) {
  const std::vector<std::size_t> chips = recipes();
  const std::uint64_t first = open().acquire(name(chips[0])).value().copied_bytes();
  const std::uint64_t second = open().acquire(name(chips[1])).value().copied_bytes();
  const Container container = open({.max_copied_bytes = first + second - 1});
  std::optional<RecordView> held = container.acquire(name(chips[0])).value();
  const auto refused = container.acquire(name(chips[1]));
  ASSERT_TRUE(fails_with(refused, ErrorCode::kCopyNotAllowed));
  EXPECT_TRUE(holds(refused.error().message, first + second)) << refused.error().message;
  EXPECT_NE(refused.error().message.find(", beside " + std::to_string(first) + " in use"), std::string::npos);
  EXPECT_EQ(mapped_of(container)->composed_bytes(), first);
  EXPECT_TRUE(is_ok(container.acquire(name(chips[0])))) << "what is there costs nothing";
  held.reset();
  EXPECT_TRUE(is_ok(container.acquire(name(chips[1])))) << "what is gone is free again";
}

TEST_F(ComposedView, AHandleWithoutBudgetIsRefusedAlsoIfAnotherOneHasPaid) {
  const std::size_t chip = mixed();
  const RecordView paid = open().acquire(name(chip)).value();
  EXPECT_TRUE(fails_with(open({}).acquire(name(chip)), ErrorCode::kCopyNotAllowed));
  EXPECT_TRUE(shows(paid, chip));
}

TEST_F(ComposedView, RequiredMappingForbidsItWhateverTheBudget) {
  const std::size_t chip = mixed();
  const Container container = open({.file_mapping = FileMapping::kRequire, .max_copied_bytes = kEnough});
  const auto refused = container.acquire(name(chip));
  ASSERT_TRUE(fails_with(refused, ErrorCode::kCopyNotAllowed));
  EXPECT_NE(refused.error().message.find("mapping is required"), std::string::npos) << refused.error().message;
  for (std::size_t other = 0; other < corpus().chips.size(); ++other) {
    if (!container.find(name(other)).value().recipe) {
      EXPECT_TRUE(is_ok(container.acquire(name(other))));
    }
  }
}

TEST_F(ComposedView, FewerPiecesAreBoughtWithMoreBytes) {
  const std::size_t chip = mixed();
  std::uint64_t built = 0;
  std::size_t pieces = 0;
  for (const std::uint64_t most : {4096U, 7U, 3U, 2U, 1U}) {
    StitchHost host;
    host.most_pieces = most;
    const Container container = open();
    const auto view = view_on(container, name(chip), host);
    ASSERT_TRUE(is_ok(view)) << most;
    EXPECT_TRUE(shows(view.value(), chip)) << most;
    const auto live = live_composed(*mapped_of(container), view.value().record_id());
    EXPECT_LE(live->pieces().size(), most);
    EXPECT_GE(view.value().copied_bytes(), built);
    if (pieces != 0) {
      EXPECT_LE(live->pieces().size(), pieces);
    }
    pieces = live->pieces().size();
    built = view.value().copied_bytes();
  }
  EXPECT_GE(built, corpus().chips[chip].size()) << "one piece is built as a whole";
}

TEST_F(ComposedView, WithoutMapsLeftTheErrorNamesTheRemedyAndNothingIsLeft) {
  StitchHost host;
  host.maps = [] { return std::optional(mapping::MapCount{.in_use = 65'529, .limit = 65'530}); };
  const std::size_t chip = mixed();
  const Container container = open();
  const auto refused = view_on(container, name(chip), host);
  ASSERT_TRUE(fails_with(refused, ErrorCode::kNoResource));
  EXPECT_NE(refused.error().message.find("vm.max_map_count"), std::string::npos) << refused.error().message;
  EXPECT_EQ(mapped_of(container)->composed_bytes(), 0U);
  EXPECT_TRUE(is_ok(container.acquire(name(chip))));
}

TEST_F(ComposedView, OnAHostOfLargerPagesSlicesAreComposedWithinTheBudget) {
  support::SlicedContainer made({support::pattern(80 * 4096, 51)});
  made.add(
      support::sliced("record", {{{0, 36 * 4096}}, {{40 * 4096, 40 * 4096}}, {{37 * 4096, 4096}}, {{36 * 4096, 5}}}));
  const std::string path = folder_.file("sliced.fatctx");
  support::write_file(path, made.bytes());
  StitchHost host;
  host.page_bytes = 16'384;
  const Container container = Container::open(path, {.max_copied_bytes = kEnough}).value();
  ASSERT_TRUE(is_composed(container, *mapped_of(container)->find("record").value(), host));
  EXPECT_FALSE(is_composed(container, *mapped_of(container)->find("record").value())) << "these pages fit";
  const auto view = view_on(container, "record", host);
  ASSERT_TRUE(is_ok(view));
  EXPECT_EQ(view.value().access_path(), AccessPath::kComposed);
  EXPECT_TRUE(std::ranges::equal(view.value().bytes(), made.expected("record")));
  EXPECT_GT(view.value().copied_bytes(), 0U);
  EXPECT_EQ(metrics_of(container, "record").verification, RecordState::kOk);

  const Container without = Container::open(path).value();
  EXPECT_TRUE(is_composed(without, *mapped_of(without)->find("record").value(), host)) << "nothing is copied unasked";
  for (const FileMapping how : {FileMapping::kAuto, FileMapping::kRequire}) {
    const auto refused = view_on(Container::open(path, {.file_mapping = how}).value(), "record", host);
    ASSERT_TRUE(fails_with(refused, ErrorCode::kCopyNotAllowed));
    const std::string text = to_text(refused.error());
    EXPECT_TRUE(holds(text, view.value().copied_bytes())) << text;
    EXPECT_TRUE(holds(text, host.page_bytes)) << "and why: " << text;
    EXPECT_NE(text.find("max_copied_bytes"), std::string::npos) << text;
    EXPECT_NE(text.find("cache_folder"), std::string::npos) << text;
  }
}

TEST_F(ComposedView, OnAHostOfLargerPagesRecipesMapLess) {
  StitchHost host;
  host.page_bytes = 65'536;
  for (const std::size_t chip : recipes()) {
    const std::uint64_t built = open().acquire(name(chip)).value().copied_bytes();
    const auto view = view_on(open(), name(chip), host);
    ASSERT_TRUE(is_ok(view));
    EXPECT_TRUE(shows(view.value(), chip));
    EXPECT_GE(view.value().copied_bytes(), built);
  }
}

TEST_F(ComposedView, ABufferIsComposedAsAWhole) {
  const Bytes bytes = support::read_file(path_);
  const Container container = Container::open(Source::of_memory(bytes), {.max_copied_bytes = kEnough}).value();
  for (const std::size_t chip : recipes()) {
    const RecordView view = container.acquire(name(chip)).value();
    EXPECT_EQ(view.access_path(), AccessPath::kComposed);
    EXPECT_GE(view.copied_bytes(), view.size_bytes());
    EXPECT_TRUE(shows(view, chip));
  }
}

class ReadingProvider final : public MappingProvider {
 public:
  std::string_view name() const noexcept override { return "a provider"; }
  Result<ByteView> map(int descriptor, std::uint64_t offset, std::uint64_t size) override {
    memory_.resize(static_cast<std::size_t>(size));
    if (!support::read_descriptor(descriptor, memory_.data(), memory_.size(), offset)) {
      return Error{ErrorCode::kIo, "short read"};
    }
    return ByteView(memory_);
  }
  void unmap(ByteView) noexcept override {}

 private:
  Bytes memory_;
};

TEST_F(ComposedView, OverAMappingProviderItIsBuiltAsAWhole) {
  const std::size_t chip = mixed();
  const Container container =
      open({.mapping_provider = std::make_shared<ReadingProvider>(), .max_copied_bytes = kEnough});
  const RecordView view = container.acquire(name(chip)).value();
  EXPECT_GE(view.copied_bytes(), view.size_bytes());
  EXPECT_TRUE(shows(view, chip));
}

TEST_F(ComposedView, ARecordInTwoPiecesIsComposedWhereItCannotBeStitched) {
  support::SlicedContainer made({support::pattern(80 * 4096, 51)});
  made.add(support::sliced("record", {{{40 * 4096, 36 * 4096}}, {{4096, 5}}}));
  const std::string path = folder_.file("two.fatctx");
  support::write_file(path, made.bytes());
  for (const auto& provider :
       {std::shared_ptr<MappingProvider>(), std::shared_ptr<MappingProvider>(std::make_shared<ReadingProvider>())}) {
    for (const std::uint64_t page : {std::uint64_t{4096}, std::uint64_t{16'384}}) {
      const bool composed = provider != nullptr || page > 4096;
      const Container container =
          Container::open(path, {.mapping_provider = provider, .max_copied_bytes = kEnough}).value();
      StitchHost host;
      host.page_bytes = page;
      EXPECT_EQ(is_composed(container, *mapped_of(container)->find("record").value(), host), composed) << page;
      if (!composed) continue;
      const auto view = view_on(container, "record", host);
      ASSERT_TRUE(is_ok(view));
      EXPECT_TRUE(std::ranges::equal(view.value().bytes(), made.expected("record")));
    }
  }
}

TEST_F(ComposedView, ConsumersThatTakeCopiesNeedNoBudget) {
  const std::size_t chip = mixed();
  for (const OpenOptions& options :
       {OpenOptions{.verify = VerifyPolicy::kPrivateCopy}, OpenOptions{.file_mapping = FileMapping::kDisabled}}) {
    const RecordView view = open(options).acquire(name(chip)).value();
    EXPECT_EQ(view.access_path(), AccessPath::kCopied);
    EXPECT_EQ(view.copied_bytes(), view.size_bytes());
    EXPECT_TRUE(shows(view, chip));
  }
}

TEST_F(ComposedView, APartOfALargerFileIsComposedToo) {
  Bytes archive = support::pattern(3 * 4096, 9);
  const Bytes content = support::read_file(path_);
  archive.insert(archive.end(), content.begin(), content.end());
  archive.insert(archive.end(), 10'000, std::byte{7});
  support::write_file(folder_.file("archive"), archive);
  const auto file = mapping::open_for_reading(folder_.file("archive")).value();
  const OpenOptions options{.max_copied_bytes = kEnough};
  const std::size_t chip = mixed();
  const Container container =
      Container::open(Source::of_descriptor(file->descriptor(), {3 * 4096, content.size()}), options).value();
  const RecordView view = container.acquire(name(chip)).value();
  EXPECT_LT(view.copied_bytes(), view.size_bytes());
  EXPECT_TRUE(shows(view, chip));
  StitchHost host;
  host.page_bytes = 8192;  // the part begins in the middle of such a page
  const Container other =
      Container::open(Source::of_descriptor(file->descriptor(), {3 * 4096, content.size()}), options).value();
  EXPECT_TRUE(shows(view_on(other, name(chip), host).value(), chip));
}

TEST_F(ComposedView, SessionsAndRangesWork) {
  const std::size_t chip = mixed();
  ModelOptions options;
  options.open.max_copied_bytes = kEnough;
  options.device = Device{};
  options.device->arch = arch(chip);
  const Model model = Model::open(path_, options).value();
  Session session = model.begin_session().value();
  const Session again = model.begin_session().value();
  const RecordView binary = session.binary().value();
  EXPECT_EQ(binary.record_id(), model.container()->find(name(chip)).value().id);
  const RecordView shared = again.binary().value();
  EXPECT_EQ(binary.data(), shared.data());
  EXPECT_TRUE(shows(binary, chip));
  const RangeAccess ranges(binary);
  const ProvidedRange range = ranges.provide(5'000, 300'000).value();
  EXPECT_TRUE(std::equal(range.data, range.data + range.size_bytes, corpus().chips[chip].begin() + 5'000));
  EXPECT_TRUE(is_ok(ranges.release(range.id)));
  EXPECT_TRUE(is_ok(session.end()));
}

TEST_F(ComposedView, DamageOfABaseIsNeverHandedOutThroughARecipe) {
  const std::size_t chip = mixed();
  const Container whole = open();
  const RecordView view = whole.acquire(name(chip)).value();
  const auto live = live_composed(*mapped_of(whole), view.record_id());
  const auto run = std::ranges::find_if(live->pieces(), [](const mapping::MixedPiece& piece) { return !piece.built; });
  Bytes damaged = support::read_file(path_);
  damaged[static_cast<std::size_t>(run->offset + run->size / 2)] ^= std::byte{1};
  support::write_file(folder_.file("damaged.fatctx"), damaged);

  const Container container = Container::open(folder_.file("damaged.fatctx"), {.max_copied_bytes = kEnough}).value();
  const auto refused = container.acquire(name(chip));
  ASSERT_TRUE(fails_with(refused, ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_EQ(refused.error().where.record_id, view.record_id());
  EXPECT_EQ(metrics_of(container, name(chip)).verification, RecordState::kBad);
  EXPECT_EQ(mapped_of(container)->composed_bytes(), 0U);
  EXPECT_FALSE(live_composed(*mapped_of(container), view.record_id()));
  EXPECT_EQ(metrics_of(whole, name(chip)).verification, RecordState::kOk);
}

TEST_F(ComposedView, ARecipeThatMakesOtherBytesThanItsHashIsRefused) {
  // Once mapped as a whole, once mostly composed: the stored hash is that of the sample's weights in both cases.
  const Bytes weights = support::pattern(support::kSampleWeightsSize, 11);
  for (const bool right : {true, false}) {
    support::HostileFile file(support::unsealed_sample());
    support::ProgramText program;
    right ? program.copy(150'000, 0) : program.copy(149'999, 0).fill(1, 99);
    ASSERT_NE(weights.back(), std::byte{99});
    support::add_recipe(file, program.bytes(), weights);
    support::write_file(folder_.file("recipe.fatctx"), file.bytes());
    const Container container = Container::open(folder_.file("recipe.fatctx"), {.max_copied_bytes = kEnough}).value();
    const auto records = support::records_in(container);
    const auto record = std::ranges::find_if(records, [](const RecordInfo& one) { return one.recipe; });
    ASSERT_NE(record, records.end());
    const auto view = container.acquire(record->id);
    if (right) {
      ASSERT_TRUE(is_ok(view));
      EXPECT_TRUE(std::ranges::equal(view.value().bytes(), weights));
      continue;
    }
    ASSERT_TRUE(fails_with(view, ErrorCode::kChecksumMismatch, "F37"));
    EXPECT_EQ(view.error().where.record_id, record->id);
    EXPECT_EQ(mapped_of(container)->composed_bytes(), 0U);
  }
}

TEST_F(ComposedView, AHostileSizeIsRefusedByTheBudgetBeforeMemoryIsTaken) {
  constexpr std::uint64_t kClaimed = std::uint64_t{1} << 45;
  support::HostileFile file(support::unsealed_sample());
  support::ProgramText program;
  program.copy(150'000, 0).fill(kClaimed - 150'000, 1);
  support::add_recipe(file, program.bytes(), support::pattern(150'000, 11)).logical_size = kClaimed;
  support::write_file(folder_.file("huge.fatctx"), file.bytes());
  for (const auto& [made, code] : {std::pair(std::uint64_t{0}, ErrorCode::kLimitExceeded),
                                   std::pair(std::uint64_t{UINT64_MAX}, ErrorCode::kCopyNotAllowed)}) {
    const Container container =
        Container::open(folder_.file("huge.fatctx"), {.max_copied_bytes = 1 << 20, .max_made_bytes = made}).value();
    const auto records = support::records_in(container);
    const auto record = std::ranges::find_if(records, [](const RecordInfo& one) { return one.recipe; });
    const auto refused = container.acquire(record->id);
    ASSERT_TRUE(fails_with(refused, code));
  }
}

TEST_F(ComposedView, AFileThatWasTouchedIsVerifiedAgain) {
  const std::size_t chip = mixed();
  const Container container = open();
  const RecordView view = container.acquire(name(chip)).value();
  const auto live = live_composed(*mapped_of(container), view.record_id());
  const auto run = std::ranges::find_if(live->pieces(), [](const mapping::MixedPiece& piece) { return !piece.built; });
  {
    std::fstream file(path_, std::ios::binary | std::ios::in | std::ios::out);
    file.seekp(static_cast<std::streamoff>(run->offset));
    file.put(static_cast<char>(std::to_integer<int>(view.data()[0]) ^ 1));
    file.put('x');
  }
  std::filesystem::last_write_time(path_, std::filesystem::file_time_type::clock::now() + std::chrono::seconds(5));
  const auto refused = container.acquire(name(chip));
  ASSERT_TRUE(fails_with(refused, ErrorCode::kChecksumMismatch, "F26"));
}

TEST_F(ComposedView, WhatWasBuiltWithoutACheckIsCheckedForWhoAsks) {
  const std::size_t chip = mixed();
  const Container careless = open({.verify = VerifyPolicy::kNone, .max_copied_bytes = kEnough});
  const RecordView view = careless.acquire(name(chip)).value();
  EXPECT_TRUE(shows(view, chip));
  EXPECT_EQ(metrics_of(careless, name(chip)).verification, RecordState::kUnknown);
  const RecordView checked = open().acquire(name(chip)).value();
  EXPECT_EQ(checked.data(), view.data());
  EXPECT_EQ(metrics_of(careless, name(chip)).verification, RecordState::kOk);
}

TEST_F(ComposedView, PrefetchBringsInItsPagesAndReleaseGivesThemBack) {
  const std::size_t chip = mixed();
  const Container container = open({.verify = VerifyPolicy::kNone, .max_copied_bytes = kEnough});
  const std::uint32_t id = container.find(name(chip)).value().id;
  const auto before = container.prefetch(id);
  ASSERT_TRUE(is_ok(before));
  EXPECT_EQ(before.value().asked_bytes, container.find(name(chip)).value().stored_bytes);
  EXPECT_EQ(before.value().done_bytes, before.value().asked_bytes) << "what it will be made from";

  const RecordView view = container.acquire(id).value();
  const auto done = container.prefetch(id);
  ASSERT_TRUE(is_ok(done));
  EXPECT_EQ(done.value().asked_bytes, view.size_bytes());
  EXPECT_EQ(done.value().done_bytes, view.size_bytes());
  if (done.value().method == PrefetchMethod::kPopulate) {
    EXPECT_GE(mapping::resident_bytes(view.bytes()).value(), view.size_bytes() - view.copied_bytes());
  }
  EXPECT_LE(container.prefetch(id, {.max_bytes = 50'000}).value().done_bytes, 50'000U);
  const auto aside = container.prefetch_in_background(id).value().wait();
  EXPECT_EQ(aside.value().done_bytes, view.size_bytes());

  const auto released = container.release(id);
  ASSERT_TRUE(is_ok(released));
  EXPECT_GT(released.value().released_bytes, 0U);
  EXPECT_LE(released.value().released_bytes, view.size_bytes() - view.copied_bytes() + 4096);
  EXPECT_TRUE(shows(view, chip)) << "what was built stays, the rest comes back";
}

TEST_F(ComposedView, LocksCoverBothKindsOfItsPages) {
  if (!support::locking_works()) GTEST_SKIP() << "this system or build locks nothing";
  const Container container = open();
  const std::uint32_t id = container.find(name(mixed())).value().id;
  {
    const auto lock = container.lock(id);
    ASSERT_TRUE(is_ok(lock));
    EXPECT_GE(container_metrics(container).locked_bytes.value_or(0), lock.value().size_bytes());
    EXPECT_TRUE(fails_with(container.release(id), ErrorCode::kOperationNotPermitted));
  }
  EXPECT_TRUE(is_ok(container.release(id)));
}

TEST_F(ComposedView, ACutUnderItIsAnErrorWithTheGuardForEver) {
  ASSERT_TRUE(is_ok(install_mapping_guard()));
  const std::size_t chip = mixed();
  const Container container = open();
  {
    const RecordView view = container.acquire(name(chip)).value();
    const auto live = live_composed(*mapped_of(container), view.record_id());
    std::size_t at = 0;
    for (const mapping::MixedPiece& piece : live->pieces()) {
      if (!piece.built) break;
      at += static_cast<std::size_t>(piece.size);
    }
    ASSERT_EQ(::truncate(path_.c_str(), 70'000), 0);
    EXPECT_EQ(*reinterpret_cast<const volatile unsigned char*>(view.data() + at), 0U) << "a zero in place of a signal";
    EXPECT_TRUE(fails_with(container.check(), ErrorCode::kMappingLost));
  }
  EXPECT_TRUE(fails_with(container.check(), ErrorCode::kMappingLost)) << "also when the view is gone";
  EXPECT_TRUE(fails_with(container.acquire(name(chip)), ErrorCode::kMappingLost));
}

TEST_F(ComposedView, ACutThatNobodyReadIsAChange) {
  const std::size_t chip = mixed();
  const Container container = open();
  const RecordView view = container.acquire(name(chip)).value();
  ASSERT_EQ(::truncate(path_.c_str(), 70'000), 0);
  EXPECT_TRUE(fails_with(container.check(), ErrorCode::kChanged));
  EXPECT_TRUE(fails_with(container.acquire(name(chip)), ErrorCode::kChanged));
}

TEST_F(ComposedView, AForkedChildReadsWhatItHasAndComposesAnew) {
  const std::vector<std::size_t> chips = recipes();
  const Container container = open();
  const RecordView view = container.acquire(name(chips[0])).value();
  EXPECT_EQ(support::in_child([&] {
              if (!shows(view, chips[0])) return 1;
              const auto again = container.acquire(name(chips[0]));
              if (!again.ok() || again.value().data() != view.data()) return 2;
              const auto other = container.acquire(name(chips[1]));
              if (!other.ok() || other.value().access_path() != AccessPath::kComposed) return 3;
              return shows(other.value(), chips[1]) ? 0 : 4;
            }),
            0);
  EXPECT_TRUE(shows(view, chips[0]));
}

TEST_F(ComposedView, ATraceTellsHowItWasComposedAndIsReplayed) {
  const std::size_t chip = mixed();
  std::string trace;
  set_trace([&](std::string_view line) { trace.append(line).append("\n"); });
  const RecordView view = open({.max_copied_bytes = 123'456'789}).acquire(name(chip)).value();
  set_trace({});
  EXPECT_NE(trace.find("\"max_copied_bytes\":123456789"), std::string::npos) << trace;
  EXPECT_NE(trace.find("\"access_path\":\"composed\""), std::string::npos) << trace;
  EXPECT_NE(trace.find("\"copied_bytes\":" + std::to_string(view.copied_bytes())), std::string::npos) << trace;
  const auto replay = replay_trace(trace);
  ASSERT_TRUE(is_ok(replay));
  EXPECT_TRUE(replay.value().differences.empty());

  const std::string smaller = trace.replace(trace.find("123456789"), 9, "1");
  EXPECT_EQ(replay_trace(smaller).value().differences.size(), 1U) << "the budget is replayed";
}

}  // namespace composed_view_test
}  // namespace fatctx
