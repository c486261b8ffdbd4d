#include "fatctx/stored_dlc.h"

#include <random>
#include <tuple>

#include "runtime/dlc_model.h"

namespace fatctx {
namespace stored_dlc_test {

using support::Bytes;
using support::DlcWriter;
using support::fails_with;
using support::is_ok;
using support::read_file;
using support::two_socs;
using support::write_file;

class ExportedDlc : public testing::StoredDlcs {
 protected:
  // Returns the archive that is exported from the container.
  Bytes exported(const std::string& container, std::string_view layout = {}) {
    const std::string out = folder_.file("back.dlc");
    const auto done = export_dlc(Container::open(container).value(), layout, out, true);
    EXPECT_TRUE(is_ok(done));
    return done.ok() ? read_file(out) : Bytes();
  }
};

DlcWriter older_naming() {
  DlcWriter writer;
  writer.entry("model", 3000, 'm');
  writer.entry("model.params", 900, 'p');
  writer.entry("model.params.bin", 70'000, 'b');
  writer.entry("backend.metadata0", 9000, '0');
  writer.entry("backend.metadata1", 9000, '1');
  writer.entry("dlc.metadata", "model-version=1\nrecord=backend.metadata0\nrecord=backend.metadata1\n");
  return writer;
}

DlcWriter soc_twice() {
  DlcWriter writer;
  writer.entry("htp.cache.57.0", 9000, 'a');
  writer.entry("htp.cache.57.1", 9000, 'b');
  writer.entry("dlc.metadata", R"({"cacheList": [{"cacheName": "htp.cache.57.0", "socModel": 57},
                                                 {"cacheName": "htp.cache.57.1", "socModel": 57}]})");
  return writer;
}

DlcWriter with_empty_entries() {
  DlcWriter writer(false);
  writer.entry("htp.shared.weights.0", "");
  writer.entry("htp.cache.36.0", 100, 'a');
  writer.entry("note", "");
  writer.entry("dlc.metadata", "");
  return writer;
}

TEST_F(ExportedDlc, IsTheOriginalByteForByte) {
  const std::vector<std::pair<const char*, DlcWriter>> archives = {
      {"two SoCs", two_socs()},     {"without alignment", two_socs(false)},  {"older naming", older_naming()},
      {"a SoC twice", soc_twice()}, {"empty entries", with_empty_entries()}, {"large", testing::large_dlc()}};
  for (const auto& [name, writer] : archives) {
    for (const Sharing sharing : {Sharing::kOff, Sharing::kPages, Sharing::kBytes}) {
      const std::string container = pack(writer, sharing);
      EXPECT_EQ(exported(container), original_) << name << ", sharing " << static_cast<int>(sharing);
    }
  }
}

TEST_F(ExportedDlc, OfRecordsThatAreCompressedIsTheOriginalToo) {
  auto records = records_from_dlc(put(older_naming()), {}).value();
  for (PackRecord& record : records) {
    if (record.type == RecordType::kSourceModel || record.type == RecordType::kOpaque) record.codec = Codec::kLz4;
  }
  const std::string container = pack(std::move(records));
  EXPECT_EQ(exported(container), original_);
  const auto info = list_stored_dlc(Container::open(container).value());
  ASSERT_TRUE(is_ok(info));
  EXPECT_EQ(info.value().entries.size(), 6U);
}

TEST_F(ExportedDlc, OfRandomArchivesIsTheOriginal) {
  std::mt19937_64 random(2026);
  for (int turn = 0; turn < 60; ++turn) {
    DlcWriter writer(random() % 2 == 0);
    const std::size_t count = 1 + random() % 12;
    const std::size_t equal = random() % 90'000;  // some entries have equal bytes
    for (std::size_t i = 0; i < count; ++i) {
      const char* const kinds[] = {"htp.cache.57.", "htp.shared.weights.", "htp.metadata.shared_weights.", "other"};
      const std::size_t size = random() % 3 == 0 ? equal : 1 + random() % 20'000;
      writer.entry(kinds[random() % 4] + std::to_string(i), std::max<std::size_t>(size, 1),
                   static_cast<char>('a' + random() % 3));
    }
    if (random() % 2 == 0) writer.entry("dlc.metadata", "a=b");
    const std::string container = pack(writer, static_cast<Sharing>(random() % 3));
    ASSERT_EQ(exported(container), original_) << "turn " << turn;
  }
}

TEST_F(ExportedDlc, NeedsEveryRecordAsItWas) {
  const auto records = records_from_dlc(put(two_socs()), {.group = "chat"}).value();
  const std::string out = folder_.file("back.dlc");
  for (const bool removed : {true, false}) {
    auto others = records;
    const auto weights = std::find_if(others.begin(), others.end(),
                                      [](const PackRecord& record) { return record.name == "htp.cache.69.0"; });
    if (removed) {
      others.erase(weights);
    } else {
      weights->source.bytes = Bytes(4 * 4096, std::byte{7});
      weights->source.path.clear();
      weights->source.part.reset();
    }
    const Container container = Container::open(pack(std::move(others))).value();
    const auto refused = export_dlc(container, {}, out, true);
    ASSERT_TRUE(fails_with(refused, ErrorCode::kBadReference));
    EXPECT_NE(refused.error().message.find("\"htp.cache.69.0\""), std::string::npos) << refused.error().message;
    EXPECT_FALSE(std::filesystem::exists(out));
    // The other SoC does not need it.
    const DlcChoice choice{.qnn_socs = {57}, .entries = {}};
    const auto view = thin_dlc_view(container, choice);
    ASSERT_TRUE(is_ok(view));
    EXPECT_TRUE(std::ranges::equal(view.value().bytes(), thin_of_original(choice)));
    EXPECT_TRUE(fails_with(thin_dlc_view(container, {.qnn_socs = {69}, .entries = {}}), ErrorCode::kBadReference));
  }
}

TEST_F(ExportedDlc, OfSeveralIsTheOneThatIsNamed) {
  auto records = records_from_dlc(put(two_socs(), "a.dlc"), {.group = "g", .unit = "a", .prefix = "a."}).value();
  const Bytes first = original_;
  auto more = records_from_dlc(put(older_naming(), "b.dlc"), {.group = "g", .unit = "b", .prefix = "b."}).value();
  const Bytes second = original_;
  std::move(more.begin(), more.end(), std::back_inserter(records));
  const std::string path = pack(std::move(records));
  const Container container = Container::open(path).value();

  const auto stored = stored_dlcs(container);
  ASSERT_TRUE(is_ok(stored));
  ASSERT_EQ(stored.value().size(), 2U);
  EXPECT_EQ(stored.value()[0].layout, "a.dlc.layout");
  EXPECT_EQ(stored.value()[0].size_bytes, first.size());
  EXPECT_EQ(stored.value()[0].records.front(), "a.htp.shared.weights.0");
  EXPECT_EQ(exported(path, "a.dlc.layout"), first);
  EXPECT_EQ(exported(path, "b.dlc.layout"), second);
  const auto unnamed = export_dlc(container, {}, folder_.file("x"), false);
  ASSERT_TRUE(fails_with(unnamed, ErrorCode::kInvalidArgument));
  EXPECT_NE(unnamed.error().message.find("b.dlc.layout"), std::string::npos);
  EXPECT_TRUE(fails_with(export_dlc(container, "c.dlc.layout", folder_.file("x"), false), ErrorCode::kNotFound));
}

TEST_F(ExportedDlc, IsNotToBeHadOfOtherContainers) {
  const std::string dlc = put(two_socs());
  const Container bare = Container::open(pack(records_from_dlc(dlc, {.keep_layout = false}).value())).value();
  EXPECT_EQ(stored_dlcs(bare).value().size(), 0U);
  EXPECT_TRUE(fails_with(export_dlc(bare, {}, folder_.file("x"), false), ErrorCode::kNotFound));
  EXPECT_TRUE(fails_with(list_stored_dlc(bare), ErrorCode::kNotFound));
  PackRecord other;
  other.name = "dlc.layout";
  other.source.bytes = Bytes(100, std::byte{1});
  const Container lying = Container::open(pack({other})).value();
  EXPECT_TRUE(fails_with(stored_dlcs(lying), ErrorCode::kMalformed));
  EXPECT_TRUE(fails_with(export_dlc(lying, {}, folder_.file("x"), false), ErrorCode::kMalformed));
}

TEST_F(ExportedDlc, DoesNotReplaceAFileUnlessItIsAsked) {
  const Container container = Container::open(pack(two_socs())).value();
  const std::string out = folder_.file("back.dlc");
  write_file(out, Bytes(3, std::byte{1}));
  EXPECT_TRUE(fails_with(export_dlc(container, {}, out, false), ErrorCode::kExists));
  EXPECT_EQ(read_file(out).size(), 3U);
  std::uint64_t last = 0;
  EXPECT_TRUE(is_ok(export_dlc(container, {}, out, true, [&](std::uint64_t done, std::uint64_t all) {
    EXPECT_LE(done, all);
    last = done;
  })));
  EXPECT_EQ(last, original_.size());
  EXPECT_EQ(read_file(out), original_);
}

TEST_F(ExportedDlc, OfALayoutThatLiesIsNotMade) {
  auto records = records_from_dlc(put(two_socs()), {}).value();
  PackRecord& layout = records.back();
  ASSERT_EQ(layout.name, "dlc.layout");
  layout.source.bytes.back() ^= std::byte{1};  // a byte of the archive's end; the layout itself stays valid
  const Container container = Container::open(pack(std::move(records))).value();
  EXPECT_TRUE(fails_with(export_dlc(container, {}, folder_.file("x"), false), ErrorCode::kChecksumMismatch));
}

TEST_F(ExportedDlc, OfADamagedContainerIsNotMade) {
  const std::string path = pack(two_socs());
  Bytes bytes = read_file(path);
  const RecordInfo record = Container::open(path).value().find("htp.cache.57.0").value();
  const std::uint64_t at = record.file_offset + 5000;
  bytes[static_cast<std::size_t>(at)] ^= std::byte{1};
  write_file(folder_.file("bad.fatctx"), bytes);
  const Container container = Container::open(folder_.file("bad.fatctx")).value();
  const auto refused = export_dlc(container, {}, folder_.file("x"), false);
  ASSERT_TRUE(fails_with(refused, ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_NE(refused.error().message.find("htp.cache.57.0"), std::string::npos);
  EXPECT_TRUE(
      fails_with(thin_dlc_view(container, {.qnn_socs = {57}, .entries = {}}), ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_TRUE(is_ok(thin_dlc_view(container, {.qnn_socs = {69}, .entries = {}})));
}

TEST_F(ExportedDlc, AThinOneIsThatOfTheOriginal) {
  for (const bool aligned : {true, false}) {
    for (const Sharing sharing : {Sharing::kOff, Sharing::kPages, Sharing::kBytes}) {
      const Container container = Container::open(pack(testing::large_dlc(aligned), sharing)).value();
      const DlcChoice choice{.qnn_socs = {69}, .entries = {}};
      const std::string out = folder_.file("from_container.dlc");
      const auto thin = extract_stored_thin_dlc(container, {}, choice, out, true);
      ASSERT_TRUE(is_ok(thin));
      EXPECT_EQ(read_file(out), thin_of_original(choice));
      EXPECT_EQ(thin.value().size_bytes, read_file(out).size());
      EXPECT_EQ(thin.value().new_bytes, thin_dlc(folder_.file("m.dlc"), choice).value().new_bytes);
      EXPECT_EQ(thin_stored_dlc(container, {}, choice).value().pieces.size(), thin.value().pieces.size());
    }
  }
  const Container container = Container::open(pack(two_socs())).value();
  const auto none = thin_stored_dlc(container, {}, {.qnn_socs = {1}, .entries = {}});
  ASSERT_TRUE(fails_with(none, ErrorCode::kNoMatch));
  EXPECT_NE(none.error().message.find("57"), std::string::npos);
}

}  // namespace stored_dlc_test
}  // namespace fatctx
