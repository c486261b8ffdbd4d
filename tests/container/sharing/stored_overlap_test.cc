// The bytes that several records share, computed from the tables of a file.
#include <gtest/gtest.h>

#include <algorithm>

#include "container/read/open.h"
#include "container/sharing/stored_overlap.h"
#include "mapping/buffer_file.h"
#include "support/sliced_container.h"

namespace fatctx::container::sharing {
namespace stored_overlap_test {

using support::Bytes;
using support::kGranule;
using support::sliced;
using support::SlicedContainer;

// A container's records by name, with the bytes that each shares with others.
struct Measured {
  explicit Measured(const SlicedContainer& made) : bytes(made.bytes()) {
    const mapping::BufferFile file(bytes, nullptr);
    toc = read_toc(file, bytes.size()).value().toc;
    records = stored_overlap(toc);
  }
  [[nodiscard]] std::size_t index(std::string_view name) const {
    const auto found = std::find_if(toc.records.begin(), toc.records.end(),
                                    [&](const RecordInfo& record) { return record.name == name; });
    return static_cast<std::size_t>(found - toc.records.begin());
  }
  [[nodiscard]] const RecordSharing& of(std::string_view name) const { return records[index(name)]; }
  [[nodiscard]] std::uint64_t bytes_with(std::string_view name, std::string_view other) const {
    for (const SharedBytes& shared : of(name).shared_with) {
      if (shared.record_id == of(other).record_id) return shared.bytes;
    }
    return 0;
  }

  Bytes bytes;
  Toc toc;
  std::vector<RecordSharing> records;
};

SlicedContainer two_stores() {
  return SlicedContainer({support::pattern(32 * kGranule, 3), support::pattern(20 * kGranule, 4)});
}

TEST(StoredOverlap, TellsOwnBytesFromThoseOfOthersWhateverTheOrderOfTheSlices) {
  SlicedContainer made = two_stores();
  made.add(sliced("back", {{{10 * kGranule, 2 * kGranule}, 0}, {{3 * kGranule, 100}, 1}}));
  made.add(sliced("front", {{{11 * kGranule, 3 * kGranule}, 0}, {{0, kGranule}, 0}}));

  const Measured measured(made);

  EXPECT_EQ(measured.bytes_with("back", "front"), kGranule);
  EXPECT_EQ(measured.bytes_with("front", "back"), kGranule);
  EXPECT_EQ(measured.bytes_with("back", "store 0"), 2 * kGranule);
  EXPECT_EQ(measured.bytes_with("back", "store 1"), 100U);
  EXPECT_EQ(measured.bytes_with("front", "store 1"), 0U);
  EXPECT_EQ(measured.of("back").own_bytes, 0U);
  EXPECT_EQ(measured.of("back").shared_bytes, 2 * kGranule + 100);
  EXPECT_EQ(measured.of("back").pieces, 2U);
  EXPECT_EQ(measured.of("store 0").own_bytes, (32 - 5) * kGranule);
  EXPECT_EQ(measured.of("store 0").shared_bytes, 5 * kGranule);
  EXPECT_EQ(measured.of("store 1").own_bytes, 20 * kGranule - 100);
}

TEST(StoredOverlap, BytesThatARecordTakesTwiceAreNeitherOwnNorShared) {
  SlicedContainer made = two_stores();
  made.add(sliced("twice", {{{8 * kGranule, 2 * kGranule}, 0}, {{9 * kGranule, 2 * kGranule}, 0}}));

  const Measured measured(made);

  const RecordSharing& twice = measured.of("twice");
  EXPECT_EQ(twice.size_bytes, 4 * kGranule);
  EXPECT_EQ(twice.shared_bytes, 3 * kGranule);
  EXPECT_EQ(twice.repeated_bytes, kGranule);
  EXPECT_EQ(twice.own_bytes, 0U);
}

TEST(StoredOverlap, SharersComeWithTheMostBytesFirstAndOnlySoMany) {
  SlicedContainer made({support::pattern(64 * kGranule, 5)});
  for (std::uint64_t i = 0; i < 20; ++i) {
    made.add(sliced("part " + std::to_string(i), {{{0, (i + 1) * kGranule}, 0}, {{40 * kGranule, kGranule}, 0}}));
  }

  const Measured measured(made);

  const RecordSharing& store = measured.of("store 0");
  EXPECT_EQ(store.sharer_count, 20U);
  ASSERT_EQ(store.shared_with.size(), kMaxListedSharers);
  EXPECT_EQ(store.shared_with.front().record_id, measured.of("part 19").record_id);
  EXPECT_EQ(store.shared_with.front().bytes, 21 * kGranule);
  EXPECT_EQ(store.shared_with.back().bytes, 6 * kGranule);
}

TEST(StoredOverlap, BytesUnderSeveralRecordsCountOnce) {
  SlicedContainer made = two_stores();
  made.add(sliced("a", {{{0, 4 * kGranule}, 0}, {{0, kGranule}, 1}}));
  made.add(sliced("b", {{{2 * kGranule, 4 * kGranule}, 0}, {{0, kGranule}, 1}}));

  const Measured measured(made);

  const std::vector<std::size_t> both = {measured.index("a"), measured.index("b")};
  EXPECT_EQ(stored_under(measured.toc, both), 7 * kGranule);
  EXPECT_EQ(stored_under(measured.toc, std::vector<std::size_t>{}), 0U);
}

TEST(StoredOverlap, OwnSharedAndRepeatedBytesAreTheStoredOnesOfEveryRecord) {
  const Measured measured(support::sliced_model());

  for (std::size_t i = 0; i < measured.records.size(); ++i) {
    const RecordSharing& record = measured.records[i];
    EXPECT_EQ(record.own_bytes + record.shared_bytes + record.repeated_bytes, measured.toc.records[i].stored_bytes);
  }
  EXPECT_EQ(measured.bytes_with("even", "odd"), 0U) << "their granules take turns";
}

}  // namespace stored_overlap_test
}  // namespace fatctx::container::sharing
