#include "fatctx/import_dlc.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>

#include "container/dlc/contents.h"
#include "fatctx/container.h"
#include "fatctx/packer.h"
#include "support/dlc_file.h"
#include "support/memory_file.h"
#include "support/opened.h"
#include "support/result_matchers.h"
#include "support/temp_dir.h"

namespace fatctx {
namespace dlc_import_test {

using support::Bytes;
using support::DlcWriter;
using support::fails_with;
using support::is_ok;
using support::read_file;
using support::set_le;
using support::TempDir;
using support::two_socs;
using support::write_file;

template <typename T>
std::uint64_t number_at(const Bytes& bytes, std::size_t offset) {
  std::uint64_t value = 0;
  for (std::size_t i = sizeof(T); i-- > 0;) value = value << 8 | std::to_integer<std::uint64_t>(bytes[offset + i]);
  return value;
}

// Returns the bytes that the pieces of a thin DLC consist of.
Bytes joined(const ThinDlc& thin, const Bytes& original) {
  Bytes out;
  for (const DlcPiece& piece : thin.pieces) {
    const ByteView part =
        piece.bytes.empty() ? ByteView(original).subspan(piece.range.offset, piece.range.size) : ByteView(piece.bytes);
    out.insert(out.end(), part.begin(), part.end());
  }
  return out;
}

class Dlc : public ::testing::Test {
 protected:
  std::string put(DlcWriter writer) { return put(original_ = writer.write()); }
  std::string put(const Bytes& bytes) {
    const std::string path = folder_.file("m.dlc");
    write_file(path, bytes);
    return path;
  }
  [[nodiscard]] Bytes payload(const DlcInfo& info, std::size_t entry, const Bytes& file) const {
    const ByteRange range = info.entries.at(entry).data;
    return {file.begin() + static_cast<std::ptrdiff_t>(range.offset),
            file.begin() + static_cast<std::ptrdiff_t>(range.offset + range.size)};
  }

  TempDir folder_;
  Bytes original_;
};

TEST_F(Dlc, ItIsRecognisedByItsEntries) {
  EXPECT_EQ(is_dlc(put(two_socs())).value(), true);
  DlcWriter model_first;
  model_first.entry("model", "m");
  model_first.entry("dlc.metadata", "a=b");
  EXPECT_EQ(is_dlc(put(model_first)).value(), true);
  DlcWriter other;
  other.entry("module.fb", "x");
  EXPECT_EQ(is_dlc(put(other)).value(), false);
  write_file(folder_.file("text"), Bytes(100, std::byte{'x'}));
  EXPECT_EQ(is_dlc(folder_.file("text")).value(), false);
  write_file(folder_.file("empty"), {});
  EXPECT_EQ(is_dlc(folder_.file("empty")).value(), false);
  EXPECT_TRUE(fails_with(is_dlc(folder_.file("missing")), ErrorCode::kNotFound));
  EXPECT_TRUE(fails_with(is_dlc(folder_.file("")), ErrorCode::kNotRegularFile));
}

TEST_F(Dlc, EntriesHaveKindsAndSocsTheirTargets) {
  const auto info = list_dlc(put(two_socs()));

  ASSERT_TRUE(is_ok(info));
  const auto kind = [&](std::size_t entry) { return info.value().entries[entry].kind; };
  EXPECT_EQ(kind(0), DlcEntryKind::kSharedWeights);
  EXPECT_EQ(kind(1), DlcEntryKind::kSharedWeightsMetadata);
  EXPECT_EQ(kind(2), DlcEntryKind::kContextBinary);
  EXPECT_EQ(kind(4), DlcEntryKind::kMetadata);
  ASSERT_EQ(info.value().socs.size(), 2U);
  const DlcSoc& soc = info.value().socs[1];
  EXPECT_EQ(soc.entry, 3U);
  EXPECT_EQ(soc.qnn_soc, 69U);
  EXPECT_EQ(soc.arch, "v79");
  EXPECT_EQ(soc.vtcm_mb, 8U);
  EXPECT_EQ(soc.shared, (std::vector<std::size_t>{0, 1}));
  EXPECT_TRUE(info.value().findings.empty());
}

TEST_F(Dlc, TheOlderNamingIsListedByTheMetadata) {
  DlcWriter writer;
  writer.entry("model", "topology");
  writer.entry("model.params", "p");
  writer.entry("backend.metadata0", 4096, 'a');
  writer.entry("named.by.nobody", 4096, 'b');
  writer.entry("backend.metadata.notes", 10, 'c');
  writer.entry("dlc.metadata", R"({"cacheList": [{"name": "named.by.nobody", "soc_model": "57"},
                                                 {"name": "backend.metadata0", "soc_model": "69"}]})");

  const auto info = list_dlc(put(writer));

  ASSERT_TRUE(is_ok(info));
  EXPECT_EQ(info.value().entries[0].kind, DlcEntryKind::kSourceModel);
  EXPECT_EQ(info.value().entries[4].kind, DlcEntryKind::kOther);
  ASSERT_EQ(info.value().socs.size(), 2U);
  EXPECT_EQ(info.value().socs[0].qnn_soc, 69U);
  EXPECT_EQ(info.value().socs[1].qnn_soc, 57U);
}

TEST_F(Dlc, WithoutMetadataTheNumberInANameIsAllThereIs) {
  DlcWriter writer;
  writer.entry("htp.cache.57.0", 4096, 'a');
  writer.entry("htp.cache.123456789012345.0", 4096, 'a');

  const auto info = list_dlc(put(writer));

  ASSERT_TRUE(is_ok(info));
  EXPECT_EQ(info.value().socs[0].qnn_soc, 57U);
  EXPECT_EQ(info.value().socs[1].qnn_soc, 0U);
  ASSERT_EQ(info.value().findings.size(), 2U);  // no metadata; SoC 0
}

TEST_F(Dlc, WhatACompilerDidWithoutAWordIsFound) {
  constexpr std::size_t kMiB = std::size_t{1} << 20;
  DlcWriter writer;
  writer.entry("htp.shared.weights.0", kMiB, 'w');
  writer.entry("htp.cache.57.0", kMiB, 'a');  // as large as the weights that it should share
  writer.entry("htp.cache.57.1", 4096, 'a');  // a second one for the same SoC
  writer.entry("htp.cache.0.0", 4096, 'a');   // a name that the compiler did not know
  writer.entry("dlc.metadata", R"({"cacheList": [
      {"cacheName": "htp.cache.57.0", "socModel": 57}, {"cacheName": "htp.cache.57.1", "socModel": 57},
      {"cacheName": "htp.cache.0.0", "socModel": 0}, {"cacheName": "htp.cache.99.0", "socModel": 99}],
      "relations": [["htp.cache.57.0", "htp.shared.weights.0"]]})");

  const auto info = list_dlc(put(writer));

  ASSERT_TRUE(is_ok(info));
  const auto& findings = info.value().findings;
  ASSERT_EQ(findings.size(), 4U);
  EXPECT_NE(findings[0].find("\"htp.cache.99.0\", which does not exist"), std::string::npos);
  EXPECT_NE(findings[1].find("nothing seems to be shared"), std::string::npos);
  EXPECT_NE(findings[2].find("for SoC 57, as \"htp.cache.57.0\" is"), std::string::npos);
  EXPECT_NE(findings[3].find("not known (0)"), std::string::npos);
}

TEST_F(Dlc, ErrorsNameTheFile) {
  write_file(folder_.file("m.dlc"), Bytes(100, std::byte{'x'}));
  const auto info = list_dlc(folder_.file("m.dlc"));
  ASSERT_TRUE(fails_with(info, ErrorCode::kBadMagic));
  EXPECT_TRUE(info.error().message.starts_with(folder_.file("m.dlc")));
}

TEST_F(Dlc, ASecondMetadataEntryIsRefused) {
  DlcWriter writer;
  writer.entry("dlc.metadata", "{}");
  writer.entry("dlc.metadata2.3.0", "{}");
  EXPECT_TRUE(fails_with(list_dlc(put(writer)), ErrorCode::kMalformed));
}

// Shows S4.50.
TEST_F(Dlc, MetadataAboveItsLimitAreNotRead) {
  DlcWriter writer;
  writer.entry("htp.cache.57.0", 4096, 'a');
  writer.entry("dlc.metadata", std::string((std::size_t{16} << 20) + 1, ' '));
  const support::MemoryFile file(writer.write());

  const auto contents = container::dlc::read_contents(file, file.size());

  ASSERT_TRUE(fails_with(contents, ErrorCode::kLimitExceeded));
  EXPECT_NE(contents.error().message.find("entry \"dlc.metadata\": 16777217 bytes"), std::string::npos);
  EXPECT_EQ(contents.error().where.file_offset, writer.data_at(1));
  EXPECT_LT(file.bytes_read(), 10'000U);
}

TEST_F(Dlc, APipeIsNoFile) {
  const std::string pipe = folder_.file("pipe");
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_TRUE(fails_with(is_dlc(pipe), ErrorCode::kNotRegularFile));
  EXPECT_TRUE(fails_with(list_dlc(pipe), ErrorCode::kNotRegularFile));
}

TEST_F(Dlc, AnEntryWithTheNameOfTheLayoutIsImportedOnlyWithoutALayout) {
  DlcWriter writer;
  writer.entry("htp.cache.57.0", 4096, 'a');
  writer.entry("dlc.layout", 40, 'b');
  const std::string path = put(writer);

  const auto with = records_from_dlc(path, {.prefix = "p."});

  ASSERT_TRUE(fails_with(with, ErrorCode::kUnsupported));
  EXPECT_NE(with.error().message.find("entry \"dlc.layout\""), std::string::npos) << with.error().message;
  EXPECT_EQ(with.error().where.file_offset, writer.data_at(1));
  EXPECT_TRUE(is_ok(records_from_dlc(path, {.prefix = "p.", .keep_layout = false})));
}

TEST_F(Dlc, RecordsArePackedFromRangesOfTheFile) {
  const std::string path = put(two_socs());
  auto records = records_from_dlc(path, {.group = "chat", .unit = "main"});
  ASSERT_TRUE(is_ok(records));
  Packer packer({});
  for (PackRecord& record : records.value()) ASSERT_TRUE(is_ok(packer.add(std::move(record))));
  ASSERT_TRUE(is_ok(packer.publish(folder_.file("m.fatctx"))));

  const auto container = Container::open(folder_.file("m.fatctx"));

  ASSERT_TRUE(is_ok(container));
  const auto info = list_dlc(path);
  std::size_t found = 0;
  for (const RecordInfo& record : support::records_in(container.value())) {
    const auto& entries = info.value().entries;
    const auto entry =
        std::find_if(entries.begin(), entries.end(), [&](const auto& e) { return e.name == record.name; });
    if (entry == entries.end()) continue;
    ++found;
    EXPECT_EQ(record.size_bytes, entry->data.size);
    if (record.name != "htp.cache.57.0") continue;
    EXPECT_EQ(record.type, RecordType::kContextBinary);
    EXPECT_EQ(record.key.backend, "htp");
    EXPECT_EQ(record.key.qnn_soc, 57U);
    EXPECT_EQ(record.key.arch, "v75");
    EXPECT_EQ(record.key.vtcm_mb, 8U);
    EXPECT_EQ(record.key.group, "chat");
    EXPECT_EQ(record.key.sdk, (Version{2, 51, 0, 0}));
    EXPECT_EQ(record.weights.size(), 1U);
  }
  EXPECT_EQ(found, 5U);
}

TEST_F(Dlc, TwoBinariesForOneTargetKeepApartByTheirNames) {
  DlcWriter writer;
  writer.entry("htp.cache.69.0", 4096, 'a');
  writer.entry("htp.cache.69.1", 4096, 'b');
  const auto records = records_from_dlc(put(writer), {});
  ASSERT_TRUE(is_ok(records));
  EXPECT_EQ(records.value()[0].key.variant, "htp.cache.69.0");
  EXPECT_EQ(records.value()[1].key.variant, "htp.cache.69.1");
}

TEST_F(Dlc, AnEntryInAFolderIsListedButIsNoRecord) {
  DlcWriter writer;
  writer.entry("htp.cache.57.0", 4096, 'a');
  writer.entry("extra/notes", "n");
  const std::string path = put(writer);
  EXPECT_TRUE(is_ok(list_dlc(path)));
  EXPECT_TRUE(fails_with(records_from_dlc(path, {}), ErrorCode::kUnsupported));
}

TEST_F(Dlc, AThinDlcIsAFewRangesAndAFewPages) {
  const std::string path = put(two_socs());

  const auto thin = thin_dlc(path, {.qnn_socs = {69}, .entries = {}});

  ASSERT_TRUE(is_ok(thin));
  EXPECT_EQ(thin.value().entries,
            (std::vector<std::string>{"htp.shared.weights.0", "htp.metadata.shared_weights.0_metadata",
                                      "htp.cache.69.0", "dlc.metadata2.3.0"}));
  EXPECT_EQ(thin.value().pieces.size(), 4U);
  EXPECT_LE(thin.value().new_bytes, 12'288U);
  EXPECT_TRUE(thin.value().mappable);
  std::uint64_t at = 0;
  for (const DlcPiece& piece : thin.value().pieces) {
    if (piece.bytes.empty()) {
      EXPECT_EQ(at % 4096, 0U);
      EXPECT_EQ(piece.range.offset % 4096, 0U);
      EXPECT_EQ(piece.range.size % 4096, 0U);
    }
    at += piece.size();
  }
  EXPECT_EQ(at, thin.value().size_bytes);
}

TEST_F(Dlc, AThinDlcIsADlcWithTheSamePayloadsOnPages) {
  for (const bool aligned : {true, false}) {
    for (const std::uint32_t soc : {57U, 69U}) {
      SCOPED_TRACE(testing::Message() << soc << (aligned ? " on pages" : " without gaps"));
      const std::string path = put(two_socs(aligned));
      const auto thin = thin_dlc(path, {.qnn_socs = {soc}, .entries = {}});
      ASSERT_TRUE(is_ok(thin));
      const Bytes bytes = joined(thin.value(), original_);
      EXPECT_EQ(bytes.size(), thin.value().size_bytes);
      write_file(folder_.file("thin.dlc"), bytes);

      const auto info = list_dlc(folder_.file("thin.dlc"));

      ASSERT_TRUE(is_ok(info));
      EXPECT_TRUE(info.value().findings.empty());
      const auto before = list_dlc(path);
      ASSERT_EQ(info.value().socs.size(), 1U);
      EXPECT_EQ(info.value().socs[0].qnn_soc, soc);
      EXPECT_EQ(info.value().socs[0].shared.size(), 2U);
      for (std::size_t i = 0; i + 1 < info.value().entries.size(); ++i) {  // the last one is the metadata
        const auto& entries = before.value().entries;
        const auto was = std::find_if(entries.begin(), entries.end(),
                                      [&](const auto& e) { return e.name == info.value().entries[i].name; });
        ASSERT_NE(was, entries.end());
        EXPECT_EQ(payload(info.value(), i, bytes),
                  payload(before.value(), static_cast<std::size_t>(was - entries.begin()), original_));
        EXPECT_EQ(info.value().entries[i].data.offset % 4096, was->data.offset % 4096);
      }
    }
  }
}

TEST_F(Dlc, WeightsThatOnlyOthersReferToAreLeftOut) {
  DlcWriter writer;
  writer.entry("htp.shared.weights.0", 4096, 'o');
  writer.entry("htp.shared.weights.1", 4096, 'n');
  writer.entry("htp.shared.weights.2", 4096, 'x');  // no target is named
  writer.entry("htp.cache.36.0", 4096, 'a');
  writer.entry("htp.cache.57.0", 4096, 'b');
  writer.entry("dlc.metadata", R"({"cacheList": [{"cacheName": "htp.cache.36.0", "socModel": 36},
      {"cacheName": "htp.cache.57.0", "socModel": 57}],
      "relations": {"htp.cache.36.0": ["htp.shared.weights.0"], "htp.cache.57.0": ["htp.shared.weights.1"]}})");

  const auto thin = thin_dlc(put(writer), {.qnn_socs = {57}, .entries = {}});

  ASSERT_TRUE(is_ok(thin));
  EXPECT_EQ(thin.value().entries, (std::vector<std::string>{"htp.shared.weights.1", "htp.shared.weights.2",
                                                            "htp.cache.57.0", "dlc.metadata"}));
}

TEST_F(Dlc, WeightsOfAnotherSocAreNotReachedOverThoseThatBothShare) {
  DlcWriter writer;
  writer.entry("htp.shared.weights.0", 4096, 's');
  writer.entry("htp.shared.weights.1", 4096, 'o');
  writer.entry("htp.cache.57.0", 4096, 'a');
  writer.entry("htp.cache.69.0", 4096, 'b');
  writer.entry("dlc.metadata", R"({"cacheList": [{"cacheName": "htp.cache.57.0", "socModel": 57},
      {"cacheName": "htp.cache.69.0", "socModel": 69}],
      "relations": [["htp.cache.57.0", "htp.shared.weights.0"], ["htp.cache.69.0", "htp.shared.weights.0"],
                    ["htp.cache.69.0", "htp.shared.weights.1"]]})");
  const std::string path = put(writer);

  const auto thin = thin_dlc(path, {.qnn_socs = {57}, .entries = {}});
  const auto info = list_dlc(path);

  ASSERT_TRUE(is_ok(thin));
  EXPECT_EQ(thin.value().entries, (std::vector<std::string>{"htp.shared.weights.0", "htp.cache.57.0", "dlc.metadata"}));
  ASSERT_TRUE(is_ok(info));
  EXPECT_EQ(info.value().socs[0].shared, (std::vector<std::size_t>{0}));
  EXPECT_EQ(info.value().socs[1].shared, (std::vector<std::size_t>{0, 1}));
}

// The vendor's reader takes the beginning of the data from two numbers behind those of ZIP64: bytes of padding, and the
// alignment of the data. Without them it finds no entry, or crashes.
TEST_F(Dlc, EachHeaderOfAThinDlcStatesPaddingAndAlignment) {
  const auto thin = thin_dlc(put(two_socs()), {.qnn_socs = {69}, .entries = {}});
  ASSERT_TRUE(is_ok(thin));
  const Bytes bytes = joined(thin.value(), original_);

  const auto archive = list_dlc(put(bytes));

  ASSERT_TRUE(is_ok(archive));
  ASSERT_EQ(archive.value().entries.size(), 4U);
  std::size_t header = 0;
  for (const DlcEntry& entry : archive.value().entries) {
    const std::size_t extra = header + 30 + entry.name.size();
    const std::uint64_t padding = number_at<std::uint32_t>(bytes, extra + 32);
    EXPECT_EQ(extra + 44 + padding, entry.data.offset) << entry.name;
    EXPECT_EQ(number_at<std::uint16_t>(bytes, header + 28), 44 + padding) << entry.name;
    EXPECT_EQ(number_at<std::uint32_t>(bytes, extra + 36), 4096U) << entry.name;
    header = static_cast<std::size_t>(entry.data.offset + entry.data.size);
  }
}

TEST_F(Dlc, HeadersThatTheVendorCannotReadAreFoundAndWrittenAnew) {
  for (const std::size_t field : {32U, 36U}) {  // padding, alignment
    DlcWriter writer = two_socs();
    Bytes bytes = writer.write();
    set_le<std::uint32_t>(bytes, writer.header_at(2) + 30 + std::string_view("htp.cache.57.0").size() + field, 0);
    const std::string path = put(bytes);

    const auto info = list_dlc(path);
    const auto thin = thin_dlc(path, {.qnn_socs = {57}, .entries = {}});

    ASSERT_TRUE(is_ok(info) && is_ok(thin));
    ASSERT_EQ(info.value().findings.size(), 1U);
    EXPECT_NE(info.value().findings[0].find("the header of \"htp.cache.57.0\" does not state padding and alignment"),
              std::string::npos);
    const auto mended = list_dlc(put(joined(thin.value(), bytes)));
    ASSERT_TRUE(is_ok(mended));
    EXPECT_TRUE(mended.value().findings.empty());
  }
}

TEST_F(Dlc, AnAlignmentAboveAPageIsStatedAsAPageInAThinDlc) {
  DlcWriter writer;
  writer.entry("htp.cache.57.0", 2 * 4096, 'a');
  writer.entry("htp.cache.69.0", 2 * 4096, 'b');
  writer.entry("dlc.metadata2.3.0", support::kTwoSocMetadata);
  Bytes bytes = writer.write();
  const std::size_t alignment = writer.header_at(1) + 30 + std::string_view("htp.cache.69.0").size() + 36;
  ASSERT_EQ(writer.data_at(1) % 16'384, 0U);  // true of these sizes
  set_le<std::uint32_t>(bytes, alignment, 16'384);
  const std::string path = put(bytes);

  const auto thin = thin_dlc(path, {.qnn_socs = {69}, .entries = {}});

  ASSERT_TRUE(is_ok(thin));
  const Bytes made = joined(thin.value(), bytes);
  const std::size_t stated = 30 + std::string_view("htp.cache.69.0").size() + 36;
  EXPECT_EQ(number_at<std::uint32_t>(made, stated), 4096U);
}

TEST_F(Dlc, ChoosingEverythingGivesBackAllRanges) {
  const auto thin = thin_dlc(put(two_socs()), {.qnn_socs = {57}, .entries = {"htp.cache.69.0"}});

  ASSERT_TRUE(is_ok(thin));
  EXPECT_EQ(thin.value().entries.size(), 5U);
  EXPECT_EQ(joined(thin.value(), original_), original_);
}

TEST_F(Dlc, ChoosingWhatIsNotThereTellsWhatIs) {
  const std::string path = put(two_socs());
  const auto thin = thin_dlc(path, {.qnn_socs = {43}, .entries = {}});
  ASSERT_TRUE(fails_with(thin, ErrorCode::kNoMatch));
  EXPECT_NE(thin.error().message.find("57 (htp.cache.57.0), 69 (htp.cache.69.0)"), std::string::npos);
  EXPECT_TRUE(fails_with(thin_dlc(path, {.qnn_socs = {}, .entries = {"htp.shared.weights.0"}}), ErrorCode::kNoMatch));
  EXPECT_TRUE(fails_with(thin_dlc(path, {}), ErrorCode::kNoMatch));
}

TEST_F(Dlc, WithoutMetadataNothingCanBeLeftOut) {
  DlcWriter writer;
  writer.entry("htp.cache.57.0", 4096, 'a');
  writer.entry("htp.cache.69.0", 4096, 'b');
  EXPECT_TRUE(fails_with(thin_dlc(put(writer), {.qnn_socs = {57}, .entries = {}}), ErrorCode::kBadReference));
}

TEST_F(Dlc, AThinFileAppearsWholeAndReplacesOnlyWhenAllowed) {
  const std::string path = put(two_socs());
  const std::string out = folder_.file("thin.dlc");
  const DlcChoice choice{.qnn_socs = {57}, .entries = {}};

  const auto thin = extract_thin_dlc(path, choice, out, false);

  ASSERT_TRUE(is_ok(thin));
  EXPECT_EQ(read_file(out), joined(thin.value(), original_));
  EXPECT_TRUE(fails_with(extract_thin_dlc(path, choice, out, false), ErrorCode::kExists));
  EXPECT_TRUE(is_ok(extract_thin_dlc(path, choice, out, true)));
  EXPECT_TRUE(fails_with(extract_thin_dlc(path, {.qnn_socs = {1}, .entries = {}}, folder_.file("no"), false),
                         ErrorCode::kNoMatch));
  EXPECT_TRUE(fails_with(list_dlc(folder_.file("no")), ErrorCode::kNotFound));
}

TEST(PackPart, APartOfAFileIsPackedAsIfItWereAFile) {
  TempDir folder;
  write_file(folder.file("whole"), Bytes(100, std::byte{7}));
  for (const auto& [part, good] : {std::pair(ByteRange{10, 90}, true), std::pair(ByteRange{10, 91}, false),
                                   std::pair(ByteRange{~std::uint64_t{0}, 2}, false)}) {
    PackRecord record;
    record.name = "part";
    record.source.path = folder.file("whole");
    record.source.part = part;
    PackOptions options;
    options.overwrite = true;
    Packer packer(options);
    ASSERT_TRUE(is_ok(packer.add(record)));

    const auto report = packer.publish(folder.file("m.fatctx"));

    if (!good) {
      EXPECT_TRUE(fails_with(report, ErrorCode::kInvalidArgument));
      continue;
    }
    ASSERT_TRUE(is_ok(report));
    const auto container = Container::open(folder.file("m.fatctx"));
    ASSERT_TRUE(is_ok(container));
    const auto records = support::records_in(container.value());
    EXPECT_TRUE(std::any_of(records.begin(), records.end(),
                            [](const auto& r) { return r.name == "part" && r.size_bytes == 90; }));
  }
}

}  // namespace dlc_import_test
}  // namespace fatctx
