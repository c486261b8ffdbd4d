// Records that are stored as lz4 frames: the packer's output for them, and the reader's answer to every malformed one.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "container/format/codec.h"
#include "container/read/opened_file.h"
#include "support/hostile_file.h"
#include "support/large_input.h"
#include "support/memory_file.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"

namespace fatctx::container {
namespace cold_record_test {

using support::Bytes;
using support::fails_with;
using support::HostileFile;
using support::is_ok;
using support::MemoryFile;
using support::TempDir;

Bytes text(std::size_t size, std::uint32_t seed) {
  constexpr std::size_t kRun = 12;
  const Bytes noise = support::pattern(size / kRun + 1, seed);
  Bytes bytes;
  for (const std::byte value : noise) bytes.insert(bytes.end(), kRun, value);
  bytes.resize(size);
  return bytes;
}

PackRecord cold(const std::string& name, Bytes bytes, RecordType type = RecordType::kSourceModel) {
  PackRecord record = support::plain_record(type, name, std::move(bytes));
  record.codec = Codec::kLz4;
  return record;
}

TEST(ColdRecord, ASourceModelIsStoredSmallerAndComesBackWhole) {
  const Bytes model = text(500'000, 1);
  const Opened opened(support::packed_bytes({cold("model", model)}));

  const RecordInfo& record = opened.record("model");

  EXPECT_EQ(record.codec, Codec::kLz4);
  EXPECT_TRUE(record.supported);
  EXPECT_EQ(record.size_bytes, model.size());
  EXPECT_LT(record.stored_bytes, model.size() / 2);
  EXPECT_EQ(record.hash, hash128(model)) << "the identity of a record is that of its logical bytes";
  EXPECT_EQ(opened.bytes_of("model").value(), model);
  const auto report = verify_container(opened.file, {});
  ASSERT_TRUE(is_ok(report));
  EXPECT_TRUE(report.value().findings.empty()) << to_text(report.value().findings.front().error);
}

TEST(ColdRecord, WhatDoesNotGetSmallerIsStoredAsItIs) {
  const Bytes noise = support::pattern(100'000, 2);
  PackRecord plain = cold("model", noise);
  plain.codec = Codec::kNone;

  const Bytes asked = support::packed_bytes({cold("model", noise)});

  EXPECT_EQ(Opened(asked).record("model").codec, Codec::kNone);
  EXPECT_EQ(asked, support::packed_bytes({plain}));
}

TEST(ColdRecord, AnEmptyRecordHasNoCodec) {
  const Opened opened(support::packed_bytes({cold("empty", {}, RecordType::kOpaque)}));
  EXPECT_EQ(opened.record("empty").codec, Codec::kNone);
  EXPECT_EQ(opened.bytes_of("empty").value(), Bytes{});
}

TEST(ColdRecord, LargeAndSmallOnesOfEveryColdTypeShareAFileWithPlainOnes) {
  std::vector<PackRecord> records = support::mixed_records();
  records.push_back(cold("log", text(3'000, 3), RecordType::kOpaque));
  records.push_back(cold("log 2", text(150'000, 4), RecordType::kOpaque));
  records.push_back(cold("huge log", text(12'000'000, 5), RecordType::kOpaque));
  records.push_back(cold("model", text(5'000, 6)));
  const Opened opened(support::packed_bytes(records));

  for (const PackRecord& record : records) {
    EXPECT_EQ(opened.bytes_of(record.name).value(), record.source.bytes) << record.name;
  }
  EXPECT_EQ(opened.record("log").codec, Codec::kLz4);
  EXPECT_EQ(opened.record("small").codec, Codec::kNone);
  const auto report = verify_container(opened.file, {});
  ASSERT_TRUE(is_ok(report));
  EXPECT_TRUE(report.value().findings.empty()) << to_text(report.value().findings.front().error);
}

TEST(ColdRecord, TheSameInputGivesTheSameFileWhereverItLiesAndInAnyOrder) {
  const TempDir folder;
  const Bytes model = text(700'000, 7);
  support::write_file(folder.file("model"), model);
  PackRecord from_file = cold("model", {});
  from_file.source.path = folder.file("model");
  const PackRecord log = cold("log", text(90'000, 8), RecordType::kOpaque);

  const Bytes first = support::packed_bytes({cold("model", model), log});

  EXPECT_EQ(support::packed_bytes({log, from_file}), first);
  EXPECT_EQ(support::packed_bytes({cold("model", model), log}), first);
}

TEST(ColdRecord, EqualOnesAreStoredOnceAndOneStoredOtherwiseIsNotConfusedWithThem) {
  const Bytes model = text(200'000, 9);
  PackRecord plain = cold("plain", model);
  plain.codec = Codec::kNone;
  const Opened opened(support::packed_bytes({cold("a", model), cold("b", model), plain}));

  EXPECT_EQ(opened.record("a").file_offset, opened.record("b").file_offset);
  EXPECT_NE(opened.record("a").file_offset, opened.record("plain").file_offset);
  EXPECT_EQ(opened.record("a").hash, opened.record("plain").hash);
  for (const char* name : {"a", "b", "plain"}) EXPECT_EQ(opened.bytes_of(name).value(), model) << name;
}

TEST(ColdRecord, AnIncompressibleOneIsSharedWithAnEqualPlainOne) {
  const Bytes noise = support::pattern(100'000, 10);
  PackRecord plain = cold("plain", noise);
  plain.codec = Codec::kNone;
  const Opened opened(support::packed_bytes({cold("asked", noise), plain}));
  EXPECT_EQ(opened.record("asked").file_offset, opened.record("plain").file_offset);
}

TEST(ColdRecord, TypesThatAreMappedAreRefused) {
  for (const RecordType type : {RecordType::kContextBinary, RecordType::kWeightBlob, RecordType::kWrapperModel}) {
    PackRecord record = cold("r", text(1'000, 11), type);
    record.key.backend = "cpu";
    Packer packer{PackOptions{}};

    const auto status = packer.add(std::move(record));

    ASSERT_TRUE(fails_with(status, ErrorCode::kInvalidArgument, "F23"));
    EXPECT_NE(status.error().message.find("source_model"), std::string::npos) << status.error().message;
  }
}

TEST(ColdRecord, ItHasNoViewAndTheErrorSaysHowToReadIt) {
  const Opened opened(support::packed_bytes({cold("model", text(9'000, 12))}));
  const RecordInfo& record = opened.record("model");

  const auto status = check_supported(record, opened.toc.toc.forms[opened.toc.toc.index_of(record)]);

  ASSERT_TRUE(fails_with(status, ErrorCode::kUnsupported));
  EXPECT_NE(status.error().message.find("fatctx extract"), std::string::npos) << status.error().message;
  EXPECT_NE(status.error().message.find("stream_record()"), std::string::npos) << status.error().message;
}

TEST(ColdRecord, AnInputThatChangesBetweenMeasuringAndWritingIsRefused) {
  const TempDir inputs;
  const TempDir folder;
  const std::string path = inputs.file("model");
  support::write_file(path, text(300'000, 13));
  PackRecord record = cold("model", {});
  record.source.path = path;
  PackOptions options;
  options.progress = [&](std::uint64_t, std::uint64_t) { support::write_file(path, text(300'000, 14)); };

  const auto report = support::pack({record}, folder.file("out.fatctx"), std::move(options));

  EXPECT_TRUE(fails_with(report, ErrorCode::kChanged));
  EXPECT_EQ(folder.names(), std::vector<std::string>{});
}

TEST(ColdRecord, MemoryOfPackingDoesNotDependOnItsSize) {
  const auto packed = support::pack_large_input(cold("a", {}));

  ASSERT_TRUE(is_ok(packed.report));
  EXPECT_LT(packed.report.value().stored_bytes, support::kLargeInput / 200);
  EXPECT_LT(packed.grown_bytes, 40'000'000U);
}

TEST(ColdRecord, OneAboveTheLimitIsStoredAsItIsWithAWarning) {
  const TempDir folder;
  const std::string path = folder.file("sparse");
  support::write_file(path, support::pattern(1000, 1));
  std::filesystem::resize_file(path, kMaxColdRecordSize + 1);
  PackRecord record = cold("model", {});
  record.source.path = path;

  PackOptions options;
  options.sharing = Sharing::kOff;  // otherwise its holes would be stored once

  const auto report = support::pack({record}, folder.file("out.fatctx"), std::move(options));

  ASSERT_TRUE(is_ok(report));
  EXPECT_GT(report.value().stored_bytes, kMaxColdRecordSize);
  ASSERT_EQ(report.value().warnings.size(), 1U);
  EXPECT_NE(report.value().warnings[0].find("record \"model\""), std::string::npos) << report.value().warnings[0];
}

// A container whose only record of its own is `model`, for tests that damage it. Segment 0 is packed, 1 the frame, 2
// LEAVES.
struct Sample {
  Bytes model = text(400'000, 20);
  Bytes file = support::packed_bytes({cold("model", model)});
  RecordInfo record = Opened(file).record("model");
  [[nodiscard]] std::size_t at() const { return static_cast<std::size_t>(record.file_offset); }
};

VerifyReport verified(const Opened& opened) {
  auto report = verify_container(opened.file, {});
  if (!report.ok()) throw std::runtime_error(to_text(report.error()));
  return std::move(report).value();
}

TEST(ColdRecord, DamageIsFoundBeforeAnythingIsDecompressedAndNamedWithItsRange) {
  Sample sample;
  sample.file[sample.at() + 70'000] ^= std::byte{1};  // in the second leaf of the frame
  const Opened opened(sample.file);
  std::size_t handed_on = 0;

  const auto status = stream_logical(
      opened.file, opened.toc.toc, opened.record("model"), WorkBudget(opened.toc.toc), [&](ByteView bytes) -> Status {
        EXPECT_TRUE(
            std::equal(bytes.begin(), bytes.end(), sample.model.begin() + static_cast<std::ptrdiff_t>(handed_on)));
        handed_on += bytes.size();
        return Done{};
      });
  const VerifyReport whole = verified(opened);
  const auto one = opened.verify_one("model");

  ASSERT_GT(sample.record.stored_bytes, 70'000U);
  ASSERT_TRUE(fails_with(status, ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_EQ(status.error().where.file_offset, sample.record.file_offset + kLeafSize);
  ASSERT_EQ(whole.findings.size(), 1U) << "the frame itself is not looked at";
  EXPECT_TRUE(support::is_error(whole.findings[0].error, ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_EQ(whole.findings[0].error.where.file_offset, sample.record.file_offset + kLeafSize);
  ASSERT_TRUE(is_ok(one));
  ASSERT_EQ(one.value().findings.size(), 1U);
  EXPECT_EQ(to_text(one.value().findings[0].error), to_text(whole.findings[0].error));
}

struct FrameLie {
  const char* name;
  void (*damage)(HostileFile& file, const Sample& sample);
  ErrorCode code;
  std::string_view rule;
};

const FrameLie kFrameLies[] = {
    {"a flipped bit below right leaves",
     [](auto& f, const auto& s) {
       f.in_payload = [at = s.at() + 5'000](Bytes& b) { b[at] ^= std::byte{8}; };
       f.rehash_payload = true;
     },
     ErrorCode::kCodec, "F41"},
    {"a dictionary",
     [](auto& f, const auto& s) {
       f.in_payload = [at = s.at() + 4](Bytes& b) { b[at] |= std::byte{1}; };
       f.rehash_payload = true;
     },
     ErrorCode::kCodec, "F41"},
    {"a frame that ends one byte early",
     [](auto& f, const auto& s) {
       auto& record = f.record(RecordType::kSourceModel);
       record.stored_size = record.stored_size - 1;
       f.slice_of(record).size = s.record.stored_bytes - 1;
     },
     ErrorCode::kCodec, "F41"},
    {"a byte behind the frame",
     [](auto& f, const auto& s) {
       auto& record = f.record(RecordType::kSourceModel);
       record.stored_size = record.stored_size + 1;
       f.slice_of(record).size = s.record.stored_bytes + 1;
       f.segments[1].size = s.record.stored_bytes + 1;
       f.rehash_payload = true;
     },
     ErrorCode::kCodec, "F41"},
    {"a record larger than its frame says",
     [](auto& f, const auto&) {
       auto& record = f.record(RecordType::kSourceModel);
       record.logical_size = record.logical_size + 1;
     },
     ErrorCode::kCodec, "F41"},
    {"a record of 1 GiB in a frame of a few bytes, as far as F24 lets it",
     [](auto& f, const auto&) {
       auto& record = f.record(RecordType::kSourceModel);
       record.logical_size = record.stored_size * kMaxExpansion + kExpansionSlack;
     },
     ErrorCode::kCodec, "F41"},
    {"another record's hash",
     [](auto& f, const auto&) { f.record(RecordType::kSourceModel).logical_hash[3] ^= std::byte{1}; },
     ErrorCode::kChecksumMismatch, "F37"},
};

TEST(ColdRecord, EveryLieInAFrameWithRightChecksumsIsFoundByStreamAndByVerify) {
  const Sample sample;
  for (const FrameLie& lie : kFrameLies) {
    SCOPED_TRACE(lie.name);
    HostileFile hostile(sample.file);
    lie.damage(hostile, sample);
    const Opened opened(hostile.bytes());

    const auto bytes = opened.bytes_of("model");
    const VerifyReport whole = verified(opened);
    const auto one = opened.verify_one("model");

    ASSERT_TRUE(fails_with(bytes, lie.code, lie.rule));
    ASSERT_TRUE(bytes.error().where.file_offset.has_value());
    EXPECT_GE(*bytes.error().where.file_offset, sample.record.file_offset);
    EXPECT_LE(*bytes.error().where.file_offset, sample.record.file_offset + sample.record.stored_bytes);
    ASSERT_EQ(whole.findings.size(), 1U);
    EXPECT_TRUE(support::is_error(whole.findings[0].error, lie.code, lie.rule));
    EXPECT_EQ(whole.findings[0].error.where.record_id, sample.record.id);
    ASSERT_TRUE(is_ok(one));
    ASSERT_EQ(one.value().findings.size(), 1U);
    EXPECT_EQ(to_text(one.value().findings[0].error), to_text(whole.findings[0].error));
  }
}

TEST(ColdRecord, AnEmptyRecordThatClaimsACodecOrAnotherHashIsFoundByStreamAndByVerify) {
  const Bytes good = support::packed_bytes({support::plain_record(RecordType::kOpaque, "empty", {})});
  for (const bool coded : {true, false}) {
    HostileFile hostile(good);
    auto& record = hostile.record(RecordType::kOpaque);
    if (coded) record.codec = kCodecLz4Frame;
    if (!coded) record.logical_hash[0] ^= std::byte{1};
    const Opened opened(hostile.bytes());
    const ErrorCode code = coded ? ErrorCode::kCodec : ErrorCode::kChecksumMismatch;
    const std::string_view rule = coded ? "F41" : "F37";

    EXPECT_TRUE(fails_with(opened.bytes_of("empty"), code, rule));
    const VerifyReport whole = verified(opened);
    ASSERT_EQ(whole.findings.size(), 1U);
    EXPECT_TRUE(support::is_error(whole.findings[0].error, code, rule));
  }
}

TEST(ColdRecord, AClaimOfAGibibyteIsRefusedBeforeMemoryIsTaken) {
  const Sample sample;
  HostileFile hostile(sample.file);
  hostile.record(RecordType::kSourceModel).logical_size = kMaxColdRecordSize;
  const MemoryFile file(hostile.bytes());

  EXPECT_TRUE(fails_with(read_toc(file, file.size()), ErrorCode::kLimitExceeded, "F24"));
}

TEST(ColdRecord, EveryReadErrorOfAStreamIsHandedOn) {
  const Sample sample;
  Opened opened(sample.file);
  const std::uint64_t start = opened.file.calls(support::FileCall::kRead);
  ASSERT_TRUE(is_ok(opened.bytes_of("model")));
  const std::uint64_t reads = opened.file.calls(support::FileCall::kRead) - start;
  ASSERT_GE(reads, 2U);
  for (std::uint64_t nth = 0; nth < reads; ++nth) {
    Opened failing(sample.file);
    failing.file.fail(support::FileCall::kRead, failing.file.calls(support::FileCall::kRead) + nth, false);
    EXPECT_TRUE(fails_with(failing.bytes_of("model"), ErrorCode::kIo)) << nth;
  }
}

TEST(ColdRecord, ADescriptionMayBeCompressedAndIsReadAllTheSame) {
  HostileFile hostile(support::unsealed_sample());
  const auto plain_record = hostile.record(RecordType::kDescription);
  const Opened plain(support::unsealed_sample());
  const RecordInfo& info = plain.record("description");
  const Bytes payload = plain.bytes_of("description").value();
  Bytes frame;
  FrameWriter writer(payload.size());
  const StreamSink sink = [&](ByteView bytes) -> Status {
    frame.insert(frame.end(), bytes.begin(), bytes.end());
    return Done{};
  };
  ASSERT_TRUE(is_ok(writer.write(payload, sink)));
  ASSERT_TRUE(is_ok(writer.finish(sink)));
  hostile.replace_last_packed(RecordType::kDescription, frame);
  hostile.in_payload = [at = static_cast<std::size_t>(info.file_offset), size = payload.size(), frame](Bytes& file) {
    std::fill_n(file.begin() + static_cast<std::ptrdiff_t>(at), size, std::byte{0});
    std::copy(frame.begin(), frame.end(), file.begin() + static_cast<std::ptrdiff_t>(at));
  };
  auto& record = hostile.record(RecordType::kDescription);
  record.codec = kCodecLz4Frame;
  record.logical_size = payload.size();
  record.logical_hash = plain_record.logical_hash;

  const Opened opened(hostile.bytes());

  const auto bytes =
      read_metadata_record(opened.file, opened.toc.toc, opened.record("description"), WorkBudget(opened.toc.toc));
  ASSERT_TRUE(is_ok(bytes));
  EXPECT_EQ(bytes.value().bytes, payload);
  EXPECT_EQ(info.hash, opened.record("description").hash);
  EXPECT_TRUE(verified(opened).findings.empty());

  Opened damaged(hostile.bytes());
  const RecordInfo& there = damaged.record("description");
  damaged.file.bytes()[static_cast<std::size_t>(there.file_offset)] ^= std::byte{1};
  EXPECT_TRUE(fails_with(read_metadata_record(damaged.file, damaged.toc.toc, there, WorkBudget(damaged.toc.toc)),
                         ErrorCode::kChecksumMismatch, "F26"));
}

TEST(RecordStream, AnEmptyRecordHasTheHashOfNothing) {
  const Opened good(support::packed_bytes(support::mixed_records()));
  EXPECT_TRUE(is_ok(good.bytes_of("empty")));

  HostileFile hostile(support::packed_bytes(support::mixed_records()));
  for (RecordEntry& record : hostile.records) {
    if (record.slice_count == 0) record.logical_hash[3] ^= std::byte{1};
  }
  const Opened opened(hostile.bytes());

  EXPECT_TRUE(fails_with(opened.bytes_of("empty"), ErrorCode::kChecksumMismatch, "F37"));
}

}  // namespace cold_record_test
}  // namespace fatctx::container
