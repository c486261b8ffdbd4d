// Opening with trusted keys: one of them has signed everything that is handed out. The author of the file does not
// matter, nor what this process has read of it before.
#include "fatctx/signature.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "container/format/crypto.h"
#include "container/format/page_hashes.h"
#include "container/read/stored_rows.h"
#include "fatctx/appender.h"
#include "fatctx/diff.h"
#include "fatctx/extract.h"
#include "fatctx/model.h"
#include "fatctx/private_folder.h"
#include "fatctx/range_access.h"
#include "fatctx/repair.h"
#include "fatctx/view_cache.h"
#include "runtime/facade/open_container.h"
#include "runtime/open/container_impl.h"
#include "runtime/open/mapped_container.h"
#include "support/large_form.h"
#include "support/opened.h"
#include "support/result_matchers.h"
#include "support/sample_container.h"
#include "support/signed_file.h"

namespace fatctx {
namespace signature_test {

using container::SegmentKind;
using container::SigningKey;
using support::Bytes;
using support::fails_with;
using support::HostileFile;
using support::is_ok;

constexpr std::size_t kBlobSize = 300'000;

// Returns weights that can be forged, a binary that uses them, and a record that maps in pieces. A recipe composes the
// next one from the weights; the last two are a compressed record and an empty one.
std::vector<PackRecord> records_to_sign() {
  std::vector<PackRecord> records;
  PackRecord weights = support::plain_record(RecordType::kWeightBlob, "weights", support::pattern(kBlobSize, 1));
  support::make_forgeable(weights.source.bytes);
  weights.key.group = "model";
  weights.tensors = {{"w", DType::kU8, {kBlobSize}, 0, kBlobSize, false}};
  PackRecord binary = support::binary_record("binary", "x86-64-v3", support::pattern(5'000, 2));
  binary.weights = {"weights"};
  PackRecord built = support::plain_record(RecordType::kOpaque, "built", support::pattern(4'096, 3));
  built.source.bytes.insert(built.source.bytes.end(), weights.source.bytes.begin(), weights.source.bytes.end());
  PackRecord cold = support::plain_record(RecordType::kSourceModel, "cold", Bytes(200'000, std::byte{7}));
  cold.codec = Codec::kLz4;
  records.push_back(std::move(weights));
  records.push_back(std::move(binary));
  records.push_back(std::move(built));
  records.push_back(std::move(cold));
  records.push_back(support::plain_record(RecordType::kOpaque, "empty", {}));
  return records;
}

class Signed : public ::testing::Test {
 protected:
  void SetUp() override {
    PackOptions options;
    options.sharing = Sharing::kBytes;
    ASSERT_TRUE(is_ok(support::pack(records_to_sign(), path_, options)));
    release_ = make_keys(folder_.file("release")).value();
    other_ = make_keys(folder_.file("other")).value();
    ASSERT_TRUE(is_ok(sign()));
  }

  [[nodiscard]] Result<SignReport> sign(const SignOptions& options = {.overwrite = true}) const {
    return sign_container(path_, release_.secret_path, path_, options);
  }
  [[nodiscard]] OpenOptions trusting() const {
    return {.max_copied_bytes = 2 * kBlobSize, .trusted_keys = {release_.public_key}};
  }
  [[nodiscard]] SigningKey key() const { return container::read_signing_key(release_.secret_path).value(); }
  void append_note(const std::string& name) const {
    Appender appender = Appender::open(path_).value();
    PackRecord record = support::binary_record(name, name, support::pattern(9'000, 5));
    record.weights = {"weights"};
    ASSERT_TRUE(is_ok(appender.add(std::move(record))));
    ASSERT_TRUE(is_ok(appender.commit()));
  }
  // Replaces the file by rename, so that the next open does not read a file that is already open.
  void replace(const Bytes& bytes) const {
    support::write_file(path_ + ".new", bytes);
    support::replace_file(path_ + ".new", path_);
  }
  [[nodiscard]] HostileFile taken_apart() const { return HostileFile(support::read_file(path_)); }

  const support::TempDir folder_;
  const std::string path_ = folder_.file("m.fatctx");
  KeyFiles release_;
  KeyFiles other_;
};

TEST_F(Signed, OpensForWhoeverTrustsTheKeyAndForWhoeverAsksForNone) {
  const Container trusted = Container::open(path_, trusting()).value();
  EXPECT_TRUE(support::report_of(trusted).signed_file);
  EXPECT_TRUE(support::report_of(trusted).signature_verified);
  EXPECT_EQ(support::report_of(trusted).key_id, to_hex(release_.public_key.id()));
  EXPECT_EQ(support::report_of(trusted).generation, 2U);
  for (const RecordInfo& record : support::records_in(trusted)) {
    if (record.codec == Codec::kNone) {
      EXPECT_TRUE(is_ok(trusted.acquire(record.id))) << record.name;
    }
    EXPECT_TRUE(is_ok(stream_record(trusted, record.id, [](ByteView) -> Status { return Done{}; }))) << record.name;
  }
  EXPECT_TRUE(is_ok(trusted.describe()));
  EXPECT_TRUE(is_ok(trusted.tensors(trusted.find("weights").value().id)));
  EXPECT_TRUE(trusted.verify().value().findings.empty());

  const Container anybody = Container::open(path_).value();
  EXPECT_TRUE(support::report_of(anybody).signed_file);
  EXPECT_FALSE(support::report_of(anybody).signature_verified);
  const OpenOptions several{.trusted_keys = {other_.public_key, release_.public_key}};
  EXPECT_TRUE(is_ok(Container::open(path_, several)));
}

TEST_F(Signed, HasTheBytesAndTheNameOfWhatWasSignedAndOneGeneration) {
  const std::string plain = folder_.file("plain.fatctx");
  PackOptions options;
  options.sharing = Sharing::kBytes;
  ASSERT_TRUE(is_ok(support::pack(records_to_sign(), plain, options)));
  const std::string made = folder_.file("made.fatctx");
  const SignReport report = sign_container(plain, release_.secret_path, made).value();
  const Container before = Container::open(plain).value();
  const Container after = Container::open(made, trusting()).value();

  EXPECT_EQ(support::report_of(after).uuid, support::report_of(before).uuid);
  EXPECT_EQ(support::report_of(after).generation, support::report_of(before).generation + 1);
  EXPECT_EQ(report.generation, support::report_of(after).generation);
  EXPECT_EQ(report.file_size, std::filesystem::file_size(made));
  ASSERT_EQ(support::records_in(after).size(), support::records_in(before).size());
  for (std::size_t i = 0; i < support::records_in(before).size(); ++i) {
    EXPECT_EQ(support::records_in(after)[i].hash, support::records_in(before)[i].hash);
    EXPECT_EQ(support::records_in(after)[i].name, support::records_in(before)[i].name);
    EXPECT_EQ(support::records_in(after)[i].recipe, support::records_in(before)[i].recipe);
  }
  EXPECT_FALSE(support::report_of(before).signed_file);
  EXPECT_FALSE(support::report_of(after).sealed);
  EXPECT_TRUE(fails_with(sign_container(plain, release_.secret_path, made), ErrorCode::kExists));

  ASSERT_TRUE(is_ok(sign_container(plain, release_.secret_path, folder_.file("again.fatctx"))));
  EXPECT_EQ(support::read_file(made), support::read_file(folder_.file("again.fatctx"))) << "same input, same bytes";
}

TEST_F(Signed, StaysSealedOrIsSealedAsWell) {
  ASSERT_TRUE(is_ok(sign({.seal = true, .overwrite = true})));
  EXPECT_TRUE(support::report_of(Container::open(path_, trusting()).value()).sealed);
  ASSERT_TRUE(is_ok(sign()));
  const OpenReport report = support::report_of(Container::open(path_, trusting()).value());
  EXPECT_TRUE(report.sealed);
  EXPECT_EQ(report.generation, 4U);
  EXPECT_EQ(std::filesystem::status(path_).permissions() & std::filesystem::perms(0222), std::filesystem::perms::none);
}

TEST_F(Signed, NamesTheSignedGenerationItWasMadeFrom) {
  const auto first = taken_apart().live;
  ASSERT_TRUE(is_ok(sign()));
  const auto second = taken_apart().live;
  EXPECT_EQ(second.previous_toc_sha256, first.toc_sha256);
  EXPECT_EQ(first.previous_toc_sha256, container::DiskSha256{});
  EXPECT_EQ(taken_apart().other.generation, 2U) << "the VOID slot";
}

// S1
TEST_F(Signed, AFileWithoutASignatureIsRefusedWhereAKeyIsGiven) {
  const std::string plain = folder_.file("plain.fatctx");
  ASSERT_TRUE(is_ok(support::pack(records_to_sign(), plain)));
  EXPECT_TRUE(fails_with(Container::open(plain, trusting()), ErrorCode::kSignatureMissing));
  const Container live = Container::open(plain).value();
  EXPECT_TRUE(fails_with(Container::open(plain, trusting()), ErrorCode::kSignatureMissing));
  EXPECT_TRUE(fails_with(Model::open(plain, {.open = trusting()}), ErrorCode::kSignatureMissing));
  EXPECT_TRUE(fails_with(Container::open(Source::of_memory(support::read_file(plain)), trusting()),
                         ErrorCode::kSignatureMissing));
}

// S2
TEST_F(Signed, ASignatureOfAnotherKeyIsRefused) {
  const OpenOptions others{.trusted_keys = {other_.public_key}};
  EXPECT_TRUE(fails_with(Container::open(path_, others), ErrorCode::kSignatureBad));
  const Container live = Container::open(path_, trusting()).value();
  EXPECT_TRUE(fails_with(Container::open(path_, others), ErrorCode::kSignatureBad)) << "also where it is live";
  // Another key signs in the name of the trusted one.
  HostileFile file = taken_apart();
  const SigningKey wrong = container::read_signing_key(other_.secret_path).value();
  support::sign_again(file, wrong);
  const auto sign = file.in_header;
  file.in_header = [&](Bytes& bytes) {
    sign(bytes);
    for (const std::size_t index : {std::size_t{0}, std::size_t{2}}) {
      auto slot = support::struct_at<container::Slot>(bytes, container::kSlotOffsets[index]);
      slot.key_id = release_.public_key.id();
      support::put_struct(bytes, container::kSlotOffsets[index], slot);
    }
  };
  replace(file.bytes());
  EXPECT_TRUE(fails_with(Container::open(path_, trusting()), ErrorCode::kSignatureBad));
}

// S2
TEST_F(Signed, ASignatureOfTheSameMeaningInOtherBytesIsRefused) {
  // The order of the group, which changes nothing when it is added to S.
  constexpr unsigned char kOrder[32] = {0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7,
                                        0xa2, 0xde, 0xf9, 0xde, 0x14, 0,    0,    0,    0,    0,    0,
                                        0,    0,    0,    0,    0,    0,    0,    0,    0,    0x10};
  HostileFile file = taken_apart();
  unsigned carry = 0;
  for (std::size_t i = 0; i < 32; ++i) {
    const unsigned sum = std::to_integer<unsigned>(file.live.signature[32 + i]) + kOrder[i] + carry;
    file.live.signature[32 + i] = static_cast<std::byte>(sum & 0xff);
    carry = sum >> 8;
  }
  replace(file.bytes());
  EXPECT_TRUE(fails_with(Container::open(path_, trusting()), ErrorCode::kSignatureBad));
}

// S2
TEST_F(Signed, AKeyOfSmallOrderSignsNothingEvenIfItIsTrusted) {
  PublicKey small;  // of order 1: every signature with S = 0 and the same nonce fits the equation
  small.bytes[0] = std::byte{1};
  HostileFile file = taken_apart();
  file.live.key_id = small.id();
  file.live.signature = {};
  file.live.signature[0] = std::byte{1};
  replace(file.bytes());
  EXPECT_TRUE(fails_with(Container::open(path_, {.trusted_keys = {small}}), ErrorCode::kSignatureBad));
}

// S3
TEST_F(Signed, ASignatureOfAnotherGenerationOrContainerIsRefused) {
  const auto donor = taken_apart().live;
  ASSERT_TRUE(is_ok(sign()));
  const Bytes third = support::read_file(path_);
  const auto give = [&](HostileFile file) {
    file.live.toc_sha256 = donor.toc_sha256;
    file.live.signature = donor.signature;
    file.live.key_id = donor.key_id;
    file.live.previous_toc_sha256 = donor.previous_toc_sha256;
    replace(file.bytes());
  };
  give(HostileFile(third));
  EXPECT_TRUE(fails_with(Container::open(path_, trusting()), ErrorCode::kSignatureBad));

  std::vector<PackRecord> records = records_to_sign();
  records.pop_back();
  PackOptions options;
  options.overwrite = true;
  ASSERT_TRUE(is_ok(support::pack(std::move(records), path_, options)));
  ASSERT_TRUE(is_ok(sign()));
  ASSERT_TRUE(is_ok(Container::open(path_, trusting())));
  give(taken_apart());
  EXPECT_TRUE(fails_with(Container::open(path_, trusting()), ErrorCode::kSignatureBad));
}

// S3
TEST_F(Signed, EveryFieldThatIsSignedCounts) {
  const auto changed = [&](void (*change)(container::Slot&)) {
    HostileFile file = taken_apart();
    change(file.live);
    support::MemoryFile memory(file.bytes());
    const PublicKey trusted[] = {release_.public_key};
    return container::read_toc(memory, memory.size(), {.keys = trusted});
  };
  EXPECT_TRUE(is_ok(changed([](container::Slot&) {})));
  EXPECT_TRUE(fails_with(changed([](container::Slot& s) { s.previous_toc_sha256[0] = std::byte{1}; }),
                         ErrorCode::kSignatureBad));
  EXPECT_TRUE(
      fails_with(changed([](container::Slot& s) { s.toc_sha256[0] ^= std::byte{1}; }), ErrorCode::kSignatureBad));
  EXPECT_TRUE(fails_with(changed([](container::Slot& s) { s.key_id[0] ^= std::byte{1}; }), ErrorCode::kSignatureBad));
  // uuid, generation, committed_end and toc_size are also in the table, whose bytes are signed. Here they are tested
  // alone:
  container::Header header;
  header.generation = 7;
  header.committed_end = 0x90000;
  header.toc_head_size = container::toc_head_size(1, true);
  header.toc_size = header.toc_head_size + 3;
  Bytes toc = support::pattern(static_cast<std::size_t>(header.toc_size), 1);
  const std::span<std::byte> page_sha256 =
      std::span(toc).first(static_cast<std::size_t>(header.toc_head_size)).last(sizeof(container::DiskSha256));
  container::put_page_sha256(ByteView(toc).last(3), page_sha256);
  const SigningKey secret = key();
  const ByteView head = ByteView(toc).first(static_cast<std::size_t>(header.toc_head_size));
  header.signature = container::sign_generation(header, head, {}, secret);
  const PublicKey trusted[] = {release_.public_key};
  EXPECT_TRUE(is_ok(container::check_trust(header, toc, {.keys = trusted})));
  const auto refused = [&](auto change) {
    container::Header other = header;
    change(other);
    return fails_with(container::check_trust(other, toc, {.keys = trusted}), ErrorCode::kSignatureBad);
  };
  EXPECT_TRUE(refused([](container::Header& h) { h.uuid[15] = std::byte{1}; }));
  EXPECT_TRUE(refused([](container::Header& h) { h.generation = 8; }));
  EXPECT_TRUE(refused([](container::Header& h) { h.committed_end = 0x90001; }));
  EXPECT_TRUE(refused([](container::Header& h) { h.toc_size = h.toc_size + 1; }));
  EXPECT_TRUE(refused([](container::Header& h) { h.toc_head_size = h.toc_head_size - 16; }));
  Bytes other_page = toc;
  other_page.back() ^= std::byte{1};
  EXPECT_TRUE(fails_with(container::check_trust(header, other_page, {.keys = trusted}), ErrorCode::kSignatureBad));
}

// S4
TEST_F(Signed, AnOlderFileDoesNotTakeThePlaceOfANewerOne) {
  const Bytes older = support::read_file(path_);
  ASSERT_TRUE(is_ok(sign()));
  OpenOptions newest = trusting();
  newest.minimum_generation = 3;
  ASSERT_TRUE(is_ok(Container::open(path_, newest)));
  replace(older);
  EXPECT_TRUE(fails_with(Container::open(path_, newest), ErrorCode::kRollback));
  const Container live = Container::open(path_, trusting()).value();
  EXPECT_TRUE(fails_with(Container::open(path_, newest), ErrorCode::kRollback)) << "also where it is live";
  EXPECT_TRUE(fails_with(Container::open(path_, {.minimum_generation = 3}), ErrorCode::kRollback));
}

// S5
TEST_F(Signed, ABinaryWithForeignWeightsIsRefused) {
  HostileFile file = taken_apart();
  ASSERT_FALSE(file.references.empty());
  file.references[0].bound_hash[7] ^= std::byte{1};
  const SigningKey secret = key();
  support::sign_again(file, secret);  // even by an author who has the key
  replace(file.bytes());
  EXPECT_TRUE(fails_with(Container::open(path_, trusting()), ErrorCode::kBadReference, "F27"));
}

// S6
TEST_F(Signed, AnAppendMakesAGenerationThatIsNotSignedAndTheSignedOneOpensByItsNumber) {
  const auto append = [&](const std::string& name) {
    Appender appender = Appender::open(path_).value();
    PackRecord record = support::binary_record(name, name, support::pattern(9'000, 5));
    record.weights = {"weights"};
    EXPECT_TRUE(is_ok(appender.add(std::move(record))));
    return appender.commit();
  };
  const auto report = append("riscv64");
  ASSERT_TRUE(is_ok(report));
  ASSERT_EQ(report.value().warnings.size(), 1U);
  EXPECT_NE(report.value().warnings[0].find("is signed and generation 3 is not"), std::string::npos);

  EXPECT_TRUE(fails_with(Container::open(path_, trusting()), ErrorCode::kSignatureMissing));
  EXPECT_TRUE(is_ok(Container::open(path_)));
  EXPECT_TRUE(Container::open(path_).value().verify().value().findings.empty());
  OpenOptions by_number = trusting();
  by_number.generation = 2;
  {
    const Container signed_one = Container::open(path_, by_number).value();
    EXPECT_TRUE(support::report_of(signed_one).signature_verified);
    EXPECT_TRUE(is_ok(signed_one.acquire("weights")));
    EXPECT_TRUE(is_ok(signed_one.acquire("built")));
    EXPECT_TRUE(fails_with(signed_one.find("riscv64"), ErrorCode::kNotFound));
  }
  by_number.minimum_generation = 3;
  EXPECT_TRUE(fails_with(Container::open(path_, by_number), ErrorCode::kRollback));

  // One more append, and the slot of the signed generation is gone: it still opens without keys.
  ASSERT_TRUE(is_ok(append("power9")));
  by_number.minimum_generation = 0;
  EXPECT_TRUE(fails_with(Container::open(path_, by_number), ErrorCode::kSignatureMissing));
  EXPECT_TRUE(is_ok(Container::open(path_, {.generation = 2})));

  ASSERT_TRUE(is_ok(sign()));
  const Container again = Container::open(path_, trusting()).value();
  EXPECT_EQ(support::report_of(again).generation, 5U);
  EXPECT_TRUE(is_ok(again.acquire("riscv64")));
  EXPECT_TRUE(again.verify().value().findings.empty());
}

// S7
TEST_F(Signed, ATableThatHasXxh3OnlyCannotBeSigned) {
  HostileFile file = taken_apart();
  for (container::RecordDigest& record : file.record_digests) record.logical_sha256 = {};
  const SigningKey secret = key();
  support::sign_again(file, secret);
  replace(file.bytes());
  EXPECT_TRUE(fails_with(Container::open(path_, trusting()), ErrorCode::kMalformed, "F44"));
  EXPECT_TRUE(fails_with(Container::open(path_), ErrorCode::kMalformed, "F44"));
}

// S7
TEST_F(Signed, ASignatureUnderAnotherHashAlgorithmIsRefused) {
  const SigningKey secret = key();
  HostileFile file = taken_apart();
  container::Header header;
  header.uuid = file.live.uuid;
  header.generation = file.live.generation;
  header.committed_end = file.live.committed_end;
  header.toc_size = file.live.toc_size;
  header.toc_head_size = file.live.toc_head_size;
  container::SignedMessage message = container::signed_message(header, file.live.toc_sha256, {});
  EXPECT_EQ(secret.sign(std::as_bytes(std::span(&message, 1))), file.live.signature) << "that is what is signed";
  message.hash_algorithm = container::kHashXxh3;
  file.live.signature = secret.sign(std::as_bytes(std::span(&message, 1)));
  replace(file.bytes());
  EXPECT_TRUE(fails_with(Container::open(path_, trusting()), ErrorCode::kSignatureBad));
}

// S8
TEST_F(Signed, ADamagedLeafIsFoundWhenItsRecordIsAcquired) {
  Bytes bytes = support::read_file(path_);
  const RecordInfo weights = Container::open(path_).value().find("weights").value();
  bytes[static_cast<std::size_t>(weights.file_offset + 100'000)] ^= std::byte{1};
  replace(bytes);
  const Container container = Container::open(path_, trusting()).value();
  const auto view = container.acquire("weights");
  ASSERT_TRUE(fails_with(view, ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_EQ(view.error().where.record_id, weights.id);
  EXPECT_EQ(view.error().where.file_offset, weights.file_offset + 0x10000);
  EXPECT_TRUE(is_ok(container.acquire("binary")));
}

class Forged : public Signed {
 protected:
  void SetUp() override {
    Signed::SetUp();
    Bytes bytes = support::read_file(path_);
    const RecordInfo weights = Container::open(path_).value().find("weights").value();
    weights_id_ = weights.id;
    Bytes payload(bytes.begin() + static_cast<std::ptrdiff_t>(weights.file_offset),
                  bytes.begin() + static_cast<std::ptrdiff_t>(weights.file_offset + weights.size_bytes));
    const Hash128 before = container::hash128(payload);
    support::forge(payload);
    ASSERT_EQ(container::hash128(payload), before) << "a collision of XXH3";
    support::forge(bytes, static_cast<std::size_t>(weights.file_offset));
    replace(bytes);
  }
  std::uint32_t weights_id_ = 0;
};

TEST_F(Forged, PayloadThatXxh3CannotTellApartIsRefusedByWhoeverTrustsAKey) {
  const Container anybody = Container::open(path_).value();
  const auto forged = anybody.acquire("weights");
  ASSERT_TRUE(is_ok(forged)) << "what no signature protects";
  EXPECT_EQ(forged.value().bytes()[4], std::byte{20});

  const Container trusting_one = Container::open(path_, trusting()).value();
  const auto refused = trusting_one.acquire("weights");
  ASSERT_TRUE(fails_with(refused, ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_EQ(refused.error().where.record_id, weights_id_);
}

TEST_F(Forged, WhatAnEarlierOpenWithoutKeysHasVerifiedCountsForNothing) {
  Registry registry;
  const Container before = open_container(registry, path_).value();
  const RecordView view = before.acquire("weights").value();
  const Container after = open_container(registry, path_, trusting()).value();
  EXPECT_TRUE(fails_with(after.acquire("weights"), ErrorCode::kChecksumMismatch, "F26"));
  // And the other way round.
  const Container third = open_container(registry, path_).value();
  EXPECT_TRUE(support::report_of(third).already_live);
  EXPECT_TRUE(is_ok(third.acquire("weights")));
  EXPECT_EQ(registry.live_count(), 2U);
}

TEST_F(Forged, NoWayToTheBytesLeadsAroundSha256) {
  const auto expect_refused = [&](const OpenOptions& options, const char* name) {
    const Container container = Container::open(path_, options).value();
    EXPECT_TRUE(fails_with(container.acquire(name), ErrorCode::kChecksumMismatch, "F26")) << name;
    EXPECT_TRUE(
        fails_with(stream_record(container, container.find(name).value().id, [](ByteView) -> Status { return Done{}; }),
                   ErrorCode::kChecksumMismatch, "F26"))
        << name;
  };
  OpenOptions options = trusting();
  for (const char* name : {"weights", "built"}) {
    expect_refused(options, name);
    options.file_mapping = FileMapping::kDisabled;
    expect_refused(options, name);
    options.file_mapping = FileMapping::kAuto;
    options.verify = VerifyPolicy::kPrivateCopy;
    expect_refused(options, name);
    options.verify = VerifyPolicy::kRecordOnAcquire;
  }
  const Container container = Container::open(path_, trusting()).value();
  const auto report = container.verify().value();
  ASSERT_FALSE(report.findings.empty());
  EXPECT_EQ(report.findings[0].error.code, ErrorCode::kChecksumMismatch);
  EXPECT_FALSE(container.verify_record(weights_id_).value().findings.empty());
  EXPECT_FALSE(verify_file(path_).value().findings.empty()) << "SHA-256 is there, so it is compared";
}

TEST_F(Forged, VerifyComparesSha256OnAnyNumberOfThreadsAndInARange) {
  std::vector<std::string> texts;
  for (const std::uint32_t threads : {1U, 4U}) {
    std::string text;
    const auto report = verify_file(path_, {.threads = threads});
    ASSERT_TRUE(is_ok(report));
    for (const VerifyFinding& finding : report.value().findings) {
      text += to_text(finding.error) + "\n";
    }
    texts.push_back(text);
  }
  EXPECT_NE(texts[0].find("F26"), std::string::npos) << texts[0];
  EXPECT_EQ(texts[0], texts[1]);
  const std::uint64_t at = Container::open(path_).value().find("weights").value().file_offset;
  EXPECT_FALSE(verify_file(path_, {.range = ByteRange{at, 1}}).value().findings.empty());
}

// Composed bytes in the cache folder that an attacker has exchanged in a way that XXH3 does not detect.
TEST_F(Signed, AComposedViewOutOfACacheFolderIsComparedWithSha256) {
  PackRecord weights = records_to_sign().front();
  PackRecord moved =
      support::plain_record(RecordType::kOpaque, "moved", support::pattern(1'024, 9));  // so everything is composed
  moved.source.bytes.insert(moved.source.bytes.end(), weights.source.bytes.begin(), weights.source.bytes.end());
  const std::string path = folder_.file("moved.fatctx");
  PackOptions pack_options;
  pack_options.sharing = Sharing::kBytes;
  ASSERT_TRUE(is_ok(support::pack({weights, moved}, path, pack_options)));
  ASSERT_TRUE(is_ok(sign_container(path, release_.secret_path, path)));
  const std::string cache = folder_.file("cache");
  ASSERT_TRUE(is_ok(make_private_folder(cache)));
  const auto acquired = [&](OpenOptions options) -> Result<RecordView> {
    Registry registry;
    options.cache_folder = cache;
    FATCTX_ASSIGN(const Container container, open_container(registry, path, options));
    FATCTX_ASSIGN(RecordView view, container.acquire("moved"));
    EXPECT_EQ(view.access_path(), AccessPath::kComposed);
    return view;
  };
  ASSERT_TRUE(is_ok(acquired(trusting())));
  ASSERT_TRUE(is_ok(acquired(trusting()))) << "out of the folder";

  const auto files = list_view_cache(cache).value();
  ASSERT_EQ(files.size(), 1U);
  const std::string file = cache + "/" + files.front().name;
  ASSERT_EQ(::chmod(file.c_str(), 0600), 0);
  Bytes bytes = support::read_file(file);
  support::forge(bytes, 1'024);
  support::write_file(file, bytes);

  const auto anybody = acquired({});
  ASSERT_TRUE(is_ok(anybody)) << "what no signature protects";
  EXPECT_EQ(anybody.value().bytes()[1'024 + 4], std::byte{20});
  const auto trusted = acquired(trusting());
  ASSERT_TRUE(is_ok(trusted)) << "made anew";
  EXPECT_TRUE(std::ranges::equal(trusted.value().bytes(), moved.source.bytes));
  EXPECT_NE(support::read_file(file), bytes);
}

// An author with the key signs a hash that is not the record's; XXH3 is not compared.
TEST_F(Signed, DescriptionsAndTensorTablesAreComparedWithSha256) {
  HostileFile file = taken_apart();
  for (const RecordType type : {RecordType::kDescription, RecordType::kTensorTable}) {
    const auto index = static_cast<std::size_t>(&file.record(type) - file.records.data());
    file.record_digests[index].logical_sha256[0] ^= std::byte{1};
  }
  const SigningKey secret = key();
  support::sign_again(file, secret);
  replace(file.bytes());
  const Container anybody = Container::open(path_).value();
  EXPECT_TRUE(is_ok(anybody.describe()));
  EXPECT_TRUE(is_ok(anybody.tensors(anybody.find("weights").value().id)));
  const Container container = Container::open(path_, trusting()).value();
  EXPECT_TRUE(fails_with(container.describe(), ErrorCode::kChecksumMismatch, "F37"));
  EXPECT_TRUE(fails_with(container.tensors(container.find("weights").value().id), ErrorCode::kChecksumMismatch, "F37"));
}

TEST_F(Signed, VerifyFindsALeafOrRecordWhoseSha256IsWrongThoughXxh3Fits) {
  HostileFile file = taken_apart();
  const auto leaves = std::find_if(file.segments.begin(), file.segments.end(), [](const container::SegmentEntry& s) {
    return s.hash_algorithm == container::kHashSha256;
  });
  ASSERT_NE(leaves, file.segments.end());
  const std::uint64_t at = leaves->offset;
  file.in_payload = [at](Bytes& bytes) { bytes[static_cast<std::size_t>(at)] ^= std::byte{1}; };
  file.rehash_payload = true;
  replace(file.bytes());
  const auto report = verify_file(path_).value();
  ASSERT_FALSE(report.findings.empty());
  bool toc = false;
  bool leaf = false;
  for (const VerifyFinding& finding : report.findings) {
    toc = toc || finding.error.where.rule == "F13";
    leaf = leaf || finding.error.where.rule == "F26";
  }
  EXPECT_TRUE(toc && leaf) << "the table is another one too, because it holds the hash of the leaves";
}

TEST_F(Signed, VerifyWithAKeySaysWhoHasSignedAndThatSomebodyElseHas) {
  const auto good = verify_file(path_, {}, trusting()).value();
  EXPECT_TRUE(good.findings.empty());
  EXPECT_TRUE(good.signature_verified);
  const auto unasked = verify_file(path_).value();
  EXPECT_TRUE(unasked.findings.empty());
  EXPECT_FALSE(unasked.signature_verified);
  EXPECT_EQ(unasked.key_id, good.key_id);
  const auto bad = verify_file(path_, {}, {.trusted_keys = {other_.public_key}}).value();
  ASSERT_EQ(bad.findings.size(), 1U);
  EXPECT_EQ(bad.findings[0].error.code, ErrorCode::kSignatureBad);
  EXPECT_GT(bad.checked_bytes, kBlobSize) << "the rest is looked at all the same";
}

TEST_F(Signed, VerifyOfAnEarlierGenerationFindsItsOwnSignature) {
  append_note("riscv64");
  OpenOptions two = trusting();
  two.generation = 2;
  const auto good = verify_file(path_, {}, two).value();
  EXPECT_TRUE(good.findings.empty());
  EXPECT_TRUE(good.signature_verified);
  const auto unasked = verify_file(path_, {}, {.generation = 2}).value();
  EXPECT_TRUE(unasked.findings.empty());
  EXPECT_FALSE(unasked.signature_verified);
  EXPECT_EQ(unasked.key_id, good.key_id) << "by way of the newest, and with the signature of its slot";
  EXPECT_TRUE(support::report_of(Container::open(path_, {.generation = 2}).value()).signed_file);

  const auto newest = verify_file(path_, {}, trusting()).value();
  ASSERT_EQ(newest.findings.size(), 1U);
  EXPECT_EQ(newest.findings[0].error.code, ErrorCode::kSignatureMissing);
  two.minimum_generation = 3;
  const auto old = verify_file(path_, {}, two).value();
  ASSERT_EQ(old.findings.size(), 1U);
  EXPECT_EQ(old.findings[0].error.code, ErrorCode::kRollback);
  EXPECT_TRUE(fails_with(verify_file(path_, {}, {.generation = 9}), ErrorCode::kNotFound));
}

// Mirrors and copies have the fields of the signature; leaves are of two kinds.
TEST_F(Signed, ARepairGivesBackBitForBitWhatWasSigned) {
  const Bytes whole = support::read_file(path_);
  const auto slot = support::struct_at<container::Slot>(whole, container::kSlotOffsets[0]);
  std::vector<std::uint64_t> places = {container::kPrologueOffsets[0] + 16, container::kPrologueOffsets[1] + 16,
                                       slot.toc_offset[0] + 300, slot.toc_offset[1] + 300};
  for (const std::uint64_t page : container::kSlotOffsets) {
    places.push_back(page + offsetof(container::Slot, signature));
    places.push_back(page + offsetof(container::Slot, key_id));
  }
  std::size_t kinds = 0;
  for (const container::SegmentEntry& segment : taken_apart().segments) {
    if (segment.kind != static_cast<std::uint16_t>(SegmentKind::kLeaves)) continue;
    places.push_back(segment.offset);
    ++kinds;
  }
  ASSERT_EQ(kinds, 2U);
  for (const std::uint64_t place : places) {
    Bytes damaged = whole;
    damaged[static_cast<std::size_t>(place)] ^= std::byte{1};
    replace(damaged);
    const RepairReport report = repair(path_).value();
    EXPECT_EQ(report.restored.size(), 1U) << place;
    EXPECT_TRUE(report.remaining.empty()) << place;
    EXPECT_EQ(support::read_file(path_), whole) << place;
  }
  EXPECT_TRUE(Container::open(path_, trusting()).value().verify().value().findings.empty());
}

TEST_F(Signed, DiffTellsNoDifferenceBetweenAContainerAndItsSignedCopy) {
  const std::string plain = folder_.file("plain.fatctx");
  PackOptions options;
  options.sharing = Sharing::kBytes;
  ASSERT_TRUE(is_ok(support::pack(records_to_sign(), plain, options)));
  const auto report = diff(Container::open(plain).value(), Container::open(path_, trusting()).value());
  ASSERT_TRUE(is_ok(report));
  EXPECT_TRUE(report.value().same());
  EXPECT_GE(report.value().same_records, 5U);
}

TEST_F(Signed, NothingIsSignedThatIsDamaged) {
  const std::string plain = folder_.file("plain.fatctx");
  ASSERT_TRUE(is_ok(support::pack(records_to_sign(), plain)));
  Bytes bytes = support::read_file(plain);
  const RecordInfo binary = Container::open(plain).value().find("binary").value();
  bytes[static_cast<std::size_t>(binary.file_offset + 4'000)] ^= std::byte{1};
  support::write_file(plain, bytes);
  const std::string out = folder_.file("out.fatctx");
  const auto made = sign_container(plain, release_.secret_path, out);
  ASSERT_TRUE(fails_with(made, ErrorCode::kChecksumMismatch, "F26"));
  EXPECT_EQ(made.error().where.record_id, binary.id);
  EXPECT_EQ(made.error().where.file_offset, binary.file_offset);
  EXPECT_FALSE(std::filesystem::exists(out));
}

TEST_F(Signed, APairOfKeysNeedsAName) {
  for (const std::string& name : {std::string(), folder_.file("")}) {
    const auto made = make_keys(name);
    ASSERT_TRUE(fails_with(made, ErrorCode::kInvalidArgument));
    EXPECT_NE(made.error().message.find("is not a name for a pair of keys"), std::string::npos);
  }
  EXPECT_FALSE(std::filesystem::exists(folder_.file(".key")));
}

TEST_F(Signed, KeysAreNeverReplacedAndASecretIsForItsOwnerOnly) {
  EXPECT_TRUE(fails_with(make_keys(folder_.file("release")), ErrorCode::kExists));
  std::filesystem::remove(release_.secret_path);
  EXPECT_TRUE(fails_with(make_keys(folder_.file("release")), ErrorCode::kExists));
  EXPECT_FALSE(std::filesystem::exists(release_.secret_path));

  EXPECT_EQ(std::filesystem::status(other_.secret_path).permissions(), std::filesystem::perms(0600));
  std::filesystem::permissions(other_.secret_path, std::filesystem::perms(0640));
  const auto made = sign_container(path_, other_.secret_path, path_, {.overwrite = true});
  EXPECT_TRUE(fails_with(made, ErrorCode::kOperationNotPermitted));
}

TEST_F(Signed, KeysAreReadAsTheyAreWrittenAndNothingElseIs) {
  EXPECT_EQ(read_public_key(release_.public_path).value(), release_.public_key);
  EXPECT_EQ(parse_public_key(to_text(release_.public_key)).value(), release_.public_key);
  EXPECT_EQ(parse_public_key(to_text(release_.public_key) + "\r\n").value(), release_.public_key);
  EXPECT_NE(release_.public_key, other_.public_key);
  const std::string text = to_text(release_.public_key);
  for (const std::string& bad : {std::string(), text.substr(0, text.size() - 1), text + "0", "x" + text.substr(1),
                                 text.substr(0, text.size() - 1) + "g", text + "\n" + text}) {
    EXPECT_TRUE(fails_with(parse_public_key(bad), ErrorCode::kInvalidArgument)) << bad;
  }
  EXPECT_TRUE(fails_with(read_public_key(release_.secret_path), ErrorCode::kInvalidArgument)) << "a secret";
  EXPECT_TRUE(fails_with(read_public_key(path_), ErrorCode::kInvalidArgument)) << "a container";
  EXPECT_TRUE(fails_with(read_public_key(folder_.file("none")), ErrorCode::kNotFound));
  std::filesystem::permissions(release_.public_path, std::filesystem::perms(0600));
  EXPECT_TRUE(
      fails_with(sign_container(path_, release_.public_path, path_, {.overwrite = true}), ErrorCode::kInvalidArgument));
}

}  // namespace signature_test
}  // namespace fatctx
