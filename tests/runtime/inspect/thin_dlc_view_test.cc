#include "runtime/inspect/thin_dlc_view.h"

#include <algorithm>
#include <filesystem>
#include <optional>

#include "fatctx/range_access.h"
#include "fatctx/signature.h"
#include "runtime/dlc_model.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/mapped_container.h"
#include "support/opened.h"
#include "support/sample_container.h"
#include "support/signed_file.h"

namespace fatctx {
namespace thin_dlc_view_test {

using support::Bytes;
using support::fails_with;
using support::is_ok;
using support::two_socs;

const DlcChoice kSoc57{.qnn_socs = {57}, .entries = {}};
const DlcChoice kSoc69{.qnn_socs = {69}, .entries = {}};

class ThinView : public testing::StoredDlcs {
 protected:
  [[nodiscard]] ::testing::AssertionResult shows(const Result<ThinDlcView>& view, const DlcChoice& choice) {
    if (!view.ok()) return is_ok(view);
    if (std::ranges::equal(view.value().bytes(), thin_of_original(choice))) return ::testing::AssertionSuccess();
    return ::testing::AssertionFailure() << "it shows other bytes than the thin DLC of the original";
  }
};

TEST_F(ThinView, IsTheThinDlcInAFewPiecesAndPages) {
  const Container container = Container::open(pack(testing::large_dlc())).value();
  for (const DlcChoice& choice : {kSoc57, kSoc69}) {
    const auto view = thin_dlc_view(container, choice);
    ASSERT_TRUE(shows(view, choice));
    EXPECT_EQ(view.value().size_bytes(), view.value().bytes().size());
    EXPECT_EQ(view.value().copied_bytes(), 0U);
    EXPECT_LE(view.value().new_bytes(), 16U * 1024);
    EXPECT_LE(view.value().mapped_pieces() + view.value().built_pieces(), 8U);
    EXPECT_EQ(view.value().mapped_bytes() + view.value().new_bytes(), view.value().size_bytes());
    EXPECT_EQ(view.value().entries().size(), 4U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(view.value().bytes().data()) % 4096, 0U);
  }
}

TEST_F(ThinView, OfEverySmallArchiveIsTheThinDlcToo) {
  for (const bool aligned : {true, false}) {
    for (const Sharing sharing : {Sharing::kOff, Sharing::kPages, Sharing::kBytes}) {
      const Container container = Container::open(pack(two_socs(aligned), sharing)).value();
      EXPECT_TRUE(shows(thin_dlc_view(container, kSoc57), kSoc57));  // no part of it is above 64 KiB
      EXPECT_TRUE(shows(thin_dlc_view(container, {.qnn_socs = {57, 69}, .entries = {}}),
                        {.qnn_socs = {57, 69}, .entries = {}}));
    }
  }
}

TEST_F(ThinView, PayloadThatDoesNotLieOnPagesNeedsABudget) {
  const std::string path = pack(testing::large_dlc(false));
  const auto refused = thin_dlc_view(Container::open(path).value(), kSoc57);
  ASSERT_TRUE(fails_with(refused, ErrorCode::kCopyNotAllowed));
  const Container container = Container::open(path, {.max_copied_bytes = std::uint64_t{1} << 20}).value();
  std::optional<ThinDlcView> view;
  {
    auto made = thin_dlc_view(container, kSoc57);
    ASSERT_TRUE(shows(made, kSoc57));
    view = made.value();
  }
  EXPECT_GT(view->copied_bytes(), 90U * 4096);
  EXPECT_EQ(view->mapped_bytes(), 0U);
  EXPECT_NE(refused.error().message.find(std::to_string(view->copied_bytes())), std::string::npos);
  const auto& used = mapped_of(container)->composed_bytes();
  EXPECT_EQ(used.load(), view->copied_bytes());
  // A second view next to it does not fit.
  EXPECT_TRUE(
      fails_with(thin_dlc_view(Container::open(path, {.max_copied_bytes = view->copied_bytes()}).value(), kSoc57),
                 ErrorCode::kCopyNotAllowed));
  view.reset();
  EXPECT_EQ(used.load(), 0U);
  EXPECT_TRUE(fails_with(thin_dlc_view(Container::open(path, {.file_mapping = FileMapping::kRequire,
                                                              .max_copied_bytes = std::uint64_t{1} << 20})
                                           .value(),
                                       kSoc57),
                         ErrorCode::kCopyNotAllowed));
}

TEST_F(ThinView, OfRecipesMapsTheirPagesAndComposesTheRest) {
  const std::string path = pack(testing::large_dlc(), Sharing::kBytes);
  const OpenOptions options{.max_copied_bytes = std::uint64_t{1} << 20};
  const Container container = Container::open(path, options).value();
  std::size_t recipes = 0;
  std::size_t copied = 0;
  for (const RecordInfo& record : support::records_in(container))
    if (record.recipe) ++recipes;
  ASSERT_EQ(recipes, 1U);
  for (const DlcChoice& choice : {kSoc57, kSoc69}) {
    const auto view = thin_dlc_view(container, choice);
    ASSERT_TRUE(shows(view, choice));
    if (view.value().copied_bytes() != 0) ++copied;
    EXPECT_GT(view.value().mapped_bytes(), 80U * 4096);
  }
  EXPECT_EQ(copied, 1U);
}

TEST_F(ThinView, WithLargerPagesMapsWhatLiesOnThem) {
  const std::string path = pack(testing::large_dlc());
  const StitchHost host{.page_bytes = 16384};
  EXPECT_TRUE(fails_with(thin_dlc_view(Container::open(path).value(), kSoc57, {}, host), ErrorCode::kCopyNotAllowed));
  const Container container = Container::open(path, {.max_copied_bytes = std::uint64_t{1} << 20}).value();
  EXPECT_TRUE(shows(thin_dlc_view(container, kSoc57, {}, host), kSoc57));
}

TEST_F(ThinView, IsBuiltWhereViewsAreCopies) {
  const std::string path = pack(testing::large_dlc());
  for (const OpenOptions& options :
       {OpenOptions{.file_mapping = FileMapping::kDisabled}, OpenOptions{.verify = VerifyPolicy::kPrivateCopy}}) {
    const auto view = thin_dlc_view(Container::open(path, options).value(), kSoc57);
    ASSERT_TRUE(shows(view, kSoc57));
    EXPECT_EQ(view.value().mapped_pieces(), 0U);
    EXPECT_EQ(view.value().mapped_bytes(), 0U);
  }
  const Bytes bytes = support::read_file(path);
  EXPECT_TRUE(
      fails_with(thin_dlc_view(Container::open(Source::of_memory(bytes)).value(), kSoc57), ErrorCode::kCopyNotAllowed));
  const Container memory =
      Container::open(Source::of_memory(bytes), {.max_copied_bytes = std::uint64_t{1} << 20}).value();
  EXPECT_TRUE(shows(thin_dlc_view(memory, kSoc57), kSoc57));
}

TEST_F(ThinView, OutlivesItsContainerAndCountsAsAViewOfItsRecords) {
  const std::string path = pack(testing::large_dlc());
  const Bytes wanted = thin_of_original(kSoc57);
  std::optional<ThinDlcView> view;
  {
    const Container container = Container::open(path).value();
    view = thin_dlc_view(container, kSoc57).value();
    const MappedContainer& mapped = *mapped_of(container);
    const auto views = [&](std::string_view name) {
      const RecordInfo& record = *mapped.find(name).value();
      return mapped.attachments().at(mapped.toc().index_of(record)).views.load();
    };
    EXPECT_EQ(views("htp.shared.weights.0"), 1U);
    EXPECT_EQ(views("htp.cache.57.0"), 1U);
    EXPECT_EQ(views("htp.cache.69.0"), 0U);
    EXPECT_EQ(mapped.verification_of(*mapped.find("htp.cache.57.0").value()), RecordState::kOk);
    EXPECT_EQ(mapped.verification_of(*mapped.find("htp.cache.69.0").value()), RecordState::kUnknown);
  }
  std::filesystem::remove(path);
  EXPECT_TRUE(std::ranges::equal(view->bytes(), wanted));
}

TEST_F(ThinView, IsBroughtIntoMemory) {
  const Container container = Container::open(pack(testing::large_dlc())).value();
  const ThinDlcView view = thin_dlc_view(container, kSoc57).value();
  const auto all = view.prefetch();
  ASSERT_TRUE(is_ok(all));
  EXPECT_EQ(all.value().asked_bytes, view.size_bytes());
  EXPECT_EQ(all.value().done_bytes, view.size_bytes());
  EXPECT_NE(all.value().method, PrefetchMethod::kNone);
  const auto some = view.prefetch({.max_bytes = 10'000});
  ASSERT_TRUE(is_ok(some));
  EXPECT_EQ(some.value().done_bytes, 10'000U);
  const std::atomic<bool> cancel{true};
  EXPECT_TRUE(view.prefetch({.cancel = &cancel}).value().cancelled);
}

TEST_F(ThinView, GivesRangesAsOtherViewsDo) {
  const Container container = Container::open(pack(testing::large_dlc())).value();
  const ThinDlcView view = thin_dlc_view(container, kSoc57).value();
  const RecordView whole = view.as_view();
  EXPECT_EQ(whole.record_id(), 0U);
  EXPECT_EQ(whole.access_path(), AccessPath::kComposed);
  EXPECT_EQ(whole.copied_bytes(), view.new_bytes());
  EXPECT_EQ(whole.data(), view.bytes().data());
}

TEST_F(ThinView, SaysWhichSocsThereAre) {
  const Container container = Container::open(pack(two_socs())).value();
  const auto none = thin_dlc_view(container, {.qnn_socs = {87}, .entries = {}});
  ASSERT_TRUE(fails_with(none, ErrorCode::kNoMatch));
  EXPECT_NE(none.error().message.find("69 (htp.cache.69.0)"), std::string::npos);
  EXPECT_NE(none.error().message.find("m.fatctx"), std::string::npos);
}

// Weights that XXH3 cannot distinguish from the signed ones: mapped, composed, and copied.
TEST_F(ThinView, ForgedPayloadIsRefusedByWhoeverTrustsAKey) {
  Bytes weights = support::pattern(64 * 4096, 5);
  support::make_forgeable(weights);
  const auto keys = make_keys(folder_.file("release")).value();
  for (const bool aligned : {true, false}) {
    support::DlcWriter writer(aligned);
    writer.entry("htp.shared.weights.0", std::string(reinterpret_cast<const char*>(weights.data()), weights.size()));
    writer.entry("htp.metadata.shared_weights.0_metadata", 5'000, 'm');
    writer.entry("htp.cache.57.0", 2 * 4096, 'a');
    writer.entry("htp.cache.69.0", 4 * 4096, 'b');
    writer.entry("dlc.metadata2.3.0", support::kTwoSocMetadata);
    const std::string path = pack(writer);
    ASSERT_TRUE(is_ok(sign_container(path, keys.secret_path, path)));
    OpenOptions options{.max_copied_bytes = std::uint64_t{1} << 30, .trusted_keys = {keys.public_key}};
    ASSERT_TRUE(shows(thin_dlc_view(Container::open(path, options).value(), kSoc57), kSoc57));

    Bytes bytes = support::read_file(path);
    const auto found = std::search(bytes.begin(), bytes.end(), weights.begin(), weights.begin() + 4'096);
    ASSERT_NE(found, bytes.end());
    support::forge(bytes, static_cast<std::size_t>(found - bytes.begin()));
    support::write_file(path + ".new", bytes);
    support::replace_file(path + ".new", path);

    EXPECT_TRUE(
        is_ok(thin_dlc_view(Container::open(path, {.max_copied_bytes = options.max_copied_bytes}).value(), kSoc57)))
        << "what no signature protects";
    for (const VerifyPolicy policy : {VerifyPolicy::kRecordOnAcquire, VerifyPolicy::kPrivateCopy}) {
      options.verify = policy;
      EXPECT_TRUE(fails_with(thin_dlc_view(Container::open(path, options).value(), kSoc57),
                             ErrorCode::kChecksumMismatch, "F26"))
          << aligned;
    }
  }
}

}  // namespace thin_dlc_view_test
}  // namespace fatctx
